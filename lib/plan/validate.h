// What can only be checked between the parts of a plan, and the derived parts of a Body: who waits
// for whom, what a group reads and writes, topological orders.
//
// Threading: pure functions of their arguments.

#ifndef LEEWAY_PLAN_VALIDATE_H_
#define LEEWAY_PLAN_VALIDATE_H_

#include <vector>

#include "plan/body.h"
#include "plan/findings.h"
#include "plan/graph.h"

namespace leeway::plan {

// In place of an operator's owner: the variant elides it.
inline constexpr Index kElided = kNone - 1;

// Checks a body as ReadPlan leaves it and completes it. A body with findings stays incomplete.
// O(plan) time and memory.
void Validate(Body& body, Findings& findings);

// Every CALL runs an entry that does not call back, in a variant whose envelope covers its
// caller's (see Body::CalledVariant).
void CheckCalls(const Body& body, Findings& findings);

// HOST work shares no group with work of an accelerator's core.
void CheckHostWork(const Body& body, Findings& findings);

// No run launches more than kMaxRunSteps where its dims are largest, fused or as the fallback.
void CheckSteps(const Body& body, Findings& findings);

// Every OUTPUT is written by an operator, and some entry is there for requests.
void CheckReachable(const Body& body, Findings& findings);

// Warnings: what is allowed, and yet is rarely meant. Dimensions and tensors that nothing uses,
// internal entries that nothing calls, variants that no request can get.
void WarnOfUnused(const Body& body, Findings& findings);
// Operators of the entry whose results nothing reads and that nothing waits for.
void WarnOfDeadOperators(const Body& body, const TensorUses& uses, const Path& path,
                         const Entry& entry, Findings& findings);

// Work that comparing the lifetimes of tensors in arenas may still take, of a whole plan.
using LifetimeBudget = std::size_t;

// What VariantChecker::Check knows of the groups of a variant before they are sorted.
struct LinkedVariant {
  const Body& body;
  const Entry& entry;
  const TensorUses& uses;
  const Variant& variant;
  // By operator: the group that owns it, or kElided.
  const std::vector<Index>& owner;
};

// A core has one order, each group is in it once and in no more orders than it has shards, and the
// orders and waits of the schedule can be kept. Returns whether all of that holds. O(variant).
bool CheckSchedule(const Path& path, const LinkedVariant& linked, Findings& findings);

// Tensors whose bytes overlap in an arena are never needed at the same time: whatever uses one of
// them has ended before the other is written, or it is read last by the group that writes the other
// in its place. Requires a schedule without findings. O(n log n) in the variant, and the budget: a
// warning says so where that runs out.
void CheckArenas(const Path& path, const LinkedVariant& linked, LifetimeBudget& budget,
                 Findings& findings);

// Checks the variants of one entry whose operators are linked and acyclic: coverage, convexity.
class VariantChecker {
 public:
  // `order` is a topological order of the entry's operators. Borrows everything.
  VariantChecker(const Body& body, const Entry& entry, const TensorUses& uses,
                 const std::vector<Index>& order, LifetimeBudget& budget, Findings& findings);

  // Reports, or completes the variant: predecessors, reads and writes of groups; groups sorted.
  void Check(const Path& path, Variant& variant);

 private:
  void AssignOwners(const Path& path, const Variant& variant);
  void AssignGroup(const Path& path, const Variant& variant, Index group);
  void CheckCoverage(const Path& path);
  void LinkElided(const Path& path, const Variant& variant);
  void LinkGroups(const Path& path, Variant& variant);
  // Adds every group that operator `op` must wait for, other than `self`. Returns false once
  // elided operators multiply the waits beyond a bound.
  bool AddSources(const Operator& op, Index self, std::vector<Index>& sources);
  void ReportElidedEdges(const Path& path);
  // What the order of the groups must allow.
  void CheckOrder(const Path& path, const Variant& variant);
  // Reports groups that wait for each other: the path of operators by which one of them leaves and
  // comes back or, where each is left through other operators than it is entered by, the groups.
  void ReportCycle(const Path& path, const Variant& variant, const std::vector<Index>& cycle);
  // Returns operators of a path from the group through others back into it; empty if there is none.
  std::vector<Index> PathOutAndBack(const Group& group, Index index);
  void SortGroups(const std::vector<Index>& order, Variant& variant);
  void Mark(const Group& group);
  bool InMarked(Index op) const { return op != kNone && in_group_[op] == stamp_; }
  void CollectReads(Variant& variant);
  void CollectWrites(Variant& variant);
  void CollectConverts(const std::vector<Index>& order, Variant& variant);
  void MarkElidedReads(const Variant& variant);
  void Reset(const Variant& variant);

  // The group that alone consumes an elided operator, kNone, or kMany.
  Index& ConsumerOf(Index op) { return elided_[elided_at_[op]].consumer; }

  struct ElidedState {
    std::vector<Index> sources;  // groups
    Index consumer = kNone;
  };

  const Body& body_;
  const Entry& entry_;
  const TensorUses& uses_;
  std::vector<Index> position_;  // of operators in the topological order
  LifetimeBudget& budget_;
  Findings& findings_;

  // By operator: the group that owns it, kNone, or kElided.
  std::vector<Index> owner_;
  std::size_t covered_ = 0;  // operators with an owner, or elided
  bool resolved_ = true;     // every operator that a group lists exists
  std::vector<Index> elided_at_;
  std::vector<ElidedState> elided_;
  std::size_t elided_edges_ = 0;
  // By operator: the stamp of the last group that lists it, and that recomputes it.
  std::vector<Index> in_group_, recomputed_;
  Index stamp_ = 0;
  // By tensor slot.
  std::vector<Index> read_by_;
  std::vector<char> stored_;  // read by a group other than its producer's
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_VALIDATE_H_
