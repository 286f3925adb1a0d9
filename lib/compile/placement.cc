#include "compile/placement.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "compile/task_dag.h"
#include "compile/task_placer.h"

namespace leeway::compile {
namespace {

// Of the placer: equal models are placed equally.
constexpr std::uint64_t kSeed = 1;

using Cores = std::vector<device::CoreIndex>;

plan::CoreRef RefTo(device::CoreIndex core, const device::CoreClass& core_class) {
  return {
      .device = std::nullopt, .core_class = core_class.name, .index = core - core_class.first_core};
}

plan::Placement PreferredOn(const Cores& cores, const device::CoreClass& core_class) {
  plan::Placement placement;
  placement.mode = plan::PlacementMode::kPreferred;
  for (const device::CoreIndex core : cores) placement.cores.push_back(RefTo(core, core_class));
  return placement;
}

class ListSchedule {
 public:
  ListSchedule(std::span<FusedGroup> groups, std::span<const Nanos> times,
               const std::vector<bool>& calls, const device::Spec& device)
      : groups_(groups),
        times_(times),
        calls_(calls),
        device_(device),
        free_(device.core_count(), Nanos{0}),
        successors_(groups.size()),
        waits_(groups.size()),
        bottom_(groups.size(), Nanos{0}),
        ready_(groups.size(), Nanos{0}) {
    for (plan::Index g = 0; g < groups.size(); ++g) {
      waits_[g] = groups[g].group.predecessors.size();
      for (const plan::Index before : groups[g].group.predecessors) {
        successors_[before].push_back(g);
      }
    }
    for (std::size_t g = groups.size(); g-- > 0;) {
      for (const plan::Index after : successors_[g]) {
        bottom_[g] = std::max(bottom_[g], bottom_[after]);
      }
      bottom_[g] += times[g];
    }
  }

  Nanos Run() {
    // Longest way to the end first; of equals the one listed first.
    const auto later = [&](plan::Index a, plan::Index b) {
      return bottom_[a] != bottom_[b] ? bottom_[a] < bottom_[b] : a > b;
    };
    std::priority_queue<plan::Index, std::vector<plan::Index>, decltype(later)> queue(later);
    for (plan::Index g = 0; g < groups_.size(); ++g) {
      if (waits_[g] == 0) queue.push(g);
    }
    Nanos last{0};
    while (!queue.empty()) {
      const plan::Index g = queue.top();
      queue.pop();
      const Nanos end = Start(g);
      last = std::max(last, end);
      for (const plan::Index after : successors_[g]) {
        ready_[after] = std::max(ready_[after], end);
        if (--waits_[after] == 0) queue.push(after);
      }
    }
    return last;
  }

 private:
  // Returns when the group ends.
  Nanos Start(plan::Index g) {
    Cores cores;
    std::size_t used = device_.core_count();
    if (calls_[g]) {
      cores.resize(used);
      std::iota(cores.begin(), cores.end(), device::CoreIndex{0});
    } else {
      cores = Order(groups_[g].choice);
      used = std::min(cores.size(), static_cast<std::size_t>(groups_[g].choice.shards));
      groups_[g].group.placement =
          PreferredOn(cores, device_.classes[groups_[g].choice.core_class]);
    }
    Nanos start = ready_[g];
    for (std::size_t i = 0; i < used; ++i) start = std::max(start, free_[cores[i]]);
    for (std::size_t i = 0; i < used; ++i) free_[cores[i]] = start + times_[g];
    return start + times_[g];
  }

  // The cores of the class, those that are free first before the others; all of them as they come
  // where all are used.
  Cores Order(const Choice& choice) const {
    const device::CoreClass& core_class = device_.classes[choice.core_class];
    Cores cores(core_class.count);
    std::iota(cores.begin(), cores.end(), core_class.first_core);
    if (choice.shards >= core_class.count) return cores;
    std::stable_sort(cores.begin(), cores.end(),
                     [&](device::CoreIndex a, device::CoreIndex b) { return free_[a] < free_[b]; });
    return cores;
  }

  std::span<FusedGroup> groups_;
  std::span<const Nanos> times_;
  const std::vector<bool>& calls_;
  const device::Spec& device_;
  std::vector<Nanos> free_;  // by core: since when
  std::vector<std::vector<plan::Index>> successors_;
  std::vector<std::size_t> waits_;
  std::vector<Nanos> bottom_, ready_;
};

// The class of whose cores every group takes one; nothing where some group is no such task.
std::optional<std::size_t> OnlyClass(std::span<const FusedGroup> groups,
                                     const std::vector<bool>& calls) {
  std::optional<std::size_t> only;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Choice& choice = groups[g].choice;
    if (calls[g] || choice.shards != 1) return std::nullopt;
    if (only && *only != choice.core_class) return std::nullopt;
    only = choice.core_class;
  }
  return only;
}

TaskGraph TasksOf(std::span<const FusedGroup> groups, std::span<const Nanos> times) {
  TaskGraph graph;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    graph.tasks.push_back({{}, std::max(times[g], Nanos{1}), groups[g].group.predecessors});
  }
  return graph;
}

// Plans each group first on its core of the schedule, and the orders of the cores.
plan::Schedule Adopt(const PlacedTasks& placed, const TaskDag& dag,
                     const device::CoreClass& core_class, std::span<FusedGroup> groups) {
  const std::vector<std::uint32_t> core_of = CoresOf(placed, dag, core_class.count);
  std::vector<plan::Index> by_start(groups.size());
  std::iota(by_start.begin(), by_start.end(), plan::Index{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](plan::Index a, plan::Index b) { return placed.start[a] < placed.start[b]; });
  plan::Schedule schedule;
  for (std::uint32_t core = 0; core < core_class.count; ++core) {
    schedule.cores.push_back({RefTo(core_class.first_core + core, core_class), {}});
  }
  for (const plan::Index g : by_start) {
    Cores cores(core_class.count);
    std::iota(cores.begin(), cores.end(), core_class.first_core);
    std::rotate(cores.begin(), cores.begin() + core_of[g], cores.begin() + core_of[g] + 1);
    groups[g].group.placement = PreferredOn(cores, core_class);
    schedule.cores[core_of[g]].groups.push_back(g);
  }
  return schedule;
}

}  // namespace

PlacedGroups PlaceGroups(std::span<FusedGroup> groups, std::span<const Nanos> times,
                         const std::vector<bool>& calls, const device::Spec& device) {
  PlacedGroups placed{ListSchedule(groups, times, calls, device).Run(), {}};
  const std::optional<std::size_t> only = OnlyClass(groups, calls);
  if (!only) return placed;
  const device::CoreClass& core_class = device.classes[*only];
  const Result<TaskDag> dag = TaskDag::Make(TasksOf(groups, times));
  if (!dag.ok()) return placed;  // more than a task graph may hold
  const std::int64_t bound = LowerBound(*dag, core_class.count);
  if (placed.end.count() <= bound) return placed;
  const PlacedTasks better = TaskPlacer(*dag, core_class.count).Improved(kSeed, kSchedules, bound);
  if (better.makespan >= placed.end.count()) return placed;
  placed.end = Nanos{better.makespan};
  placed.schedule = Adopt(better, *dag, core_class, groups);
  return placed;
}

}  // namespace leeway::compile
