// The dependency graph of an entry: who writes and reads each tensor, and in which order operators
// and groups can run.
//
// Threading: pure functions and values of one thread.

#ifndef LEEWAY_PLAN_GRAPH_H_
#define LEEWAY_PLAN_GRAPH_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/body.h"
#include "plan/findings.h"

namespace leeway::plan {

inline constexpr Index kNone = static_cast<Index>(-1);

struct Order {
  // Every node after its predecessors; the identity where that is one. Empty if there is a cycle.
  std::vector<Index> nodes;
  // Nodes of one cycle, each needed by the next and the last by the first.
  std::vector<Index> cycle;
};

// O(nodes + edges), without recursion.
Order TopologicalOrder(std::size_t nodes,
                       const std::function<std::span<const Index>(Index)>& predecessors);

// Turns a cycle so that it starts at its smallest node.
void StartAtSmallest(std::vector<Index>& cycle);

// Returns `"a" -> "b" -> "c"`, shortened in the middle where it is long; `show` gives what stands
// for a node.
std::string ShowPath(std::span<const Index> path, const std::function<std::string(Index)>& show);
// As ShowPath with quoted names, and back to the first node.
std::string ShowCycle(const std::vector<Index>& cycle,
                      const std::function<std::string_view(Index)>& name);

// Who writes and reads each tensor of one entry.
class TensorUses {
 public:
  // `slots` has a kNone for every tensor of the plan; it is borrowed, and as it was afterwards.
  TensorUses(const Body& body, const Entry& entry, std::vector<Index>& slots);
  ~TensorUses();
  TensorUses(const TensorUses&) = delete;
  TensorUses& operator=(const TensorUses&) = delete;

  // Of tensors that occur in the entry: a dense number, the operator that writes it first (of a
  // view that none writes, the one that writes what it views) or kNone, and whether any reads it
  // or a view of it.
  Index Slot(Index tensor) const { return slots_[tensor]; }
  Index Producer(Index tensor) const { return producers_[slots_[tensor]]; }
  bool IsRead(Index tensor) const { return read_[slots_[tensor]] != 0; }
  // The tensor that is in memory for `tensor`: of a view that no operator writes, what it views.
  Index Stored(Index tensor) const;
  std::size_t size() const { return tensors_.size(); }

 private:
  void Touch(Index tensor);

  const Body& body_;
  std::vector<Index>& slots_;
  std::vector<Index> tensors_;  // by slot
  std::vector<Index> writers_;  // by slot: of the tensor itself
  std::vector<Index> producers_;
  std::vector<char> read_;
};

// Adds to each operator's predecessors, which hold control edges, the producers of its inputs, and
// sorts them. Operators order their uses of a STATE tensor as they are listed: a reader after the
// writers before it, a writer after everything before it.
// Reports tensors that two operators produce or none, one that an operator lists twice among its
// outputs, and writes to inputs and weights.
void LinkOperators(const Body& body, const TensorUses& uses, const Path& path, Entry& entry,
                   Findings& findings);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_GRAPH_H_
