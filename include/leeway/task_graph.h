// Task graphs: tasks that each take a core for a time, and which of them wait for which. What
// scheduling theory schedules, and what its published graphs are made of.
//
// Threading: values; pure functions.

#ifndef LEEWAY_TASK_GRAPH_H_
#define LEEWAY_TASK_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway {
inline namespace v0 {

class Device;
class Plan;

struct Task {
  std::string name;
  Nanos time{0};                     // at least 1 ns
  std::vector<std::uint32_t> after;  // indices of tasks that must have ended
};

struct TaskGraph {
  static constexpr std::size_t kMaxTasks = std::size_t{1} << 20;
  static constexpr std::size_t kMaxEdges = std::size_t{1} << 24;

  std::vector<Task> tasks;
};

// Parses the Standard Task Graph Set's form (Tobita and Kasahara, Journal of Scheduling 2002): the
// number of tasks, then for each, the dummies before the first and after the last included, a line
// of its number, time, number of predecessors and their numbers; '#' begins a comment. Tasks of no
// time, as the dummies are, are left out: who waited for them waits for what they waited for. One
// unit of time is a nanosecond.
// kInvalidArgument names `name`, the line and what is wrong there; kResourceExhausted beyond the
// bounds of a TaskGraph.
Result<TaskGraph> ParseTaskGraph(std::string_view text, std::string_view name);

// Returns the steps of one run of a plan as tasks: every shard of every group, repetitions of calls
// one after the other, for the entry's first variant at its opt dims and batch of one; times as the
// plan predicts them, or where it does not, as the device model does.
// kFailedPrecondition without a variant; the cost model's errors; kResourceExhausted beyond bounds.
Result<TaskGraph> TaskGraphOf(const Plan& plan, const Device& device);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_TASK_GRAPH_H_
