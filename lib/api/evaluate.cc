#include "leeway/evaluate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/replay.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "exec/simulation.h"
#include "exec/work_meter.h"
#include "plan/body.h"
#include "retune/block_bootstrap.h"
#include "retune/percent.h"
#include "retune/plan_buckets.h"
#include "sched/model.h"

namespace leeway {
inline namespace v0 {
namespace {

using retune::Multiplicities;
using retune::WindowedLatencies;
using retune::WindowedLatency;

constexpr std::uint64_t kTailRequests = 30;
constexpr std::uint64_t kLeastWindows = 4;
constexpr std::size_t kMetrics = 5;

struct OkRequest {
  Instant arrived;
  std::uint32_t stream = 0;
  Nanos latency{0};
};

// One replay: every OK request, and the work of every submitted one.
struct Arm {
  std::shared_ptr<exec::SimRecord> record;
  std::vector<OkRequest> ok;
  std::vector<std::pair<Instant, Nanos>> work;
};

Result<Arm> RunArm(const Plan& plan, const Device& device, const Recording& recording,
                   const EvaluateOptions& options) {
  Arm arm;
  exec::SimConfig config;
  config.plan = plan.body();
  config.device = device.spec();
  config.entry = recording.entry();
  config.streams = api::StreamsOf(*recording.traffic().body(), options.serving.batching);
  config.serving = options.serving;
  config.progress = options.progress;
  config.on_ok = [&arm](const exec::RequestRecord& done) {
    arm.ok.push_back({done.request->admitted, done.request->stream.value(), done.latency});
  };
  LEEWAY_ASSIGN_OR_RETURN(api::Replay replay, api::Replay::Begin(*plan.body(), recording));
  sched::DomainTable domains;
  const auto serves = device::WithHostFor(*config.plan, config.device);
  LEEWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<sched::Model> model,
      sched::Model::Create(config.plan, serves, config.entry, options.serving.phi, domains));
  exec::WorkMeter meter(*model);
  auto next = [&]() -> Result<std::optional<exec::SimArrival>> {
    LEEWAY_ASSIGN_OR_RETURN(std::optional<exec::SimArrival> arrival, replay.Next());
    if (!arrival) return arrival;
    LEEWAY_ASSIGN_OR_RETURN(const exec::RequestWork work, meter.Of(arrival->dims));
    arm.work.emplace_back(arrival->at, work.at_bucket);
    return arrival;
  };
  LEEWAY_ASSIGN_OR_RETURN(arm.record, exec::RunSimulation(config, next));
  arm.record->summary.counts.clamped = replay.binding().clamped();
  arm.record->summary.notes = replay.binding().notes();
  return arm;
}

// Windows of equal length over the arrivals: of an hour in long traces, else 24, fewer where they
// would hold less than 50 requests, and six at the least.
struct Windows {
  Instant start;
  Nanos length{1};
  std::size_t count = 1;

  std::uint32_t Of(Instant at) const { return static_cast<std::uint32_t>((at - start) / length); }
};

Windows CutWindows(const Arm& arm) {
  constexpr std::int64_t kLeast = 6, kUsual = 24, kMost = 10'000, kRequestsEach = 50;
  Windows windows;
  windows.start = arm.work.front().first;
  const Nanos span = arm.work.back().first - windows.start + 1ns;
  const auto requests = static_cast<std::int64_t>(arm.work.size());
  std::int64_t count = std::clamp(requests / kRequestsEach, kLeast, kUsual);
  count = std::clamp<std::int64_t>(span / Nanos(1h), count, kMost);
  windows.length = Nanos((span.count() + count - 1) / count);
  windows.count = windows.Of(arm.work.back().first) + std::size_t{1};
  return windows;
}

// What one arm shows, in windows.
class Sample {
 public:
  Sample(const Arm& arm, const Windows& windows)
      : latencies_(windows.count, Cut(arm, windows, nullptr)), work_(windows.count) {
    for (const auto& [at, work] : arm.work) {
      work_[windows.Of(at)] += static_cast<double>(work.count());
    }
  }

  double Value(Metric metric, const Multiplicities& multiplicity) const {
    switch (metric) {
      case Metric::kMean:
        return latencies_.Mean(multiplicity);
      case Metric::kWork: {
        double sum = 0;
        for (std::size_t w = 0; w < work_.size(); ++w) sum += work_[w] * multiplicity[w];
        return sum;
      }
      default:
        return static_cast<double>(latencies_.Percentile(QuantileOf(metric), multiplicity).count());
    }
  }

  // Requests beyond the metric's percentile; of a metric that is none, all.
  std::uint64_t Exceedances(Metric metric) const {
    return Beyond(latencies_.size(), QuantileOf(metric));
  }
  const WindowedLatencies& latencies() const { return latencies_; }

  static std::uint64_t Beyond(std::uint64_t requests, double q) {
    return requests == 0 || q == 0 ? requests : requests - base::NearestRank(q, requests);
  }

  static std::vector<WindowedLatency> Cut(const Arm& arm, const Windows& windows,
                                          const std::uint32_t* stream) {
    std::vector<WindowedLatency> cut;
    for (const OkRequest& request : arm.ok) {
      if (stream != nullptr && request.stream != *stream) continue;
      cut.push_back({windows.Of(request.arrived), request.latency});
    }
    return cut;
  }

 private:
  static double QuantileOf(Metric metric) {
    switch (metric) {
      case Metric::kP50:
        return 0.5;
      case Metric::kP95:
        return 0.95;
      case Metric::kP99:
        return 0.99;
      default:
        return 0;
    }
  }

  WindowedLatencies latencies_;
  std::vector<double> work_;  // by window
};

double Change(double before, double after) {
  if (before == after) return 0;
  return before > 0 ? after / before - 1 : 1;
}

class Comparison {
 public:
  Comparison(const Arm& before, const Arm& after, const Windows& windows,
             const EvaluateOptions& options)
      : before_arm_(before),
        after_arm_(after),
        windows_(windows),
        options_(options),
        before_(before, windows),
        after_(after, windows) {}

  MetricChange Of(Metric metric, const std::vector<Multiplicities>& resamples) const {
    const Multiplicities once(windows_.count, 1);
    MetricChange result;
    result.metric = metric;
    result.before = before_.Value(metric, once);
    result.after = after_.Value(metric, once);
    result.change = Change(result.before, result.after);
    if (Shared() < kLeastWindows || Exceedances(metric) < kTailRequests) return result;
    std::vector<double> changes;
    for (const Multiplicities& multiplicity : resamples) {
      changes.push_back(
          Change(before_.Value(metric, multiplicity), after_.Value(metric, multiplicity)));
    }
    const retune::Interval interval =
        retune::PercentileInterval(std::move(changes), options_.confidence);
    result.interval = MetricChange::Interval{interval.low, interval.high};
    return result;
  }

  std::uint64_t Exceedances(Metric metric) const {
    return std::min(before_.Exceedances(metric), after_.Exceedances(metric));
  }

  // Windows with OK requests of both arms.
  std::uint64_t Shared() const {
    std::uint64_t shared = 0;
    for (std::size_t w = 0; w < windows_.count; ++w) {
      if (before_.latencies().count(w) > 0 && after_.latencies().count(w) > 0) ++shared;
    }
    return shared;
  }

  GuardrailResult Streams(double limit) const {
    GuardrailResult worst{"stream", limit, -1, true, "no stream has a request that ended OK"};
    bool any = false;
    const auto& streams = before_arm_.record->summary.streams;
    for (std::uint32_t s = 0; s < streams.size(); ++s) {
      const WindowedLatencies b(windows_.count, Sample::Cut(before_arm_, windows_, &s));
      const WindowedLatencies a(windows_.count, Sample::Cut(after_arm_, windows_, &s));
      if (b.size() == 0 || a.size() == 0) continue;
      const bool tail = Sample::Beyond(std::min(a.size(), b.size()), 0.99) >= kTailRequests;
      const double change = tail ? Change(static_cast<double>(b.Percentile(0.99).count()),
                                          static_cast<double>(a.Percentile(0.99).count()))
                                 : Change(b.Mean(), a.Mean());
      if (any && change <= worst.value) continue;
      any = true;
      worst.value = change;
      worst.note = absl::StrCat(tail ? "p99" : "mean", " of stream \"", streams[s].name, "\"");
    }
    if (!any) worst.value = 0;
    worst.ok = worst.value <= limit;
    return worst;
  }

 private:
  const Arm& before_arm_;
  const Arm& after_arm_;
  const Windows& windows_;
  const EvaluateOptions& options_;
  Sample before_, after_;
};

double Rate(std::uint64_t part, const Counts& counts) {
  return counts.submitted == 0 ? 0
                               : static_cast<double>(part) / static_cast<double>(counts.submitted);
}

std::vector<GuardrailResult> Guard(const Guardrails& limits, const Comparison& comparison,
                                   const Evaluation& evaluation) {
  const Counts& before = evaluation.before.counts;
  const Counts& after = evaluation.after.counts;
  auto result = [](const char* name, double limit, double value) {
    return GuardrailResult{name, limit, value, value <= limit, {}};
  };
  return {
      result("p99", limits.max_p99_change, evaluation.metric(Metric::kP99).change),
      comparison.Streams(limits.max_stream_change),
      result("ok_rate", limits.max_ok_rate_drop, Rate(before.ok, before) - Rate(after.ok, after)),
      result("fallback_rate", limits.max_fallback_rate_rise,
             Rate(after.fallback, after) - Rate(before.fallback, before))};
}

std::string SignedPercent(double share) {
  return absl::StrCat(share > 0 ? "+" : "", retune::Percent(share));
}

void Decide(const Comparison& comparison, Metric primary, Evaluation& evaluation) {
  const MetricChange& metric = evaluation.metric(primary);
  const std::string name = MetricName(primary);
  if (!metric.interval) {
    evaluation.verdict = Verdict::kInsufficient;
    evaluation.reason =
        comparison.Shared() < kLeastWindows
            ? absl::StrCat(comparison.Shared(), " windows hold requests of both runs; at least ",
                           kLeastWindows, " are needed")
            : absl::StrCat(comparison.Exceedances(primary), " requests lie above ", name,
                           "; at least ", kTailRequests, " are needed");
    return;
  }
  const std::string change = absl::StrCat(name, " ", SignedPercent(metric.change), " (",
                                          SignedPercent(metric.interval->low), " to ",
                                          SignedPercent(metric.interval->high), ")");
  for (const GuardrailResult& guardrail : evaluation.guardrails) {
    if (guardrail.ok) continue;
    evaluation.verdict = Verdict::kWorse;
    evaluation.reason =
        absl::StrCat("guardrail ", guardrail.name, ": ", SignedPercent(guardrail.value),
                     " exceeds ", SignedPercent(guardrail.limit), "; ", change);
    return;
  }
  evaluation.verdict = metric.interval->high < 0  ? Verdict::kBetter
                       : metric.interval->low > 0 ? Verdict::kWorse
                                                  : Verdict::kNoEvidence;
  evaluation.reason = change;
}

Status CheckOptions(const EvaluateOptions& options) {
  if (!(options.confidence > 0 && options.confidence < 1)) {
    return base::InvalidArgument(
        absl::StrCat("confidence is ", options.confidence, "; between 0 and 1"));
  }
  if (options.resamples < 1 || options.resamples > 100'000) {
    return base::InvalidArgument(
        absl::StrCat("resamples is ", options.resamples, "; between 1 and 100000"));
  }
  return Status();
}

Result<std::string> EntryName(const Plan& plan, const std::string& name) {
  LEEWAY_ASSIGN_OR_RETURN(const plan::Index entry, retune::FindEntry(*plan.body(), name));
  return plan.body()->entries[entry].name;
}

// Equal arrivals need equal dims: the domain clamps, the rule batches.
Status CheckSameShape(const Plan& before, const Plan& after, const std::string& entry) {
  const auto& old_dims = before.body()->dims;
  const auto& new_dims = after.body()->dims;
  for (const plan::Dim& dim : old_dims) {
    const auto other = after.body()->FindDim(dim.name);
    if (!other) {
      return base::InvalidArgument(
          absl::StrCat("dim \"", dim.name, "\" is in the plan before, not in the one after"));
    }
    const plan::Dim& now = new_dims[*other];
    if (now.min != dim.min || now.max != dim.max || now.batch_rule != dim.batch_rule ||
        now.bind != dim.bind) {
      return base::InvalidArgument(absl::StrCat(
          "dim \"", dim.name, "\" is [", dim.min, ", ", dim.max, "] in the plan before, [", now.min,
          ", ", now.max, "] in the one after, or binds or batches otherwise"));
    }
  }
  if (old_dims.size() != new_dims.size()) {
    return base::InvalidArgument(absl::StrCat("the plan before has ", old_dims.size(),
                                              " dims, the one after ", new_dims.size()));
  }
  LEEWAY_ASSIGN_OR_RETURN(const std::string old_entry, EntryName(before, entry));
  LEEWAY_ASSIGN_OR_RETURN(const std::string new_entry, EntryName(after, entry));
  if (old_entry == new_entry) return Status();
  return base::InvalidArgument(absl::StrCat("the plan before runs entry \"", old_entry,
                                            "\", the one after \"", new_entry, "\""));
}

Status Named(const char* which, const Status& status) {
  return Status(status.code(), absl::StrCat("plan ", which, ": ", std::string(status.message())));
}

}  // namespace

Result<Evaluation> Evaluate(const Plan& before, const Plan& after, const Device& device,
                            const Traffic& traffic, const Guardrails& guardrails,
                            const EvaluateOptions& options) {
  LEEWAY_RETURN_IF_ERROR(CheckOptions(options));
  LEEWAY_RETURN_IF_ERROR(CheckSameShape(before, after, options.entry));
  const Recording recording(
      traffic, {options.seed, options.entry, options.bind, SimulateOptions::AboveDomain::kClamp});
  const Result<Arm> old_arm = RunArm(before, device, recording, options);
  if (!old_arm.ok()) return Named("before", old_arm.status());
  const Result<Arm> new_arm = RunArm(after, device, recording, options);
  if (!new_arm.ok()) return Named("after", new_arm.status());

  const Windows windows = CutWindows(*old_arm);
  const Comparison comparison(*old_arm, *new_arm, windows, options);
  const auto resamples = retune::BlockResamples(
      windows.count, static_cast<std::size_t>(options.resamples), options.seed);
  Evaluation evaluation;
  evaluation.windows = windows.count;
  evaluation.window = windows.length;
  evaluation.before = old_arm->record->summary;
  evaluation.after = new_arm->record->summary;
  for (std::size_t m = 0; m < kMetrics; ++m) {
    evaluation.metrics.push_back(comparison.Of(static_cast<Metric>(m), resamples));
  }
  evaluation.guardrails = Guard(guardrails, comparison, evaluation);
  Decide(comparison, options.primary, evaluation);
  return evaluation;
}

const char* MetricName(Metric metric) {
  constexpr const char* kNames[] = {"p50", "p95", "p99", "mean", "work"};
  return kNames[static_cast<std::size_t>(metric)];
}

const char* VerdictName(Verdict verdict) {
  constexpr const char* kNames[] = {"better", "worse", "no_evidence", "insufficient"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace v0
}  // namespace leeway
