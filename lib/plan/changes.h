// The semantic difference of two plans, over their outlines.
//
// Threading: pure function.

#ifndef LEEWAY_PLAN_CHANGES_H_
#define LEEWAY_PLAN_CHANGES_H_

#include <optional>
#include <vector>

#include "leeway/plan_diff.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::plan {

// What a plan's groups are predicted to take; nothing where there is no prediction.
struct VariantTimes {
  std::optional<Nanos> total;
  std::vector<std::optional<Nanos>> groups;  // as listed in the message
};
// By entry and variant; empty: no predictions at all.
using PlanTimes = std::vector<std::vector<VariantTimes>>;

struct DiffSide {
  const Body& plan;
  const PlanTimes& times;
};

// O(n log n) in the size of both plans. `threshold` as in PlanDiffOptions.
PlanDiff DiffPlans(const DiffSide& before, const DiffSide& after, double threshold);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_CHANGES_H_
