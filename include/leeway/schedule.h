// Makespans of task graphs on identical cores: by the scheduling policy as it runs, and by the
// placer that plans ahead.
//
// Threading: pure functions.
// Determinism: equal graphs and options give equal results, on every machine.

#ifndef LEEWAY_SCHEDULE_H_
#define LEEWAY_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "leeway/policy.h"
#include "leeway/status.h"
#include "leeway/task_graph.h"
#include "leeway/time.h"

namespace leeway {
inline namespace v0 {

struct ScheduleOptions {
  std::uint32_t cores = 1;  // 1 to 256
  // False: the online policy, which knows of a task when what it waits for has ended, in virtual
  // time without launch, sharing or move costs. True: the placer, which knows all at once.
  bool optimize = false;
  // The online policy.
  Policy policy = Policy::kLeeway;
  // Of the placer: its seed, and how many schedules it may build.
  std::uint64_t seed = 0;
  std::uint64_t budget = 2000;
};

struct TaskSchedule {
  struct Placed {
    std::uint32_t core = 0;
    Nanos start{0};
  };
  Nanos makespan{0};
  // No schedule is shorter. Equal to the makespan: that one is optimal.
  Nanos lower_bound{0};
  std::vector<Placed> placed;   // by task
  std::uint64_t steals = 0;     // of the online policy
  std::uint64_t schedules = 0;  // that the placer built
};

// kInvalidArgument for options out of bounds, a graph without tasks, a task of no time, one that
// waits for itself or for none there is, or a cycle, of which one is named; kOutOfRange where the
// sum of the times exceeds 2^62 ns.
Result<TaskSchedule> Schedule(const TaskGraph& graph, const ScheduleOptions& options);

// Returns the greatest of these bounds: the longest path; the work shared evenly; of the km + 1
// longest tasks the k + 1 shortest, for two of them share a core (m cores, k >= 1); and for the
// tasks with at least a certain time before them and a certain time after, those two times and
// their work shared evenly between (Fernandez and Bussell, IEEE Trans. Computers 1973, coarsened).
// Errors as Schedule().
Result<Nanos> MakespanBound(const TaskGraph& graph, std::uint32_t cores);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_SCHEDULE_H_
