#include "compile/mapping.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "compile/placement.h"

namespace leeway::compile {
namespace {

// The scheduler's own bounds: what exceeds them would be refused there.
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 26;
constexpr std::int64_t kMaxTime = std::int64_t{1} << 62;

void Collect(const plan::Body& model, plan::Index entry, std::vector<bool>& seen, Graphs& graphs) {
  if (seen[entry]) return;
  seen[entry] = true;
  for (const plan::Operator& op : model.entries[entry].operators) {
    const auto* call = std::get_if<plan::Call>(&op.work);
    if (call != nullptr) Collect(model, call->entry, seen, graphs);
  }
  graphs.emplace_back(model, entry);
}

// The callee's place among the graphs.
std::size_t CalleeOf(const Graphs& graphs, const plan::Call& call) {
  return static_cast<std::size_t>(
      std::find_if(graphs.begin(), graphs.end(),
                   [&](const EntryGraph& graph) { return graph.index() == call.entry; }) -
      graphs.begin());
}

const plan::Call* CallOf(const EntryGraph& graph, const plan::Group& group) {
  return graph.CallOf(group.ops[0]);
}

// What reads well in a report: all operators of a small group, else the first and the last.
std::string NameOf(const plan::Entry& entry, const plan::Group& group) {
  constexpr std::size_t kNamed = 4;
  const auto& ops = group.ops;
  std::string name = entry.operators[ops[0]].name;
  if (ops.size() > kNamed) {
    return absl::StrCat(name, "+...+", entry.operators[ops.back()].name);
  }
  for (std::size_t i = 1; i < ops.size(); ++i) {
    absl::StrAppend(&name, "+", entry.operators[ops[i]].name);
  }
  return name;
}

void NameGroups(const EntryGraph& graph, std::vector<FusedGroup>& groups) {
  absl::flat_hash_set<std::string> taken;
  for (FusedGroup& fused : groups) {
    std::string name = NameOf(graph.entry(), fused.group);
    // An operator may have a plus sign in its name.
    while (!taken.insert(name).second) name += "'";
    fused.group.name = std::move(name);
  }
}

Nanos Capped(Nanos time) {
  constexpr Nanos kLongest{std::int64_t{1} << 40};
  return std::min(time, kLongest);
}

// Places the groups of one graph; `lengths` has how long its callees take.
PlacedGroups Place(const Graphs& graphs, const EntryGraph& graph, std::vector<FusedGroup>& groups,
                   std::span<const std::int64_t> dims, const std::vector<Nanos>& lengths,
                   const device::Spec& device) {
  std::vector<Nanos> times;
  std::vector<bool> calls;
  for (const FusedGroup& fused : groups) {
    const plan::Call* call = CallOf(graph, fused.group);
    calls.push_back(call != nullptr);
    if (call == nullptr) {
      times.push_back(Capped(fused.choice.time));
      continue;
    }
    const auto time = base::CheckedMul(call->times(dims), lengths[CalleeOf(graphs, *call)].count());
    times.push_back(Capped(time ? Nanos{*time} : Nanos::max()));
  }
  return PlaceGroups(groups, times, calls, device);
}

template <typename MapOne>
Result<Mapping> MapAll(const Graphs& graphs, const Pricer& pricer,
                       std::span<const std::int64_t> dims, MapOne map) {
  Mapping mapping;
  std::vector<Nanos> lengths;
  for (const EntryGraph& graph : graphs) {
    LEEWAY_ASSIGN_OR_RETURN(std::vector<FusedGroup> groups, map(graph));
    NameGroups(graph, groups);
    for (FusedGroup& fused : groups) {
      const bool measured = !fused.group.profile.empty() || fused.group.cost_ns;
      if (!measured) fused.group.shards = plan::Expr::Constant(fused.choice.shards);
    }
    PlacedGroups placed = Place(graphs, graph, groups, dims, lengths, pricer.device());
    lengths.push_back(placed.end);
    mapping.push_back({std::move(groups), std::move(placed.schedule)});
  }
  return mapping;
}

// Steps and core time of one run of an entry.
struct Sum {
  std::int64_t steps = 0;
  std::int64_t time = 0;

  // Returns false above the bounds.
  bool Add(std::int64_t times, std::int64_t steps_each, std::int64_t time_each) {
    const auto more_steps = base::CheckedMul(times, steps_each);
    const auto more_time = base::CheckedMul(times, time_each);
    if (!more_steps || *more_steps > kMaxSteps - steps) {
      steps = kMaxSteps + 1;
      return false;
    }
    steps += *more_steps;
    if (!more_time || *more_time >= kMaxTime - time) {
      time = kMaxTime;
      return false;
    }
    time += *more_time;
    return true;
  }
};

Status BoundExceeded(const EntryGraph& graph, const Sum& sum) {
  const std::string where = absl::StrCat("entry \"", graph.entry().name, "\": a run ");
  if (sum.steps > kMaxSteps) {
    return base::ResourceExhausted(absl::StrCat(where, "launches more than ", kMaxSteps, " steps"));
  }
  return base::OutOfRange(absl::StrCat(where, "takes 2^62 ns or more"));
}

}  // namespace

Graphs CollectGraphs(const plan::Body& model, plan::Index entry) {
  Graphs graphs;
  std::vector<bool> seen(model.entries.size(), false);
  Collect(model, entry, seen, graphs);
  return graphs;
}

Result<Mapping> MapFused(const Graphs& graphs, const Pricer& pricer,
                         std::span<const std::int64_t> dims, std::span<const std::int64_t> largest,
                         const DramRoom& room) {
  return MapAll(graphs, pricer, dims,
                [&](const EntryGraph& graph) { return Fuse(graph, pricer, dims, largest, room); });
}

Result<Mapping> MapUnfused(const Graphs& graphs, const Pricer& pricer,
                           std::span<const std::int64_t> dims) {
  return MapAll(graphs, pricer, dims,
                [&](const EntryGraph& graph) { return Unfused(graph, pricer, dims); });
}

Result<Nanos> CoreTimeOf(const Graphs& graphs, const Mapping& mapping, const Pricer& pricer,
                         std::span<const std::int64_t> dims) {
  const device::ByteUnits dram_rate = pricer.device().dram_rate();
  std::vector<Sum> sums;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    Sum sum;
    for (const FusedGroup& fused : mapping[g].groups) {
      bool fine = false;
      if (const plan::Call* call = CallOf(graphs[g], fused.group)) {
        const Sum& callee = sums[CalleeOf(graphs, *call)];
        fine = sum.Add(call->times(dims), callee.steps, callee.time);
      } else {
        LEEWAY_ASSIGN_OR_RETURN(const device::StepCost cost,
                                pricer.Cost(graphs[g], fused.group, dims, fused.choice));
        const Nanos each = cost.launch + cost.Alone(dram_rate);
        fine = sum.Add(fused.group.shards(dims), 1, each.count());
      }
      if (!fine) return BoundExceeded(graphs[g], sum);
    }
    sums.push_back(sum);
  }
  return Nanos{sums.back().time};
}

}  // namespace leeway::compile
