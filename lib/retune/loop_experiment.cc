#include "retune/loop_experiment.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/work_curve.h"
#include "retune/loop_arms.h"
#include "retune/loop_jobs.h"
#include "retune/loop_load.h"
#include "retune/loop_sample_replays.h"
#include "retune/loop_summary.h"

namespace leeway::retune {
namespace {

constexpr double kOverload = 0.95;
// The SLO, where none is given, in p99s of requests that are alone.
constexpr std::int64_t kSloFactor = 3;

class Experiment {
 public:
  Experiment(const ExperimentInput& input, compile::Compiler& compiler, const Replay& replay)
      : input_(input),
        options_(*input.options),
        compiler_(compiler),
        replay_(replay),
        progress_(*input.options),
        record_(std::make_shared<LoopRecord>()),
        summary_(record_->summary) {}

  Result<std::shared_ptr<LoopRecord>> Run();

 private:
  using Body = std::shared_ptr<const plan::Body>;
  static constexpr std::size_t kArms = SampleReplays::kArms;
  static constexpr std::size_t kClairvoyant = 2;
  static constexpr double kUnknown = -1;

  Status CheckOptions() const;
  bool Polled() { return progress_.Add(0, 0); }
  Result<Body> PlanOf(const Edges& edges);

  Status OpenTraffic();
  Status CompileFirst(const LoopRequests& first);
  Result<std::vector<double>> Throughputs(const std::vector<LoopRequests>& samples);
  void DescribeWindows();
  Result<std::vector<Nanos>> TakenAlone(const Edges& edges,
                                        const std::vector<std::int64_t>& lengths);
  Status MeasureFallback();
  CostFn Generic();
  Status CompileArms();
  Status SetSlo();
  Status Serve();
  Status ServeArm(std::size_t arm);
  void DescribeInput();

  ReplayRequest Base(ReplayRequest::Detail detail) {
    ReplayRequest request;
    request.detail = detail;
    request.progress = [this](std::uint64_t requests, std::uint64_t steps) {
      return progress_.Add(requests, steps);
    };
    return request;
  }

  const ExperimentInput& input_;
  const LoopOptions& options_;
  compile::Compiler& compiler_;
  const Replay& replay_;
  StageProgress progress_;
  std::shared_ptr<LoopRecord> record_;
  LoopSummary& summary_;

  std::optional<compile::WorkCurve> curve_;
  std::vector<double> unfused_;  // by length
  std::optional<LoopSource> source_;
  LoadOptions load_;
  BucketSpec spec_;
  ServedTraffic traffic_;
  LoopArms arms_;
  std::map<Edges, Body> plans_;
  std::array<PlanOfWindow, kArms> plans_of_;
  ArmOutcomes outcomes_;
};

Status Experiment::CheckOptions() const {
  auto refuse = [](std::string message) { return base::InvalidArgument(std::move(message)); };
  const LoopCompile& compile = options_.compile;
  const LoopLoad& load = options_.load;
  const LoopReality& reality = options_.reality;
  if (compile.variants < 1 || compile.variants > 4096) {
    return refuse(absl::StrCat("variants is ", compile.variants, "; between 1 and 4096"));
  }
  if (!(compile.phi >= 1 && compile.phi <= 1000)) {
    return refuse(absl::StrCat("phi is ", compile.phi, "; between 1 and 1000"));
  }
  if (!(compile.tau >= 0 && compile.tau <= 10)) {
    return refuse(absl::StrCat("tau is ", compile.tau, "; between 0 and 10"));
  }
  if (compile.time < Nanos{0} || load.window < Nanos{0} || load.slo < Nanos{0}) {
    return refuse("a compile time, window or SLO is negative");
  }
  auto within = [](double value) { return value > 0 && value <= 1.5; };
  if (!within(load.load) || !std::all_of(load.sweep.begin(), load.sweep.end(), within)) {
    return refuse("a load is not above 0 and at most 1.5");
  }
  auto spread = [](double value) { return value >= 0 && value <= 2; };
  if (!spread(reality.per_operator) || !spread(reality.per_size)) {
    return refuse("a spread of the reality noise is not between 0 and 2");
  }
  if (reality.seeds < 0 || reality.seeds > 1000) {
    return refuse(
        absl::StrCat("seeds of the reality noise are ", reality.seeds, "; between 0 and 1000"));
  }
  if (options_.jobs < 1) return refuse(absl::StrCat("jobs is ", options_.jobs, "; at least 1"));
  return Status();
}

Result<Experiment::Body> Experiment::PlanOf(const Edges& edges) {
  Body& plan = plans_[edges];
  if (plan) return plan;
  LEEWAY_ASSIGN_OR_RETURN(plan, compiler_.Compile(edges));
  return plan;
}

Status Experiment::OpenTraffic() {
  LoopSource::Options options;
  options.dim = input_.traffic_dim;
  options.name = compiler_.domain().name;
  options.min = compiler_.domain().min;
  options.max = compiler_.domain().max;
  options.outside = options_.above_domain == SimulateOptions::AboveDomain::kError
                        ? LoopSource::Options::Outside::kRefuse
                        : LoopSource::Options::Outside::kClamp;
  options.window = options_.load.window;
  options.seed = options_.seed;
  options.polled = [this] { return Polled(); };
  LEEWAY_ASSIGN_OR_RETURN(source_, LoopSource::Open(input_.traffic, options));
  using Rate = LoopLoad::Rate;
  const bool flat =
      options_.load.rate == Rate::kAuto ? source_->drawn() : options_.load.rate == Rate::kFlat;
  load_.rate = flat ? LoadOptions::Rate::kFlat : LoadOptions::Rate::kRecorded;
  load_.load = options_.load.load;
  load_.min_requests = options_.load.min_requests;
  load_.seed = options_.seed;
  double span = 0;
  std::vector<double> expected;
  for (const LoopSource::Window& window : source_->windows()) {
    span += static_cast<double>(window.length().count());
    expected.push_back(window.expected);
  }
  for (std::size_t w = 0; flat && w < expected.size(); ++w) {
    const auto length = static_cast<double>(source_->windows()[w].length().count());
    expected[w] = static_cast<double>(source_->requests()) * length / span;
  }
  source_->Merge(0, static_cast<double>(options_.load.min_requests), expected);
  if (source_->windows().size() < 2) {
    return base::FailedPrecondition(
        absl::StrCat(input_.traffic->name(), ": ", source_->requests(),
                     source_->requests() == 1 ? " request makes" : " requests make",
                     " fewer than two windows of ", options_.load.min_requests));
  }
  return Status();
}

Status Experiment::CompileFirst(const LoopRequests& first) {
  const Edges edges = FitBuckets(LengthsOf(first).lengths, spec_).edges;
  LEEWAY_ASSIGN_OR_RETURN(record_->frozen_plan, PlanOf(Compiled(*curve_, edges)));
  return Status();
}

Result<std::vector<double>> Experiment::Throughputs(const std::vector<LoopRequests>& samples) {
  progress_.Enter(LoopProgress::Stage::kCapacity, kThroughputRequests * (samples.size() - 1));
  std::vector<double> throughput(samples.size(), 0);
  LEEWAY_RETURN_IF_ERROR(ForEach(samples.size() - 1, options_.jobs, [&](std::size_t i) {
    ReplayRequest request = Base(ReplayRequest::Detail::kLatencies);
    request.requests = samples[i + 1];
    request.plans = {{Instant(), record_->frozen_plan}};
    LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay_(request));
    throughput[i + 1] = ThroughputOf(outcome) * 1e-9;
    return Status();
  }));
  return throughput;
}

void Experiment::DescribeWindows() {
  for (std::size_t w = 0; w < traffic_.windows.size(); ++w) {
    LoopWindow window;
    window.from = source_->windows()[w].from;
    window.to = source_->windows()[w].to;
    window.requests = w == 0 ? 0 : traffic_.windows[w].requests.size();
    window.load = traffic_.load[w];
    window.overloaded = window.load > kOverload;
    summary_.windows.push_back(window);
  }
}

Status Experiment::CompileArms() {
  ArmOptions options;
  options.policy.spec = spec_;
  options.policy.threshold = options_.compile.tau;
  options.policy.seed = options_.seed;
  options.compile_time = traffic_.ToDevice(options_.compile.time);
  progress_.Enter(LoopProgress::Stage::kCompile, kArms * traffic_.windows.size());
  LEEWAY_ASSIGN_OR_RETURN(arms_, MakeArms(traffic_.windows, *curve_, options));
  for (LoopAction& action : arms_.adaptation.actions) {
    action.at = summary_.windows[action.window].from;
  }
  const ArmWork* const works[] = {&arms_.frozen, &arms_.adapted, &arms_.clairvoyant};
  for (std::size_t a = 0; a < kArms; ++a) {
    for (const Edges& edges : works[a]->edges) {
      LEEWAY_ASSIGN_OR_RETURN(const Body plan, PlanOf(edges));
      plans_of_[a].push_back(plan);
      if (!progress_.Add(1, 0)) return Status(StatusCode::kCancelled, "the loop was cancelled");
    }
  }
  record_->adapted_plan = plans_of_[1].back();
  if (options_.compile.time > summary_.windows.back().from - summary_.windows[1].from) {
    summary_.notes.push_back(
        "compiling takes longer than all windows but the last: no retune can take effect");
  }
  SummariseWork(arms_, options_.compile.tau, options_.seed, summary_);
  return Status();
}

// What the fallback takes by its own model; 0 where that cannot tell. Specs are copied, so what is
// remembered is kept here.
CostFn Experiment::Generic() {
  unfused_.assign(static_cast<std::size_t>(curve_->max() - curve_->min()) + 1, kUnknown);
  return [this](std::int64_t length) {
    double& known = unfused_[static_cast<std::size_t>(length - curve_->min())];
    if (known == kUnknown) {
      const Result<Nanos> time = compiler_.UnfusedTime(length);
      known = time.ok() ? static_cast<double>(time->count()) : 0;
    }
    return known;
  };
}

// What requests of these lengths take, each far from the others, by a plan of these edges.
Result<std::vector<Nanos>> Experiment::TakenAlone(const Edges& edges,
                                                  const std::vector<std::int64_t>& lengths) {
  LoopRequests lone;
  Instant at;
  for (std::int64_t length : lengths) {
    lone.push_back({.at = at, .length = length});
    // A run takes no longer than its shards would one after the other, and they contend with one
    // another alone.
    const double core_time = static_cast<double>((*curve_)(length).count());
    at += ToNanos(8 * core_time * options_.compile.phi) + Nanos{1s};
  }
  ReplayRequest request = Base(ReplayRequest::Detail::kLatencies);
  request.requests = lone;
  LEEWAY_ASSIGN_OR_RETURN(const Body plan, PlanOf(edges));
  request.plans = {{Instant(), plan}};
  LEEWAY_ASSIGN_OR_RETURN(ReplayOutcome outcome, replay_(request));
  return std::move(outcome.latencies);
}

// What the fallback takes on the device that serves: unfused shards contend for the DRAM, which
// work does not count. It serves the tail, so it is measured on the longest tenth of what was
// seen.
Status Experiment::MeasureFallback() {
  std::vector<std::int64_t> lengths;
  const LengthHistogram seen = LengthsOf(traffic_.windows.front().requests).lengths;
  for (double q : {0.90, 0.95, 0.99, 1.0}) {
    const std::int64_t edge = curve_->EdgeFor(LengthAt(seen, q));
    if (edge > curve_->min() && (lengths.empty() || edge > lengths.back())) lengths.push_back(edge);
  }
  summary_.fallback_stretch = options_.compile.phi;
  if (lengths.empty()) return Status();
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<Nanos> fused, TakenAlone(lengths, lengths));
  // A plan that covers the shortest length alone leaves all others to the fallback.
  const Edges shortest = {curve_->min()};
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<Nanos> unfused, TakenAlone(shortest, lengths));
  double sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sum += static_cast<double>(unfused[i].count()) / static_cast<double>(fused[i].count());
  }
  summary_.fallback_stretch = sum / static_cast<double>(lengths.size());
  return Status();
}

// What a request takes that is alone under the frozen plan depends on its bucket, or on its length
// where none covers it: one request of each kind is served.
Status Experiment::SetSlo() {
  summary_.slo = options_.load.slo;
  if (summary_.slo > Nanos{0}) return Status();
  const Edges& edges = arms_.frozen.edges.front();
  std::map<std::int64_t, double> kinds;
  for (const LengthWeight& entry : LengthsOf(traffic_.requests).lengths) {
    const auto edge = std::lower_bound(edges.begin(), edges.end(), entry.length);
    kinds[edge == edges.end() ? entry.length : *edge] += entry.weight;
  }
  std::vector<std::int64_t> lengths;
  for (const auto& [length, weight] : kinds) lengths.push_back(length);
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<Nanos> taken, TakenAlone(edges, lengths));
  std::vector<std::pair<Nanos, double>> times;
  double total = 0;
  for (const auto& [length, weight] : kinds) {
    times.emplace_back(taken[times.size()], weight);
    total += weight;
  }
  std::sort(times.begin(), times.end());
  double seen = 0;
  for (const auto& [time, weight] : times) {
    seen += weight;
    summary_.slo = kSloFactor * time;
    if (seen >= 0.99 * total) break;
  }
  return Status();
}

Status Experiment::ServeArm(std::size_t arm) {
  // The clairvoyant is a bound: nobody asks where its latency went.
  ReplayRequest request = Base(arm == kClairvoyant ? ReplayRequest::Detail::kLatencies
                                                   : ReplayRequest::Detail::kAttributed);
  request.requests = traffic_.requests;
  request.window_of = traffic_.window_of;
  for (std::size_t w = 1; w < traffic_.windows.size(); ++w) {
    request.census.push_back(traffic_.windows[w].from);
    const Body& plan = plans_of_[arm][w];
    if (!request.plans.empty() && request.plans.back().plan == plan) continue;
    request.plans.push_back({request.plans.empty() ? Instant() : traffic_.windows[w].from, plan});
  }
  LEEWAY_ASSIGN_OR_RETURN(outcomes_[arm], replay_(request));
  return Status();
}

// Everything that is replayed goes into one list, so that threads share it evenly: the three arms,
// then what there is to ask of the sample.
Status Experiment::Serve() {
  std::optional<SampleReplays> sample;
  if (options_.load.sample > 0) {
    sample.emplace(SampleReplays::Setting{traffic_, options_, *curve_, plans_of_, replay_,
                                          Base(ReplayRequest::Detail::kLatencies)},
                   summary_);
  }
  progress_.Enter(LoopProgress::Stage::kServe,
                  kArms * traffic_.requests.size() + (sample ? sample->requests() : 0));
  LEEWAY_RETURN_IF_ERROR(ForEach(
      kArms + (sample ? sample->tasks() : 0), options_.jobs,
      [&](std::size_t task) { return task < kArms ? ServeArm(task) : sample->Run(task - kArms); }));
  MarkOverloads(traffic_, outcomes_, summary_);
  SummariseOutcomes(traffic_, arms_, outcomes_, options_, summary_);
  if (sample) sample->Finish();
  record_->frozen_telemetry = std::move(outcomes_[0].telemetry);
  record_->adapted_telemetry = std::move(outcomes_[1].telemetry);
  return Status();
}

void Experiment::DescribeInput() {
  summary_.model = input_.model->model;
  summary_.device = input_.device->name;
  summary_.traffic = input_.traffic->name();
  summary_.dim = compiler_.domain().name;
  summary_.seed = options_.seed;
  summary_.requests = traffic_.requests.size() + traffic_.windows.front().requests.size();
  summary_.scored_requests = traffic_.requests.size();
  summary_.window = source_->window();
  summary_.span = source_->windows().back().to - source_->windows().front().from;
  summary_.compile_time = options_.compile.time;
  summary_.rate = load_.rate == LoadOptions::Rate::kFlat ? "flat" : "recorded";
  summary_.load = options_.load.load;
  summary_.phi = options_.compile.phi;
  summary_.time_compression = traffic_.compression;
  summary_.clamped_rate = static_cast<double>(source_->clamped()) /
                          static_cast<double>(std::max<std::uint64_t>(1, source_->seen()));
  summary_.variants = options_.compile.variants;
  summary_.reality = options_.reality.kind == LoopReality::Kind::kExact
                         ? "exact"
                         : absl::StrCat("noise, seed ", options_.reality.seed);
  summary_.digests = {input_.model->digest_hex, input_.device->digest.ToHex(),
                      input_.traffic->digest_hex(), record_->frozen_plan->digest_hex,
                      record_->adapted_plan->digest_hex};
}

Result<std::shared_ptr<LoopRecord>> Experiment::Run() {
  LEEWAY_RETURN_IF_ERROR(CheckOptions());
  progress_.Enter(LoopProgress::Stage::kRead, 1);
  LEEWAY_RETURN_IF_ERROR(OpenTraffic());
  LEEWAY_ASSIGN_OR_RETURN(curve_,
                          compile::WorkCurve::Make(compiler_, 1, [this] { return Polled(); }));
  spec_ = SpecOf(*curve_, options_.compile.variants, options_.compile.phi, Generic());
  LEEWAY_ASSIGN_OR_RETURN(
      traffic_,
      LoadTraffic(
          *source_, load_, [this](const LoopRequests& first) { return CompileFirst(first); },
          [this](const std::vector<LoopRequests>& samples) { return Throughputs(samples); }));
  DescribeWindows();
  LEEWAY_RETURN_IF_ERROR(MeasureFallback());
  LEEWAY_RETURN_IF_ERROR(CompileArms());
  LEEWAY_RETURN_IF_ERROR(SetSlo());
  LEEWAY_RETURN_IF_ERROR(Serve());
  DescribeInput();
  FindContradictions(summary_);
  return record_;
}

}  // namespace

Result<std::shared_ptr<LoopRecord>> RunExperiment(const ExperimentInput& input,
                                                  compile::Compiler& compiler,
                                                  const Replay& replay) {
  return Experiment(input, compiler, replay).Run();
}

}  // namespace leeway::retune
