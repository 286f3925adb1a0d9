// Is a plan better than the one it would replace? Both serve the same arrivals in virtual time, and
// what changed is told with an interval.
//
// Intervals come from exact latencies by a paired block bootstrap over windows of arrival time:
// windows are drawn in blocks, since a queue remembers, and the same ones for both plans, since the
// arrivals are the same. Judge on traffic that the new plan was not fitted to.
//
// Threading: Evaluate() runs on the calling thread; concurrent calls share nothing.
// Time:      virtual. Equal inputs and seed give equal results on every machine.

#ifndef LEEWAY_EVALUATE_H_
#define LEEWAY_EVALUATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/recording.h"
#include "leeway/simulate.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/traffic.h"

namespace leeway {
inline namespace v0 {

// Latency of OK requests, and predicted core time of all submitted ones at their buckets.
enum class Metric { kP50, kP95, kP99, kMean, kWork };
// Returns "p50", "p95", "p99", "mean" or "work".
const char* MetricName(Metric metric);

// What the new plan must not make worse. Relative changes are after / before - 1.
struct Guardrails {
  double max_p99_change = 0.02;
  // Of every stream: its p99, or its mean where fewer than 30 of its requests lie above p99.
  double max_stream_change = 0.05;
  // Shares of the submitted requests.
  double max_ok_rate_drop = 0;
  double max_fallback_rate_rise = 0;
};

struct EvaluateOptions {
  // Seeds the traffic's draws and the resamples.
  std::uint64_t seed = 0;
  ServingOptions serving = {};
  std::string entry = {};
  std::vector<std::pair<std::string, std::string>> bind = {};
  // Decides between better and worse.
  Metric primary = Metric::kP99;
  // Of the intervals.
  double confidence = 0.95;
  int resamples = 1000;
  // As SimulateOptions::progress, for the one replay and then the other.
  std::function<bool(const Progress&)> progress = {};
};

struct MetricChange {
  Metric metric = Metric::kP99;
  // Nanoseconds; work in core nanoseconds.
  double before = 0, after = 0;
  double change = 0;  // after / before - 1
  // Of the change. Null with fewer than 30 requests above the percentile in either run, or fewer
  // than four windows that hold OK requests of both.
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval;
};

struct GuardrailResult {
  std::string name;  // "p99", "stream", "ok_rate", "fallback_rate"
  double limit = 0;
  double value = 0;
  bool ok = true;
  // E.g. the stream that decides.
  std::string note;
};

enum class Verdict {
  kBetter,        // the primary metric's interval is below 0, and every guardrail holds
  kWorse,         // it is above 0, or a guardrail does not hold
  kNoEvidence,    // it contains 0
  kInsufficient,  // the primary metric has no interval
};
// Returns "better", "worse", "no_evidence" or "insufficient".
const char* VerdictName(Verdict verdict);

struct Evaluation {
  Verdict verdict = Verdict::kInsufficient;
  // Why, in a sentence.
  std::string reason;
  // In the order of the enum.
  std::vector<MetricChange> metrics;
  std::vector<GuardrailResult> guardrails;
  // Of equal length, counted from the first arrival; those without a request included.
  std::uint64_t windows = 0;
  Nanos window{0};
  SimSummary before, after;

  const MetricChange& metric(Metric metric) const {
    return metrics[static_cast<std::size_t>(metric)];
  }
};

// kInvalidArgument for an option out of range, plans whose dims or entries differ, or traffic
// without a request; else the errors of Simulate(), which name the plan by "before" or "after".
Result<Evaluation> Evaluate(const Plan& before, const Plan& after, const Device& device,
                            const Traffic& traffic, const Guardrails& guardrails = {},
                            const EvaluateOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_EVALUATE_H_
