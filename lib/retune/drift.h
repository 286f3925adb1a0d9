// Drift of a plan from a snapshot of what it met: the body of leeway::DetectDrift().
//
// Threading: pure functions.

#ifndef LEEWAY_RETUNE_DRIFT_H_
#define LEEWAY_RETUNE_DRIFT_H_

#include <memory>

#include "base/prng.h"
#include "leeway/drift.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "retune/bucketing.h"
#include "retune/plan_buckets.h"
#include "retune/regret.h"
#include "telemetry/snapshot.h"

namespace leeway::retune {

// Returns the regret of the plan's buckets on a window: cross-fitted where HalvesOf() gives halves
// (drawn by `prng` where the order is not known), else in sample. `spec` bounds the optimum.
double PlanRegret(const PlanBuckets& buckets, const TrafficWindow& window, const BucketSpec& spec,
                  base::Prng& prng);

// Returns the spec of the best buckets that could replace these: as many, of no lower top edge.
BucketSpec ReplacementSpec(const PlanBuckets& buckets, CostFn cost, double phi, std::int64_t align);

// kInvalidArgument for an option out of range, naming it and its bound.
Status CheckCommon(double tau, double phi, std::int64_t align);

// Errors as leeway::DetectDrift(), parsing apart.
Result<DriftReport> DetectDrift(const std::shared_ptr<const plan::Body>& plan,
                                const telemetry::Snapshot& snapshot, const DriftOptions& options);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_DRIFT_H_
