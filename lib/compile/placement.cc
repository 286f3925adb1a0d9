#include "compile/placement.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

namespace leeway::compile {
namespace {

using Cores = std::vector<device::CoreIndex>;

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
      groups_[g].group.placement = PlacementOn(cores, groups_[g].choice);
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

  plan::Placement PlacementOn(const Cores& cores, const Choice& choice) const {
    const device::CoreClass& core_class = device_.classes[choice.core_class];
    plan::Placement placement;
    placement.mode = plan::PlacementMode::kPreferred;
    for (const device::CoreIndex core : cores) {
      placement.cores.push_back({.device = std::nullopt,
                                 .core_class = core_class.name,
                                 .index = core - core_class.first_core});
    }
    return placement;
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

}  // namespace

Nanos PlaceGroups(std::span<FusedGroup> groups, std::span<const Nanos> times,
                  const std::vector<bool>& calls, const device::Spec& device) {
  return ListSchedule(groups, times, calls, device).Run();
}

}  // namespace leeway::compile
