// Drift: how far the lengths that were observed have moved from what a plan was made for, and what
// that costs.
//
// The decision is by cost. `regret` is what the plan's buckets cost on the observed requests above
// what the best buckets of the same number would have; it drifted if that exceeds tau. Distances
// between distributions explain what moved and decide nothing: over services, the rank correlation
// of PSI with regret runs from -0.02 to 0.67.
//
// Dims are judged one at a time, the others held where the variants were compiled for them, so that
// regret is exact for plans that bucket one dim.
//
// Threading: DetectDrift() runs on the calling thread; concurrent calls share nothing.
// Time:      `since` counts from the telemetry's origin: the trace's in virtual time, the Unix
// epoch
//            in production.
// Errors:    returned. Telemetry that covers a plan in part is no error: notes and coverage say
// what
//            was not seen.

#ifndef LEEWAY_DRIFT_H_
#define LEEWAY_DRIFT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

struct DriftOptions {
  // Entry of the plan to judge; the only one that is not internal if empty.
  std::string entry = {};
  // Regret above which a dim has drifted.
  double tau = 0.03;
  // Cost of a request that no variant covers, relative to its useful work.
  double phi = 2;
  // Edges that a better plan could have are multiples of this.
  std::int64_t align = 1;
  // Prices work by the reference compiler's mapping to this device; without it, or where that
  // cannot map the model, the plan's own predictions do, and where it has none, tokens.
  std::optional<Device> device = {};
  // Seeds the simulated null distributions and the split of requests for cross-fitting.
  std::uint64_t seed = 0;
};

// What work was priced by.
enum class CostBasis { kTokens, kPlanProfile, kDevice };
// Returns "tokens", "plan_profile" or "device".
const char* CostBasisName(CostBasis basis);

// A distance from the plan's declared distribution, and what chance alone stays below in 999 of
// 1,000 samples of the observed size: simulated by seeded samples of the declared distribution,
// 4,000 of them, or 1,000 where it has more than 2,048 points.
struct Distance {
  double value = 0;
  double threshold = 0;
  bool above() const { return value > threshold; }
};

struct DimDrift {
  std::string dim;
  std::uint64_t requests = 0;
  // Upper ends of the variants' envelopes, rising.
  std::vector<std::int64_t> edges;

  // Null where the plan declares no distribution of the dim (its shape profile), or nothing was
  // seen. PSI and the Jensen-Shannon divergence (base 2) are over 12 octaves up to the domain's
  // end, half a request added to each; W1 is in units of the dim; KS is between the shares of work
  // at and below each length.
  std::optional<Distance> psi, js, wasserstein, work_ks;

  // Requests that no variant covers / requests.
  double out_of_envelope = 0;
  // 1 - useful work / work, fallback included.
  double padding_waste = 0;
  // Work / work under the best buckets of the same number that cover what the plan's cover, less 1.
  // Cross-fitted below 10,000 requests, so that chance makes it negative rather than positive; in
  // sample from there on.
  double regret = 0;
  // What the regret costs in core time, per second of the windows observed. Null where work is in
  // tokens.
  std::optional<double> cost_ns_per_s;
  // Start of the first window from which regret stayed above tau to the end, windows of fewer than
  // 1,000 requests joined to the next. Null unless `drifted` and the telemetry tells windows apart.
  std::optional<Instant> since;
  bool drifted = false;
};

// How much of the plan was seen at work.
struct DriftCoverage {
  // Variants of the entry, and those that cover some observed length in every dim judged.
  std::uint64_t variants = 0, variants_hit = 0;
  // Fusion groups of the entry's variants, and those launched. Null where the telemetry counts no
  // launches.
  std::uint64_t groups = 0;
  std::optional<std::uint64_t> groups_launched;
};

struct DriftReport {
  // Some dim has.
  bool drifted = false;
  // Dims that are bound at submit and not batched by sum or count, in the plan's order.
  std::vector<DimDrift> dims;
  DriftCoverage coverage;
  CostBasis basis = CostBasis::kTokens;
  std::optional<Origin> origin;
  // What was assumed, and what the telemetry did not tell.
  std::vector<std::string> notes;

  // Null if there is no such dim.
  const DimDrift* dim(std::string_view name) const;
};

// `telemetry` is a serialized leeway.telemetry snapshot of the plan. kInvalidArgument for an option
// out of range, bytes that are no snapshot (by field path) or are one that holds nothing;
// kFailedPrecondition for telemetry of another plan, or that a newer version wrote, or a device
// without a core for the plan; kNotFound for an entry that the plan lacks; kResourceExhausted for a
// snapshot past its bounds.
Result<DriftReport> DetectDrift(const Plan& plan, std::string_view telemetry,
                                const DriftOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_DRIFT_H_
