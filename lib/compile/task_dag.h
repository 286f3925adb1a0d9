// A checked task graph, and what follows from its paths.
//
// Threading: immutable.

#ifndef LEEWAY_COMPILE_TASK_DAG_H_
#define LEEWAY_COMPILE_TASK_DAG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leeway/status.h"
#include "leeway/task_graph.h"

namespace leeway::compile {

class TaskDag {
 public:
  // kInvalidArgument for no tasks, a task of no time, one that waits for itself or for none there
  // is, or a cycle, of which one is named; kResourceExhausted beyond the bounds of a TaskGraph;
  // kOutOfRange where the sum of the times exceeds 2^62 ns.
  static Result<TaskDag> Make(const TaskGraph& graph);

  std::size_t size() const { return times_.size(); }
  std::int64_t time(std::uint32_t task) const { return times_[task]; }
  std::int64_t work() const { return work_; }
  std::span<const std::uint32_t> successors(std::uint32_t task) const { return after_.Of(task); }
  std::span<const std::uint32_t> predecessors(std::uint32_t task) const { return before_.Of(task); }
  // Every task after those that it waits for.
  const std::vector<std::uint32_t>& order() const { return order_; }
  // The longest path to each task's start, and from each task's end.
  const std::vector<std::int64_t>& heads() const { return heads_; }
  const std::vector<std::int64_t>& tails() const { return tails_; }
  std::int64_t longest_path() const { return longest_path_; }

  // The same with time running backwards.
  TaskDag Reversed() const;

 private:
  struct Edges {
    std::vector<std::uint32_t> first, to;
    std::span<const std::uint32_t> Of(std::uint32_t task) const {
      return {to.data() + first[task], to.data() + first[task + 1]};
    }
  };

  std::vector<std::int64_t> times_;
  std::int64_t work_ = 0;
  Edges after_, before_;
  std::vector<std::uint32_t> order_;
  std::vector<std::int64_t> heads_, tails_;
  std::int64_t longest_path_ = 0;
};

// Bounds from below the makespan of any schedule on identical cores; see MakespanBound() in
// leeway/schedule.h.
std::int64_t LowerBound(const TaskDag& dag, std::uint32_t cores);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_TASK_DAG_H_
