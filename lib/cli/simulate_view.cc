#include "cli/simulate_view.h"

#include "cli/units.h"

namespace leeway::cli {

Objective ParseObjective(const std::string& text) {
  Objective objective;
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) objective.percentile = text.substr(0, equals);
  const std::string& p = objective.percentile;
  const bool known = p.empty() || p == "p50" || p == "p90" || p == "p95" || p == "p99";
  const std::optional<Nanos> latency =
      ParseDuration(equals == std::string::npos ? text : text.substr(equals + 1));
  if (!known || !latency || latency->count() == 0 || equals == 0) {
    throw UsageError("option --slo: '" + text +
                     "' is not a latency such as 50ms, or p50=, p90=, p95= or p99= and one");
  }
  objective.latency = *latency;
  return objective;
}

Nanos Measured(const Objective& objective, const LatencyStats& latency) {
  if (objective.percentile == "p50") return latency.p50;
  if (objective.percentile == "p90") return latency.p90;
  if (objective.percentile == "p95") return latency.p95;
  return latency.p99;
}

const std::vector<Family>& Families() {
  static const auto* const kFamilies = new std::vector<Family>{
      {"queueing",
       {Cause::kAdmission, Cause::kBatching, Cause::kHigherPriority, Cause::kLowerPriorityInFlight,
        Cause::kCapacity, Cause::kDispatch, Cause::kResponseOrder}},
      {"imbalance", {Cause::kCoreImbalance}},
      {"fallback", {Cause::kFallback}},
      {"execution",
       {Cause::kPlanned, Cause::kBatchMates, Cause::kPadding, Cause::kLayout, Cause::kResidency,
        Cause::kLaunch, Cause::kThrottle, Cause::kContention}},
      {"unexplained", {Cause::kUnexplained}}};
  return *kFamilies;
}

double ShareOf(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double ClampedRate(const SimSummary& summary) {
  return ShareOf(summary.counts.clamped, summary.counts.submitted);
}

}  // namespace leeway::cli
