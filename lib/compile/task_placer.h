// The plan-time placer: schedules of a task graph on identical cores when all of it is known.
//
// It starts from the list schedule by bottom level (Graham, SIAM J. Applied Mathematics 1969; Hu,
// Operations Research 1961) and improves it by what resource-constrained project scheduling found
// to pay: the schedule is justified to and fro, each time in the order in which the one before
// ended (Li and Willis, EJOR 1992; Valls, Ballestín and Quintanilla, EJOR 2005), then a few tasks
// are moved in its order at random and it is justified again, kept where it is no longer.
//
// Threading: one thread at a time.

#ifndef LEEWAY_COMPILE_TASK_PLACER_H_
#define LEEWAY_COMPILE_TASK_PLACER_H_

#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "compile/task_dag.h"

namespace leeway::compile {

struct PlacedTasks {
  std::int64_t makespan = 0;
  std::vector<std::int64_t> start;  // by task
};

class TaskPlacer {
 public:
  // `dag` outlives the placer.
  TaskPlacer(const TaskDag& dag, std::uint32_t cores);

  // Returns the list schedule by bottom level: at every instant the ready task of the longest way
  // to the end goes first, of equals the one listed first.
  PlacedTasks ByBottomLevel();
  // Returns the best of at most `budget` schedules; fewer are built where one attains `bound`.
  PlacedTasks Improved(std::uint64_t seed, std::uint64_t budget, std::int64_t bound);

  std::uint64_t schedules() const { return schedules_; }

 private:
  // What goes first: the smaller, of equals the one listed first.
  using Ranks = std::vector<std::int64_t>;

  PlacedTasks InOrder(const TaskDag& dag, const Ranks& ranks);
  PlacedTasks Justified(PlacedTasks placed);
  Ranks Moved(const PlacedTasks& placed, base::Prng& prng) const;
  bool done() const { return schedules_ >= budget_ || best_.makespan <= bound_; }
  void Keep(const PlacedTasks& placed);

  const TaskDag& dag_;
  TaskDag reversed_;
  std::uint32_t cores_;
  std::uint64_t schedules_ = 0, budget_ = 0;
  std::int64_t bound_ = 0;
  PlacedTasks best_;
};

// Returns a core for every task, such that no two of one core overlap. Requires a schedule on
// `cores` cores.
std::vector<std::uint32_t> CoresOf(const PlacedTasks& placed, const TaskDag& dag,
                                   std::uint32_t cores);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_TASK_PLACER_H_
