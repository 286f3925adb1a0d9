#include "retune/loop_experiment.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "compile/work_curve.h"
#include "device/reality.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"
#include "retune/loop_arms.h"
#include "retune/loop_sample.h"
#include "retune/mapping_accuracy.h"
#include "traffic/draw.h"

namespace leeway::retune {
namespace {

// Requests whose joint service tells a window's throughput.
constexpr std::uint64_t kThroughputRequests = 500;
constexpr double kOverload = 0.95;
constexpr double kUnfinished = 0.05;
constexpr std::size_t kResamples = 1000;
constexpr double kLevel = 0.95;
constexpr std::uint64_t kFewestExceedances = 30;
// The SLO, where none is given, in p99s of requests that are alone.
constexpr std::int64_t kSloFactor = 3;

Instant Scaled(Instant trace, double compression) {
  return Instant(Nanos{
      base::RoundToInt64(static_cast<double>(trace.count()) / compression).value_or(0)});
}

// Progress of the stages, told from any thread.
class Progress {
 public:
  explicit Progress(const LoopOptions& options) : options_(options) {}

  void Enter(LoopProgress::Stage stage, std::uint64_t expected) {
    const std::lock_guard lock(mutex_);
    progress_.stage = stage;
    progress_.requests = 0;
    expected_ = std::max<std::uint64_t>(1, expected);
  }
  // False once the caller wants no more.
  bool Add(std::uint64_t requests, std::uint64_t steps) {
    const std::lock_guard lock(mutex_);
    progress_.requests += requests;
    progress_.steps += steps;
    progress_.done = std::min(
        1.0, static_cast<double>(progress_.requests) / static_cast<double>(expected_));
    if (going_ && options_.progress) going_ = options_.progress(progress_);
    return going_;
  }

 private:
  const LoopOptions& options_;
  std::mutex mutex_;
  LoopProgress progress_;
  std::uint64_t expected_ = 1;
  bool going_ = true;
};

// Calls work(i) for each i, on up to `jobs` threads, and returns the first error by index.
template <typename Work>
Status ForEach(std::size_t count, int jobs, Work work) {
  std::vector<Status> statuses(count);
  if (jobs <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) LEEWAY_RETURN_IF_ERROR(work(i));
    return Status();
  }
  oneapi::tbb::task_arena arena(jobs);
  arena.execute([&] {
    oneapi::tbb::parallel_for(
        std::size_t{0}, count, [&](std::size_t i) { statuses[i] = work(i); },
        oneapi::tbb::simple_partitioner());
  });
  for (Status& status : statuses) LEEWAY_RETURN_IF_ERROR(status);
  return Status();
}

// The device as it is; null where it is as modelled.
std::unique_ptr<device::Reality> RealityOf(const LoopReality& reality) {
  if (reality.kind == LoopReality::Kind::kExact) return nullptr;
  return std::make_unique<device::Reality>(
      device::RealityNoise{reality.seed, reality.per_operator, reality.per_size});
}

// Nearest rank; latencies of requests that did not end OK are the longest.
Nanos PercentileOf(std::vector<Nanos> latencies, double q) {
  if (latencies.empty()) return Nanos{0};
  const auto rank = static_cast<std::size_t>(
      std::ceil(q * static_cast<double>(latencies.size())));
  const auto at = latencies.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, rank)) - 1;
  std::nth_element(latencies.begin(), at, latencies.end());
  return *at;
}

// The smallest length that so large a share of the requests does not exceed; 0 for none.
std::int64_t LengthAt(const LengthHistogram& lengths, double q) {
  double seen = 0;
  const double total = lengths.total();
  for (const LengthWeight& entry : lengths) {
    seen += entry.weight;
    if (seen >= q * total) return entry.length;
  }
  return lengths.max_length();
}

// Of the time spent executing, what batch mates and buckets pad.
double PaddingShare(const Attribution& mean) {
  Nanos executed{0};
  for (Cause cause : {Cause::kFallback, Cause::kPlanned, Cause::kBatchMates, Cause::kPadding,
                      Cause::kLaunch, Cause::kContention}) {
    executed += mean.part(cause);
  }
  const Nanos padding = mean.part(Cause::kBatchMates) + mean.part(Cause::kPadding);
  return executed > Nanos{0} ? static_cast<double>(padding.count()) /
                                   static_cast<double>(executed.count())
                             : 0;
}

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
  struct Arm {
    const ArmWork* work = nullptr;
    PlanOfWindow plans;
    ReplayOutcome outcome;
    std::optional<WindowedLatencies> latencies;  // of windows that no arm was overloaded in
    std::optional<double> capacity;
    LoopArm* result = nullptr;
  };

  Status CheckOptions() const;
  bool Polled() { return progress_.Add(0, 0); }
  Result<Body> PlanOf(const Edges& edges);

  Status OpenTraffic();
  Status DrawFirst();
  Result<std::vector<double>> Throughputs();
  Status DrawFlat();
  Status TakeRecorded();
  void SetTimes();
  Status CompileArms();
  Status SetSlo();
  Status Serve();
  void FindOverloads();
  void SummariseArm(Arm& arm);
  void SummariseGains();
  Status ServeSample();
  Status SweepOne(const Sample::Timed& timed, Nanos& p99);
  Status ServeFormation(const Sample& sample, double saturated, std::size_t kind,
                        std::size_t at_once);
  void SummariseWindows();
  void SummariseBuckets();
  void FindContradictions();
  void SummariseInput();

  ReplayRequest Base(ReplayRequest::Detail detail) {
    ReplayRequest request;
    request.detail = detail;
    request.progress = [this](std::uint64_t requests, std::uint64_t steps) {
      return progress_.Add(requests, steps);
    };
    return request;
  }
  std::size_t scored() const { return windows_.size() - 1; }
  bool usable(std::size_t w) const { return w > 0 && !summary_.windows[w].overloaded; }

  const ExperimentInput& input_;
  const LoopOptions& options_;
  compile::Compiler& compiler_;
  const Replay& replay_;
  Progress progress_;
  std::shared_ptr<LoopRecord> record_;
  LoopSummary& summary_;

  std::optional<compile::WorkCurve> curve_;
  std::optional<LoopSource> source_;
  bool flat_ = true;
  BucketSpec spec_;
  std::vector<ServedWindow> windows_;   // in device time; the first is not served
  std::vector<Instant> ends_;           // of the windows, in device time
  std::vector<double> throughput_;      // by window: requests a nanosecond of device time
  double compression_ = 1;              // trace time / device time
  LoopRequests requests_;               // of the windows from 1 on
  std::vector<std::uint32_t> window_of_;  // by request
  LoopArms arms_;
  std::map<Edges, Body> plans_;
  Arm frozen_, adapted_, clairvoyant_;
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
  if (!(reality.per_operator >= 0 && reality.per_operator <= 2 && reality.per_size >= 0 &&
        reality.per_size <= 2)) {
    return refuse("a spread of the reality noise is not between 0 and 2");
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
  flat_ = options_.load.rate == Rate::kAuto ? source_->drawn()
                                            : options_.load.rate == Rate::kFlat;
  std::vector<double> expected;
  Nanos span{0};
  for (const LoopSource::Window& window : source_->windows()) span += window.length();
  for (const LoopSource::Window& window : source_->windows()) {
    const double share = static_cast<double>(window.length().count()) /
                         static_cast<double>(span.count());
    expected.push_back(flat_ ? static_cast<double>(source_->requests()) * share : window.expected);
  }
  source_->Merge(0, static_cast<double>(options_.load.min_requests), expected);
  if (source_->windows().size() < 2) {
    return base::FailedPrecondition(
        absl::StrCat(input_.traffic->name(), ": ", source_->requests(),
                     " requests make fewer than two windows of ", options_.load.min_requests));
  }
  return Status();
}

// The first window is only compiled for. It holds its share of the time in flat traffic, where the
// others' throughputs are not known yet.
Status Experiment::DrawFirst() {
  const auto& windows = source_->windows();
  Nanos span{0};
  for (const LoopSource::Window& window : windows) span += window.length();
  std::vector<std::uint64_t> counts(windows.size(), 0);
  if (flat_) {
    const double share = static_cast<double>(windows.front().length().count()) /
                         static_cast<double>(span.count());
    counts[0] = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(share * static_cast<double>(source_->requests())));
    LEEWAY_ASSIGN_OR_RETURN(std::vector<LoopRequests> drawn, source_->Draw(counts, options_.seed));
    windows_ = {{Instant(), std::move(drawn.front())}};
  } else {
    LEEWAY_ASSIGN_OR_RETURN(std::vector<LoopRequests> own, source_->AtOwnRates());
    windows_.clear();
    for (LoopRequests& requests : own) windows_.push_back({Instant(), std::move(requests)});
  }
  BucketPolicyOptions policy;
  policy.spec = spec_;
  LEEWAY_ASSIGN_OR_RETURN(const auto made, MakeBucketPolicy("frozen", policy));
  const Edges edges = Compiled(*curve_, made->Begin(LengthsOf(windows_.front().requests)));
  LEEWAY_ASSIGN_OR_RETURN(record_->frozen_plan, PlanOf(edges));
  return Status();
}

Result<std::vector<double>> Experiment::Throughputs() {
  const std::size_t count = source_->windows().size();
  std::vector<std::uint64_t> counts(count, kThroughputRequests);
  counts[0] = 0;
  const std::uint64_t seed = base::Prng(options_.seed).Fork("loop throughput").Next();
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<LoopRequests> drawn, source_->Draw(counts, seed));
  progress_.Enter(LoopProgress::Stage::kCapacity, kThroughputRequests * (count - 1));
  std::vector<double> throughput(count, 0);
  LEEWAY_RETURN_IF_ERROR(ForEach(count - 1, options_.jobs, [&](std::size_t i) {
    ReplayRequest request = Base(ReplayRequest::Detail::kLatencies);
    request.requests = drawn[i + 1];
    request.plans = {{Instant(), record_->frozen_plan}};
    LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay_(request));
    throughput[i + 1] = ThroughputOf(outcome) * 1e-9;
    return Status();
  }));
  return throughput;
}

// Equal offered load in every window: requests in proportion to what the frozen plan gets through.
Status Experiment::DrawFlat() {
  const auto rest = static_cast<double>(
      source_->requests() - std::min<std::uint64_t>(source_->requests(),
                                                    windows_.front().requests.size()));
  std::vector<std::uint64_t> counts;
  for (;;) {
    LEEWAY_ASSIGN_OR_RETURN(throughput_, Throughputs());
    const auto& windows = source_->windows();
    double sum = 0;
    std::vector<double> carried(windows.size(), 0);
    for (std::size_t w = 1; w < windows.size(); ++w) {
      carried[w] = throughput_[w] * static_cast<double>(windows[w].length().count());
      sum += carried[w];
    }
    std::vector<double> expected(windows.size(), 0);
    for (std::size_t w = 1; w < windows.size(); ++w) expected[w] = rest * carried[w] / sum;
    source_->Merge(1, static_cast<double>(options_.load.min_requests), expected);
    compression_ = options_.load.load * sum / rest;
    if (source_->windows().size() < expected.size()) continue;
    counts = traffic::Apportion(static_cast<std::uint64_t>(rest),
                                traffic::IntegerWeights(carried));
    break;
  }
  counts[0] = 0;
  LEEWAY_ASSIGN_OR_RETURN(std::vector<LoopRequests> drawn, source_->Draw(counts, options_.seed));
  windows_.resize(1);
  for (std::size_t w = 1; w < drawn.size(); ++w) {
    const LoopSource::Window& window = source_->windows()[w];
    base::Prng prng =
        base::Prng(options_.seed).Fork(absl::StrCat("loop times ", window.from.count()));
    const auto length = static_cast<std::uint64_t>(window.length().count());
    std::vector<std::uint64_t> offsets(drawn[w].size());
    for (std::uint64_t& offset : offsets) offset = prng.Below(length);
    std::sort(offsets.begin(), offsets.end());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      drawn[w][i].at = window.from + Nanos{static_cast<std::int64_t>(offsets[i])};
    }
    windows_.push_back({Instant(), std::move(drawn[w])});
  }
  return Status();
}

Status Experiment::TakeRecorded() {
  LEEWAY_ASSIGN_OR_RETURN(throughput_, Throughputs());
  double sum = 0;
  const auto& windows = source_->windows();
  for (std::size_t w = 1; w < windows.size(); ++w) {
    const auto length = static_cast<double>(windows[w].length().count());
    sum += static_cast<double>(windows_[w].requests.size()) / length / throughput_[w];
  }
  compression_ = options_.load.load * static_cast<double>(windows.size() - 1) / sum;
  return Status();
}

// From trace time to device time, which begins where serving does.
void Experiment::SetTimes() {
  const auto& windows = source_->windows();
  const Instant origin = windows.size() > 1 ? windows[1].from : Instant();
  auto device = [&](Instant trace) {
    return trace <= origin ? Instant() : Scaled(Instant(trace - origin), compression_);
  };
  for (std::size_t w = 0; w < windows.size(); ++w) {
    windows_[w].from = device(windows[w].from);
    ends_.push_back(device(windows[w].to));
    for (LoopRequest& request : windows_[w].requests) {
      request.at = w == 0 ? Instant() : device(request.at);
      if (w == 0) continue;
      requests_.push_back(request);
      window_of_.push_back(static_cast<std::uint32_t>(w));
    }
    LoopWindow window;
    window.from = windows[w].from;
    window.to = windows[w].to;
    window.requests = w == 0 ? 0 : windows_[w].requests.size();
    if (w > 0) {
      const auto length = static_cast<double>(windows[w].length().count()) / compression_;
      window.load = static_cast<double>(window.requests) / length / throughput_[w];
      window.overloaded = window.load > kOverload;
    }
    summary_.windows.push_back(window);
  }
}

Status Experiment::CompileArms() {
  ArmOptions options;
  options.policy.spec = spec_;
  options.policy.threshold = options_.compile.tau;
  options.policy.guard = BucketPolicyOptions::Guard::kQueue;
  options.policy.seed = options_.seed;
  options.compile_time = Scaled(Instant(options_.compile.time), compression_).since_origin();
  LEEWAY_ASSIGN_OR_RETURN(arms_, MakeArms(windows_, *curve_, options));
  for (LoopAction& action : arms_.adaptation.actions) {
    action.at = summary_.windows[action.window].from;
  }
  const std::pair<Arm*, std::pair<const ArmWork*, LoopArm*>> all[] = {
      {&frozen_, {&arms_.frozen, &summary_.frozen}},
      {&adapted_, {&arms_.adapted, &summary_.adapted}},
      {&clairvoyant_, {&arms_.clairvoyant, &summary_.clairvoyant}}};
  progress_.Enter(LoopProgress::Stage::kCompile, 3 * windows_.size());
  for (const auto& [arm, parts] : all) {
    arm->work = parts.first;
    arm->result = parts.second;
    for (const Edges& edges : arm->work->edges) {
      LEEWAY_ASSIGN_OR_RETURN(const Body plan, PlanOf(edges));
      arm->plans.push_back(plan);
      if (!progress_.Add(1, 0)) return Status(StatusCode::kCancelled, "the loop was cancelled");
    }
  }
  record_->adapted_plan = adapted_.plans.back();
  SummariseWork(arms_, options_.compile.tau, options_.seed, summary_);
  return Status();
}

Status Experiment::Serve() {
  progress_.Enter(LoopProgress::Stage::kServe, 3 * requests_.size());
  Arm* const arms[] = {&frozen_, &adapted_, &clairvoyant_};
  std::vector<Instant> census;
  for (std::size_t w = 1; w < windows_.size(); ++w) census.push_back(windows_[w].from);
  LEEWAY_RETURN_IF_ERROR(ForEach(3, options_.jobs, [&](std::size_t a) {
    ReplayRequest request = Base(ReplayRequest::Detail::kAttributed);
    request.requests = requests_;
    request.census = census;
    for (std::size_t w = 1; w < windows_.size(); ++w) {
      const Body& plan = arms[a]->plans[w];
      if (request.plans.empty() || request.plans.back().plan != plan) {
        request.plans.push_back({request.plans.empty() ? Instant() : windows_[w].from, plan});
      }
    }
    LEEWAY_ASSIGN_OR_RETURN(arms[a]->outcome, replay_(request));
    return Status();
  }));
  FindOverloads();
  LEEWAY_RETURN_IF_ERROR(SetSlo());
  for (Arm* arm : arms) SummariseArm(*arm);
  record_->frozen_telemetry = frozen_.outcome.telemetry;
  record_->adapted_telemetry = adapted_.outcome.telemetry;
  return Status();
}

void Experiment::FindOverloads() {
  for (const Arm* arm : {&frozen_, &adapted_, &clairvoyant_}) {
    std::vector<std::uint64_t> unfinished(windows_.size(), 0);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const std::size_t w = window_of_[i];
      const Nanos length = ends_[w] - windows_[w].from;
      const Nanos left = ends_[w] - requests_[i].at + length;
      if (arm->outcome.latencies[i] > left) ++unfinished[w];
    }
    for (std::size_t w = 1; w < windows_.size(); ++w) {
      const auto limit = kUnfinished * static_cast<double>(windows_[w].requests.size());
      if (static_cast<double>(unfinished[w]) > limit) summary_.windows[w].overloaded = true;
    }
  }
  for (const LoopWindow& window : summary_.windows) summary_.overloaded_windows += window.overloaded;
}

// What a request takes that is alone under the frozen plan depends on its bucket, or on its length
// where none covers it: one request of each kind is served, far from the others.
Status Experiment::SetSlo() {
  summary_.slo = options_.load.slo;
  if (summary_.slo > Nanos{0}) return Status();
  const Edges& edges = arms_.frozen.edges.front();
  const LengthHistogram all = LengthsOf(requests_).lengths;
  std::map<std::int64_t, double> kinds;
  for (const LengthWeight& entry : all) {
    const auto edge = std::lower_bound(edges.begin(), edges.end(), entry.length);
    kinds[edge == edges.end() ? entry.length : *edge] += entry.weight;
  }
  LoopRequests lone;
  Instant at;
  for (const auto& [length, weight] : kinds) {
    lone.push_back({at, 0, length});
    // Core time is at least the time of a run, whose own shards contend for as many times at most.
    const double longest = static_cast<double>((*curve_)(length).count()) * spec_.fallback_factor;
    at += Nanos{base::RoundToInt64(8 * longest).value_or(0)} + Nanos{1s};
  }
  ReplayRequest request = Base(ReplayRequest::Detail::kLatencies);
  request.requests = lone;
  request.plans = {{Instant(), record_->frozen_plan}};
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay_(request));
  std::vector<std::pair<Nanos, double>> times;
  double total = 0;
  for (const auto& [length, weight] : kinds) {
    times.emplace_back(outcome.latencies[times.size()], weight);
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

void Experiment::SummariseArm(Arm& arm) {
  LoopArm& result = *arm.result;
  const SimSummary& ran = arm.outcome.summary;
  result.name = arm.work->name;
  result.work = Nanos{base::RoundToInt64(arm.work->total()).value_or(0)};
  result.submitted = ran.counts.submitted;
  result.ok = ran.counts.ok;
  result.runs = ran.runs;
  result.steps = ran.steps;
  result.energy_j = ran.energy_j;
  result.padding_waste = arm.work->waste();
  result.tails = arm.outcome.tails;
  result.telemetry_digest = arm.outcome.telemetry_digest;
  double fallbacks = 0;
  for (double count : arm.work->fallback) fallbacks += count;
  const auto submitted = static_cast<double>(std::max<std::uint64_t>(1, result.submitted));
  result.fallback_rate = fallbacks / submitted;
  std::vector<WindowedLatency> kept;
  std::uint64_t within = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Nanos latency = arm.outcome.latencies[i];
    if (latency <= summary_.slo) ++within;
    if (latency != Nanos::max() && usable(window_of_[i])) {
      kept.push_back({window_of_[i] - 1, latency});
    }
  }
  result.slo_attainment = static_cast<double>(within) / submitted;
  const double seconds = static_cast<double>(ran.makespan.count()) * 1e-9;
  if (seconds > 0) result.goodput_rps = static_cast<double>(within) / seconds;
  arm.latencies.emplace(scored(), std::move(kept));
  result.p50 = arm.latencies->Percentile(0.50);
  result.p95 = arm.latencies->Percentile(0.95);
  result.p99 = arm.latencies->Percentile(0.99);
  result.mean = Nanos{base::RoundToInt64(arm.latencies->Mean()).value_or(0)};
  const std::unique_ptr<device::Reality> reality = RealityOf(options_.reality);
  result.accuracy = AccuracyOf(arm.outcome.executed, reality.get());
  if (result.accuracy && reality) {
    result.accuracy->over_seeds =
        AccuracyRange(arm.outcome.executed, reality->noise(), options_.reality.seeds);
  }
  result.fallback_time = FallbackTime(arm.outcome.executed, reality.get());
}

// Gains in latency over the windows that no arm was overloaded in, paired by window.
void Experiment::SummariseGains() {
  Multiplicities once(scored(), 0);
  std::vector<std::size_t> usable_windows;
  for (std::size_t w = 1; w < windows_.size(); ++w) {
    if (!usable(w)) continue;
    once[w - 1] = 1;
    usable_windows.push_back(w - 1);
  }
  const std::pair<double, LoopFigure*> figures[] = {
      {0.50, &summary_.gain.p50}, {0.95, &summary_.gain.p95}, {0.99, &summary_.gain.p99}};
  for (const auto& [q, figure] : figures) {
    auto gain = [&, q = q](const Multiplicities& draw) {
      const Nanos before = frozen_.latencies->Percentile(q, draw);
      const Nanos after = adapted_.latencies->Percentile(q, draw);
      return after > Nanos{0} ? static_cast<double>(before.count()) /
                                        static_cast<double>(after.count()) -
                                    1
                              : 0;
    };
    figure->value = gain(once);
    const double beyond = (1 - q) * static_cast<double>(frozen_.latencies->size());
    if (usable_windows.size() < 4 || beyond < kFewestExceedances) continue;
    std::vector<double> values;
    for (const Multiplicities& draw :
         BlockResamples(usable_windows.size(), kResamples, options_.seed)) {
      Multiplicities all(scored(), 0);
      for (std::size_t i = 0; i < draw.size(); ++i) all[usable_windows[i]] = draw[i];
      values.push_back(gain(all));
    }
    const Interval interval = PercentileInterval(std::move(values), kLevel);
    figure->interval.emplace(interval.low, interval.high);
  }
}

Status Experiment::ServeSample() {
  if (options_.load.sample == 0) return Status();
  const Sample sample(windows_, options_.load.sample,
                      base::Prng(options_.seed).Fork("loop sample").Next());
  if (sample.size() == 0) return Status();
  const std::vector<double>& sweep = options_.load.sweep;
  progress_.Enter(LoopProgress::Stage::kSample, sample.size() * (3 * (7 + sweep.size()) + 4));
  // The mean rate at which the frozen plan is just saturated by this mix.
  double seconds = 0;
  for (std::size_t w = 1; w < windows_.size(); ++w) {
    seconds += static_cast<double>(sample.of_window(w)) / throughput_[w] * 1e-9;
  }
  const double saturated = static_cast<double>(sample.size()) / seconds;
  Arm* const arms[] = {&frozen_, &adapted_, &clairvoyant_};
  for (double load : sweep) summary_.sweep.push_back({load, load * saturated, {}, {}, {}});
  summary_.formation.resize(2);
  // Three capacities, three replays a swept load, and four of the ablation: of one list, so that
  // threads share them evenly.
  const std::size_t swept = 3 * sweep.size();
  LEEWAY_RETURN_IF_ERROR(ForEach(3 + swept + 4, options_.jobs, [&](std::size_t i) {
    const ReplayRequest base = Base(ReplayRequest::Detail::kLatencies);
    if (i < 3) {
      LEEWAY_ASSIGN_OR_RETURN(
          arms[i]->capacity, CapacityOf(sample, arms[i]->plans, summary_.slo, replay_, base));
      return Status();
    }
    if (i < 3 + swept) {
      const std::size_t arm = (i - 3) % 3;
      LoopSweepPoint& point = summary_.sweep[(i - 3) / 3];
      return SweepOne(sample.At(point.rate_rps, arms[arm]->plans),
                      arm == 0   ? point.frozen_p99
                      : arm == 1 ? point.adapted_p99
                                 : point.clairvoyant_p99);
    }
    const std::size_t which = i - 3 - swept;
    return ServeFormation(sample, saturated, which / 2, which % 2);
  }));
  for (Arm* arm : arms) arm->result->capacity_rps = arm->capacity;
  if (frozen_.capacity && adapted_.capacity) {
    summary_.gain.capacity = *adapted_.capacity / *frozen_.capacity - 1;
  }
  return Status();
}

Status Experiment::SweepOne(const Sample::Timed& timed, Nanos& p99) {
  ReplayRequest request = Base(ReplayRequest::Detail::kLatencies);
  request.requests = timed.requests;
  request.plans = timed.plans;
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay_(request));
  p99 = PercentileOf(outcome.latencies, 0.99);
  return Status();
}

// The adapted plans on the sample, batched by bucket (0) or first come (1): at the load (0), and
// with all due at once (1).
Status Experiment::ServeFormation(const Sample& sample, double saturated, std::size_t kind,
                                  std::size_t at_once) {
  LoopFormation& formation = summary_.formation[kind];
  const Sample::Timed timed =
      at_once != 0 ? sample.AtOnce(adapted_.plans)
                   : sample.At(options_.load.load * saturated, adapted_.plans);
  ReplayRequest request = Base(at_once != 0 ? ReplayRequest::Detail::kAttributed
                                            : ReplayRequest::Detail::kLatencies);
  request.formation = kind == 0 ? ReplayRequest::Formation::kByBucket
                                : ReplayRequest::Formation::kFirstCome;
  request.requests = timed.requests;
  request.plans = timed.plans;
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay_(request));
  if (at_once == 0) {
    formation.name = kind == 0 ? "by bucket" : "first come";
    formation.p50 = PercentileOf(outcome.latencies, 0.50);
    formation.p99 = PercentileOf(outcome.latencies, 0.99);
    return Status();
  }
  formation.runs = outcome.summary.runs;
  formation.throughput_rps = ThroughputOf(outcome);
  if (!outcome.tails.empty()) formation.padding_share = PaddingShare(outcome.tails.front().mean);
  return Status();
}

void Experiment::SummariseWindows() {
  const std::unique_ptr<device::Reality> reality = RealityOf(options_.reality);
  auto accuracy = [&](const Arm& arm, std::size_t w) -> std::optional<double> {
    const auto& executed = arm.outcome.executed;
    auto before = [](const telemetry::ExecutedSteps& a, std::uint32_t window) {
      return a.window < window;
    };
    const auto first = std::lower_bound(executed.begin(), executed.end(), w - 1, before);
    const auto last = std::lower_bound(first, executed.end(), w, before);
    const auto result = AccuracyOf(std::span(first, last), reality.get());
    if (!result) return std::nullopt;
    return result->accuracy;
  };
  auto nanos = [](double value) { return Nanos{base::RoundToInt64(value).value_or(0)}; };
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    LoopWindow& window = summary_.windows[w];
    const LengthHistogram lengths = LengthsOf(windows_[w].requests).lengths;
    window.median = LengthAt(lengths, 0.5);
    window.p95 = LengthAt(lengths, 0.95);
    window.plan = arms_.adaptation.plan_of[w];
    if (w == 0) continue;
    window.frozen_work = nanos(arms_.frozen.work[w]);
    window.adapted_work = nanos(arms_.adapted.work[w]);
    window.clairvoyant_work = nanos(arms_.clairvoyant.work[w]);
    window.cross_fitted_work = nanos(arms_.cross_fitted[w]);
    Multiplicities only(scored(), 0);
    only[w - 1] = 1;
    window.frozen_p99 = frozen_.latencies->Percentile(0.99, only);
    window.adapted_p99 = adapted_.latencies->Percentile(0.99, only);
    window.frozen_accuracy = accuracy(frozen_, w);
    window.adapted_accuracy = accuracy(adapted_, w);
  }
}

void Experiment::SummariseBuckets() {
  const Edges& edges = arms_.frozen.edges.front();
  const LengthHistogram planned = LengthsOf(windows_.front().requests).lengths.Normalised();
  const LengthHistogram observed = LengthsOf(requests_).lengths.Normalised();
  std::int64_t below = 0;
  auto share = [&](const LengthHistogram& lengths, std::int64_t edge) {
    double sum = 0;
    for (const LengthWeight& entry : lengths) {
      if (entry.length > below && entry.length <= edge) sum += entry.weight;
    }
    return sum;
  };
  for (std::int64_t edge : edges) {
    summary_.frozen_buckets.push_back({edge, share(planned, edge), share(observed, edge)});
    below = edge;
  }
}

// What speaks against the verdict, or would be easy to overlook.
void Experiment::FindContradictions() {
  auto say = [&](std::string what) { summary_.contradictions.push_back(std::move(what)); };
  auto percent = [](double share) {
    return absl::StrCat(std::round(share * 1000) / 10, " %");
  };
  const LoopArm& frozen = summary_.frozen;
  const LoopArm& adapted = summary_.adapted;
  const LoopArm& clairvoyant = summary_.clairvoyant;
  if (summary_.clamped_rate > 0.05) {
    say(absl::StrCat(percent(summary_.clamped_rate),
                     " of the requests are outside the model's domain and were clamped to it"));
  }
  if (adapted.work < frozen.work && adapted.p99 > frozen.p99) {
    say("work fell but p99 rose when adapted");
  }
  if (adapted.work < frozen.work && adapted.energy_j > frozen.energy_j) {
    say("work fell but energy rose when adapted");
  }
  if (adapted.p99 < clairvoyant.p99) {
    say("adapted has a lower p99 than the clairvoyant, which bounds work, not latency");
  }
  if (summary_.gain.capacity && *summary_.gain.capacity < 0 && adapted.work < frozen.work) {
    say("work fell but the capacity at the SLO fell too when adapted");
  }
  if (frozen.accuracy && adapted.accuracy && adapted.work < frozen.work &&
      adapted.accuracy->accuracy < frozen.accuracy->accuracy - 0.01) {
    say("the mapping is less accurate when adapted, although it needs less work");
  }
  if (summary_.overloaded_windows > 0) {
    say(absl::StrCat(summary_.overloaded_windows, " of ", scored(),
                     " windows are overloaded and left out of the percentiles: there capacity is "
                     "what is missing, whatever the mapping"));
  }
}

void Experiment::SummariseInput() {
  summary_.model = input_.model->model;
  summary_.device = input_.device->name;
  summary_.traffic = input_.traffic->name();
  summary_.dim = compiler_.domain().name;
  summary_.seed = options_.seed;
  summary_.requests = requests_.size() + windows_.front().requests.size();
  summary_.scored_requests = requests_.size();
  summary_.window = source_->window();
  summary_.span = source_->windows().back().to - source_->windows().front().from;
  summary_.compile_time = options_.compile.time;
  summary_.rate = flat_ ? "flat" : "recorded";
  summary_.load = options_.load.load;
  summary_.phi = options_.compile.phi;
  summary_.time_compression = compression_;
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
  spec_ = SpecOf(*curve_, options_.compile.variants, options_.compile.phi);
  LEEWAY_RETURN_IF_ERROR(DrawFirst());
  LEEWAY_RETURN_IF_ERROR(flat_ ? DrawFlat() : TakeRecorded());
  SetTimes();
  LEEWAY_RETURN_IF_ERROR(CompileArms());
  LEEWAY_RETURN_IF_ERROR(Serve());
  SummariseGains();
  SummariseInput();
  LEEWAY_RETURN_IF_ERROR(ServeSample());
  SummariseWindows();
  SummariseBuckets();
  FindContradictions();
  return record_;
}

}  // namespace

Result<std::shared_ptr<LoopRecord>> RunExperiment(const ExperimentInput& input,
                                                  compile::Compiler& compiler,
                                                  const Replay& replay) {
  return Experiment(input, compiler, replay).Run();
}

}  // namespace leeway::retune
