// What differs between two plans: in what they mean, not in how they are written down.
//
// The order in which a file lists dims, tensors, entries, operators and groups, the spelling of an
// expression, a default that is written out, and the creation time and parent in the header are no
// difference. Everything else is one, fields that this version does not know included: where a plan
// has such, a change of kind kOther names their numbers.
//
// Threading: pure functions of immutable plans.
// Time:      predictions are the plans' own, or the device model's where one is given.

#ifndef LEEWAY_PLAN_DIFF_H_
#define LEEWAY_PLAN_DIFF_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/status.h"
#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

enum class PlanChangeKind {
  kHeader,
  kAnnotation,
  kDimAdded,
  kDimRemoved,
  kDim,
  kShapeProfile,
  kTensorAdded,
  kTensorRemoved,
  kTensor,
  kEntryAdded,
  kEntryRemoved,
  kEntry,
  kOperatorAdded,
  kOperatorRemoved,
  kOperator,
  kVariantAdded,
  kVariantRemoved,
  // Another variant comes first: the fallback takes its cores and shards.
  kVariantOrder,
  kEnvelope,
  kShapeMode,
  kConstraint,
  kNumerics,
  kArena,
  kSchedule,
  kLayout,
  kResidency,
  kElided,
  kGroupAdded,
  kGroupRemoved,
  // The same operators under another name.
  kGroupRenamed,
  // Groups that together hold the operators of one, or the other way round.
  kGroupSplit,
  kGroupMerged,
  kOperatorMoved,
  // The operators of a group run in another order.
  kOperatorOrder,
  kRecomputed,
  // A call runs another variant.
  kCall,
  kPlacement,
  kShards,
  kTiling,
  kKernel,
  kGroupWork,
  // The profile or the predicted time of a group; the predicted time of all groups of a variant.
  kPrediction,
  kTotalPrediction,
  kOther,
};

// Returns the kind's word in JSON and on the screen, e.g. "operator_moved". Words do not change.
std::string_view PlanChangeWord(PlanChangeKind kind);

struct PlanChange {
  PlanChangeKind kind = PlanChangeKind::kOther;
  // Field paths, e.g. "entries[0].variants[1].fusion_groups[3].placement"; empty where the plan has
  // no such place.
  std::string before_path, after_path;
  // One line, lower case: the object by name and both values, long ones shortened.
  std::string text;
  // The values in full; empty where there is none.
  std::string before, after;
  // Predictions only: after / before - 1, where both are above zero.
  std::optional<double> ratio;
};

struct PlanDiff {
  // By part (header, dims, tensors, entries with their operators, variants and groups), each by
  // name, so that equal plans give equal changes wherever they list what.
  std::vector<PlanChange> changes;
  // Predictions that differ by less than the threshold, not among the changes.
  std::size_t small_predictions = 0;
  // False and without changes: the plans mean the same and are written differently.
  bool same_digest = true;
};

struct PlanDiffOptions {
  // Predicts groups without a profile of their own, in both plans; borrowed for the call. Null:
  // such groups have no prediction to compare.
  const Device* device = nullptr;
  // Where predictions are compared; dims that are not named are at each variant's opt. A variant
  // that does not cover them has none.
  Dims at = {};
  // A prediction that moves by less is only counted. Of the larger over the smaller, so that it
  // does not matter which plan comes first.
  double threshold = 0;
};

// Returns the changes from `before` to `after`, predictions included that the plans state.
PlanDiff Diff(const Plan& before, const Plan& after);

// kInvalidArgument for a dim of `at` that neither plan has or whose value leaves its domain in a
// plan that has it, and for a threshold that is negative or not finite.
Result<PlanDiff> Diff(const Plan& before, const Plan& after, const PlanDiffOptions& options);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_PLAN_DIFF_H_
