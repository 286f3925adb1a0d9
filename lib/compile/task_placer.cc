#include "compile/task_placer.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "base/check.h"

namespace leeway::compile {
namespace {

using Timed = std::pair<std::int64_t, std::uint32_t>;
using Earliest = std::priority_queue<Timed, std::vector<Timed>, std::greater<>>;

}  // namespace

TaskPlacer::TaskPlacer(const TaskDag& dag, std::uint32_t cores)
    : dag_(dag), reversed_(dag.Reversed()), cores_(cores) {
  LEEWAY_CHECK(cores > 0);
}

PlacedTasks TaskPlacer::InOrder(const TaskDag& dag, const Ranks& ranks) {
  ++schedules_;
  PlacedTasks placed;
  placed.start.assign(dag.size(), 0);
  std::vector<std::uint32_t> waits(dag.size());
  Earliest ready, running;  // by rank; by end
  for (std::uint32_t task = 0; task < dag.size(); ++task) {
    waits[task] = static_cast<std::uint32_t>(dag.predecessors(task).size());
    if (waits[task] == 0) ready.emplace(ranks[task], task);
  }
  std::int64_t now = 0;
  while (!ready.empty() || !running.empty()) {
    while (!ready.empty() && running.size() < cores_) {
      const std::uint32_t task = ready.top().second;
      ready.pop();
      placed.start[task] = now;
      running.emplace(now + dag.time(task), task);
    }
    now = running.top().first;
    while (!running.empty() && running.top().first == now) {
      const std::uint32_t task = running.top().second;
      running.pop();
      for (const std::uint32_t next : dag.successors(task)) {
        if (--waits[next] == 0) ready.emplace(ranks[next], next);
      }
    }
  }
  placed.makespan = now;
  return placed;
}

PlacedTasks TaskPlacer::ByBottomLevel() {
  Ranks ranks(dag_.size());
  for (std::uint32_t task = 0; task < dag_.size(); ++task) {
    ranks[task] = -(dag_.time(task) + dag_.tails()[task]);
  }
  return InOrder(dag_, ranks);
}

void TaskPlacer::Keep(const PlacedTasks& placed) {
  if (placed.makespan < best_.makespan) best_ = placed;
}

// To and fro while that helps.
PlacedTasks TaskPlacer::Justified(PlacedTasks placed) {
  constexpr int kRounds = 8;
  Ranks ranks(dag_.size());
  for (int round = 0; round < kRounds && !done(); ++round) {
    const std::int64_t before = placed.makespan;
    // With time running backwards what ended last goes first.
    for (std::uint32_t task = 0; task < dag_.size(); ++task) {
      ranks[task] = -(placed.start[task] + dag_.time(task));
    }
    PlacedTasks back = InOrder(reversed_, ranks);
    for (std::uint32_t task = 0; task < dag_.size(); ++task) {
      back.start[task] = back.makespan - back.start[task] - dag_.time(task);
    }
    Keep(back);
    if (done()) return back;
    placed = InOrder(dag_, back.start);
    Keep(placed);
    if (placed.makespan >= before) break;
  }
  return placed;
}

// The order of a schedule's starts, with a few tasks moved far or all of them a little.
TaskPlacer::Ranks TaskPlacer::Moved(const PlacedTasks& placed, base::Prng& prng) const {
  Ranks ranks = placed.start;
  // About the time of one task.
  const auto count = static_cast<std::int64_t>(dag_.size());
  const std::int64_t span =
      std::max<std::int64_t>(2, placed.makespan / std::max<std::int64_t>(4, count / cores_));
  auto move = [&](std::size_t task, std::int64_t reach) {
    const auto width = static_cast<std::uint64_t>(2 * reach + 1);
    ranks[task] += static_cast<std::int64_t>(prng.Below(width)) - reach;
  };
  if (prng.Below(3) == 0) {
    const auto reach =
        static_cast<std::int64_t>(1 + prng.Below(static_cast<std::uint64_t>(span) / 2));
    for (std::size_t task = 0; task < ranks.size(); ++task) move(task, reach);
  } else {
    for (std::uint64_t moves = 1 + prng.Below(4); moves > 0; --moves) {
      move(prng.Below(ranks.size()), 2 * span);
    }
  }
  return ranks;
}

PlacedTasks TaskPlacer::Improved(std::uint64_t seed, std::uint64_t budget, std::int64_t bound) {
  budget_ = schedules_ + std::max<std::uint64_t>(1, budget);
  bound_ = bound;
  best_ = ByBottomLevel();
  base::Prng prng(seed);
  PlacedTasks current = Justified(best_);
  while (!done()) {
    PlacedTasks next = InOrder(dag_, Moved(current, prng));
    Keep(next);
    if (done()) break;
    next = Justified(std::move(next));
    // Now and then a longer one is taken, to get away from where nothing helps.
    if (next.makespan <= current.makespan || prng.Below(50) == 0) current = std::move(next);
  }
  return best_;
}

std::vector<std::uint32_t> CoresOf(const PlacedTasks& placed, const TaskDag& dag,
                                   std::uint32_t cores) {
  std::vector<std::uint32_t> order(dag.size()), core_of(dag.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return placed.start[a] < placed.start[b];
  });
  Earliest free;  // by when, then by number
  for (std::uint32_t core = 0; core < cores; ++core) free.emplace(0, core);
  for (const std::uint32_t task : order) {
    const auto [since, core] = free.top();
    LEEWAY_CHECK(since <= placed.start[task]);
    free.pop();
    core_of[task] = core;
    free.emplace(placed.start[task] + dag.time(task), core);
  }
  return core_of;
}

}  // namespace leeway::compile
