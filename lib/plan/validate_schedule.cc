#include <optional>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "plan/reader.h"
#include "plan/run_order.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

// The most shards that the group has for dims of the variant's envelope.
std::int64_t MostShards(const Variant& variant, const Group& group) {
  std::vector<Interval> envelope;
  for (const Range& range : variant.envelope) envelope.push_back({range.min, range.max});
  const Result<Interval> shards = RangeOf(group.shards, envelope);
  return shards.ok() ? shards->hi : kMaxShards;
}

// Orders of the same core: nothing says which of them goes first.
void CheckCores(const Path& path, const Schedule& schedule, Findings& findings) {
  using Key = std::tuple<std::int64_t, std::string, std::int64_t>;
  absl::flat_hash_map<Key, std::size_t> cores;
  for (std::size_t i = 0; i < schedule.cores.size(); ++i) {
    const CoreRef& core = schedule.cores[i].core;
    const auto number = [](const std::optional<std::uint32_t>& value) {
      return value ? std::int64_t{*value} : -1;
    };
    const Key key{number(core.device), core.core_class, number(core.index)};
    const auto [at, added] = cores.try_emplace(key, i);
    if (added) continue;
    const Path list = path.At("cores", i);
    findings.Error(list.At("core"),
                   "the core has an order already: cores[" + std::to_string(at->second) + "]");
  }
}

// Returns whether every group of the lists exists and is in each at most once.
bool CheckLists(const Path& path, const Variant& variant, Findings& findings) {
  bool ok = true;
  struct Listed {
    std::size_t lists = 0, last = 0;
  };
  std::vector<Listed> listed(variant.groups.size());
  for (std::size_t i = 0; i < variant.schedule.cores.size(); ++i) {
    const std::vector<Index>& groups = variant.schedule.cores[i].groups;
    const Path list = path.At("cores", i);
    for (std::size_t j = 0; j < groups.size(); ++j) {
      if (groups[j] == kUnresolved) {
        ok = false;
        continue;
      }
      const Group& group = variant.groups[groups[j]];
      Listed& of = listed[groups[j]];
      const Path at = list.At("groups", j);
      if (of.last == i + 1) {
        findings.Error(at, "group " + Quote(group.name) + " is in this order twice");
        ok = false;
        continue;
      }
      of.last = i + 1;
      if (++of.lists == 1) continue;
      const std::int64_t shards = MostShards(variant, group);
      if (static_cast<std::int64_t>(of.lists) <= shards) continue;
      findings.Error(at, "group " + Quote(group.name) + " is in the orders of " +
                             std::to_string(of.lists) + " cores and has at most " +
                             std::to_string(shards) + " shards");
    }
  }
  for (const Wait& wait : variant.schedule.waits) {
    ok &= wait.group != kUnresolved && wait.after != kUnresolved;
  }
  return ok;
}

}  // namespace

bool CheckSchedule(const Path& path, const LinkedVariant& linked, Findings& findings) {
  const Schedule& schedule = linked.variant.schedule;
  if (schedule.cores.empty() && schedule.waits.empty()) return true;
  const std::size_t before = findings.total();
  CheckCores(path, schedule, findings);
  if (!CheckLists(path, linked.variant, findings)) return false;
  const std::string deadlock = RunOrder(linked.variant, RunOrder::Lists::kAll).Deadlock();
  if (!deadlock.empty()) findings.Error(path, "the schedule cannot be kept: " + deadlock);
  return findings.total() == before;
}

}  // namespace leeway::plan
