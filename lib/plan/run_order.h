// Which groups of a variant have ended before which others start, by what they depend on and by the
// variant's schedule.
//
// Threading: a RunOrder belongs to one thread.
// Lifetime:  borrows the variant.

#ifndef LEEWAY_PLAN_RUN_ORDER_H_
#define LEEWAY_PLAN_RUN_ORDER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "plan/body.h"

namespace leeway::plan {

class RunOrder {
 public:
  // Which lists of the schedule count. In each the cores start groups in this order; where a list
  // is of one core, each group has ended there before the next starts.
  enum class Lists { kAll, kOfOneCore };

  // Requires dependencies without a cycle, and lists that name a group at most once.
  // O(groups + dependencies + schedule).
  RunOrder(const Variant& variant, Lists lists);

  // Where lists and waits contradict each other or the dependencies: groups each of which waits for
  // the one before, why, and the first again. Empty where nothing does.
  std::string Deadlock() const;

  // The rest requires that there is no deadlock.

  // Lower for a group than for all that start once it has ended.
  Index Position(Index group) const;

  // Returns whether all of `group` starts after all of `before` has ended. Takes what it looks at
  // off the budget; once that is used up it returns true.
  bool Precedes(Index before, Index group, std::size_t& budget);

 private:
  // A group is one node or, where several lists name it, one for its end, one that its parts wait
  // at, and one for each part. Node g is the end of group g.
  struct Node {
    Index group = 0;
    Index list = 0;  // kNone if it is in none
  };

  void AddNodes(Lists lists);
  void AddEdges(Lists lists);
  // Calls visit(node, needed) for every edge.
  template <typename Visit>
  void ForEachEdge(Lists lists, Visit visit) const;
  void FindBackbone();
  // Why `node` needs `needed`, a node of another group.
  std::string Reason(Index needed, Index node) const;
  // The node of the group's first part: its only node where it has no several.
  Index FirstPart(Index group) const;
  bool Reaches(Index from, Index to, std::size_t& budget);

  const Variant& variant_;
  std::vector<Node> nodes_;
  // By group: the node that its dependencies lead to, and its parts, which follow that node, where
  // it has several.
  std::vector<Index> entry_node_, parts_;
  // Node n needs needed_[first_[n]] up to needed_[first_[n + 1]].
  std::vector<Index> first_, needed_;
  std::vector<Index> cycle_;
  std::vector<Index> order_, position_;
  // By node, on a longest way through the order: the first node that needs it, and one more than
  // the last that it needs. Most questions are answered by these.
  std::vector<Index> joins_, leaves_;
  std::vector<Index> seen_;
  Index stamp_ = 0;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_RUN_ORDER_H_
