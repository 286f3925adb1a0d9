// When to change buckets. A policy sees each window as it closes and says what serves the next
// one: the plan that served, a plan of the library, or a new one. The study (bucket_study.h) and
// the loop experiment drive the same policies; what work costs comes from outside in BucketSpec.
//
// Words: the library holds every plan built so far, plan 0 first, the optimum of window 0. A
// switch goes to a plan of the library and costs no compile. A compile adds a plan. Fitting edges
// to score a candidate is neither.
//
// Threading: a policy belongs to one thread at a time.

#ifndef LEEWAY_RETUNE_BUCKET_POLICY_H_
#define LEEWAY_RETUNE_BUCKET_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "leeway/status.h"
#include "retune/bucketing.h"
#include "retune/length_histogram.h"
#include "retune/regret.h"

namespace leeway::retune {

struct PlanLibrary {
  std::vector<Edges> plans;
  std::size_t current = 0;

  const Edges& serving() const { return plans[current]; }
};

struct ScoredPlan {
  std::size_t plan = 0;
  double cost = 0;
};

// Returns the cheapest plan of the library for `lengths`; of equal ones the serving plan, then the
// oldest. Requires a library that is not empty.
ScoredPlan BestPlan(const PlanLibrary& library, const LengthHistogram& lengths,
                    const BucketSpec& spec);

struct BucketDecision {
  enum class Kind { kKeep, kSwitch, kCompile };

  static BucketDecision Keep() { return {}; }
  static BucketDecision Switch(std::size_t plan) { return {Kind::kSwitch, plan, {}}; }
  static BucketDecision Compile(Edges edges) { return {Kind::kCompile, 0, std::move(edges)}; }

  Kind kind = Kind::kKeep;
  std::size_t plan = 0;  // of kSwitch: an index into the library
  Edges edges;           // of kCompile
};

class BucketPolicy {
 public:
  virtual ~BucketPolicy() = default;
  // Returns plan 0 and takes the first window as history. Called once, before Close().
  virtual Edges Begin(const TrafficWindow& first) = 0;
  // Returns what serves the next window. Called for every later window, in order, none of them
  // empty, with the library as the caller has it: a caller that could not compile leaves it as it
  // was, and the policy may ask again.
  virtual BucketDecision Close(const TrafficWindow& window, const PlanLibrary& library) = 0;
};

struct BucketPolicyOptions {
  BucketSpec spec;
  // tau: the least relative saving that REF and REFx act on.
  double threshold = 0.03;
  // The domain's largest length, for the ladders.
  std::int64_t max_length = 0;
  // Seeds the thinning of windows without an arrival order.
  std::uint64_t seed = 0;
};

// Returns the policy of that name; kInvalidArgument for an unknown one, a threshold below 0 or a
// ladder without max_length.
//   frozen       window 0's plan for ever
//   ref          RETUNING's reference: candidate optimal for 0.75 · last window + 0.25 · EWMA of
//                24 windows, adopted when the serving plan costs the last window tau more
//   refx         ref with the saving cross-fitted
//   library      a library of 8 plans, switch only: the candidates of windows 3, 6 … 21 are
//                compiled unseen (on hourly windows: the first day, every third hour); each window
//                is served by the plan that was best on the one before
//   pow2, exponential   the ladders, for ever
//   leeway       the default (leeway_policy.h)
Result<std::unique_ptr<BucketPolicy>> MakeBucketPolicy(std::string_view name,
                                                       const BucketPolicyOptions& options);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_BUCKET_POLICY_H_
