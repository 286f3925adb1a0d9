#include "compile/placement.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/prng.h"
#include "compile/task_dag.h"
#include "compile/task_placer.h"
#include "tests/catch.h"
#include "tests/support/check_schedule.h"
#include "tests/support/known_graphs.h"
#include "tests/support/task_graphs.h"

namespace leeway::compile {
namespace {

struct Groups {
  std::vector<FusedGroup> groups;
  std::vector<Nanos> times;
  std::vector<bool> calls;
};

Groups GroupsOf(const leeway::TaskGraph& graph) {
  Groups all;
  for (const leeway::Task& task : graph.tasks) {
    FusedGroup& fused = all.groups.emplace_back();
    fused.group.predecessors.assign(task.after.begin(), task.after.end());
    fused.choice.shards = 1;
    all.times.push_back(task.time);
  }
  all.calls.assign(graph.tasks.size(), false);
  return all;
}

// When each group starts if it does so as soon as what it depends on has ended and the one before
// it in its core's order has.
std::vector<Nanos> StartsOf(const leeway::TaskGraph& graph, const plan::Schedule& schedule) {
  std::vector<Nanos> start(graph.tasks.size(), Nanos{0});
  // As often as a way through the graph may be long; most graphs settle far earlier.
  for (bool moved = true; moved;) {
    moved = false;
    const auto after = [&](std::size_t task, std::size_t before) {
      const Nanos end = start[before] + graph.tasks[before].time;
      if (start[task] >= end) return;
      start[task] = end;
      moved = true;
    };
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      for (const std::uint32_t before : graph.tasks[task].after) after(task, before);
    }
    for (const plan::CoreOrder& list : schedule.cores) {
      for (std::size_t i = 1; i < list.groups.size(); ++i) {
        after(list.groups[i], list.groups[i - 1]);
      }
    }
  }
  return start;
}

// By group: the core whose order has it. Checks that it is in one, and is planned there first.
std::vector<std::uint32_t> CoresOf(const plan::Schedule& schedule,
                                   const std::vector<FusedGroup>& groups) {
  std::vector<std::uint32_t> core_of(groups.size());
  std::vector<int> listed(groups.size(), 0);
  for (const plan::CoreOrder& list : schedule.cores) {
    for (const plan::Index g : list.groups) {
      ++listed[g];
      core_of[g] = list.core.index.value();
      const plan::CoreRef& first = groups[g].group.placement.cores.at(0);
      CHECK(first.index == list.core.index);
      CHECK(first.core_class == list.core.core_class);
    }
  }
  CHECK(listed == std::vector<int>(groups.size(), 1));
  return core_of;
}

}  // namespace

TEST_CASE(
    "groups of one core each end when the schedule of their cores lets them, near the optimum",
    "[compile][schedule]") {
  constexpr std::int64_t kLength = 100'000;
  double gap = 0;
  int graphs = 0, scheduled = 0;
  for (const std::uint32_t cores : {2u, 4u}) {
    const auto device = leeway::testing::DeviceOf({.cores = cores});
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(cores, seed);
      base::Prng prng(seed);
      const leeway::TaskGraph graph =
          leeway::testing::CutFromIdeal(prng, 14 * cores, cores, 2, kLength);
      Groups all = GroupsOf(graph);
      const PlacedGroups placed = PlaceGroups(all.groups, all.times, all.calls, *device);
      const TaskDag dag = TaskDag::Make(graph).value();
      CHECK(placed.end.count() >= kLength);
      CHECK(placed.end.count() <= TaskPlacer(dag, cores).ByBottomLevel().makespan);
      gap += static_cast<double>(placed.end.count()) / kLength - 1;
      ++graphs;
      if (placed.schedule.cores.empty()) continue;
      ++scheduled;
      const std::vector<Nanos> starts = StartsOf(graph, placed.schedule);
      CHECK(leeway::testing::CheckPlaced(graph, starts, CoresOf(placed.schedule, all.groups),
                                         cores) <= placed.end);
    }
  }
  CHECK(scheduled > graphs / 2);  // the list schedule alone is seldom the optimum
  CHECK(gap / graphs <= 0.003);
}

TEST_CASE("calls, shards and chains are planned as they come, without a schedule",
          "[compile][schedule]") {
  const auto device = leeway::testing::DeviceOf({.cores = 2});
  base::Prng prng(1);
  const leeway::TaskGraph graph = leeway::testing::CutFromIdeal(prng, 30, 2, 2, 100'000);
  const auto orders = [&](auto change) {
    Groups all = GroupsOf(graph);
    change(all);
    return PlaceGroups(all.groups, all.times, all.calls, *device).schedule.cores.size();
  };
  CHECK(orders([](Groups&) {}) == 2);
  CHECK(orders([](Groups& all) { all.calls[3] = true; }) == 0);
  CHECK(orders([](Groups& all) { all.groups[3].choice.shards = 2; }) == 0);
  CHECK(orders([](Groups& all) {
          for (std::size_t g = 1; g < all.groups.size(); ++g) {
            all.groups[g].group.predecessors = {static_cast<plan::Index>(g - 1)};
          }
        }) == 0);
}

}  // namespace leeway::compile
