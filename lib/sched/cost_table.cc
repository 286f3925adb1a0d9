#include "sched/cost_table.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::sched {
namespace {

using device::StepCost;

// A run that takes as long is refused; integers of half the size leave room for sums.
constexpr std::int64_t kMaxTime = std::int64_t{1} << 62;

// A group of opaque operators has no work to model: its profile is its cost.
std::optional<StepCost> OpaqueCost(const Node& node, std::span<const std::int64_t> dims,
                                   Nanos launch) {
  if (node.group == nullptr || node.group->work) return std::nullopt;
  for (plan::Index op : node.group->ops) {
    if (!std::holds_alternative<std::monostate>(node.entry->operators[op].work))
      return std::nullopt;
  }
  const std::optional<device::Prediction> planned = device::PlannedTime(*node.group, dims);
  if (!planned) return std::nullopt;
  StepCost cost;
  cost.launch = launch;
  cost.compute = std::max(Nanos{0}, planned->time - launch);
  return cost;
}

Result<StepCost> NodeCost(const plan::Body& plan, const device::Spec& device, const Node& node,
                          std::span<const std::int64_t> dims, std::int64_t shards,
                          const device::CoreClass& core, std::span<const plan::Index> resident) {
  if (const auto opaque = OpaqueCost(node, dims, device.step_launch)) return *opaque;
  if (node.group != nullptr) {
    return device::GroupCost(plan, *node.entry, *node.group, dims, shards, core, device, resident);
  }
  return device::OperatorCost(plan, *node.entry, *node.op, dims, shards, core, device);
}

// Longest paths of the frames, callees first, by the time `of` a node.
template <typename Of>
Nanos LongestPath(const RunGraph& graph, const std::vector<std::int64_t>& times, Of of) {
  std::vector<Nanos> end(graph.nodes().size()), length(graph.frames().size());
  for (std::size_t f = graph.frames().size(); f-- > 0;) {
    const Frame& frame = graph.frames()[f];
    for (std::uint32_t n = frame.first; n < frame.first + frame.count; ++n) {
      const Node& node = graph.nodes()[n];
      Nanos start{0};
      for (std::uint32_t p : graph.predecessors(node)) start = std::max(start, end[p]);
      const Nanos own =
          node.call ? std::max<std::int64_t>(0, times[node.callee]) * length[node.callee] : of(n);
      end[n] = start + own;
      length[f] = std::max(length[f], end[n]);
    }
  }
  return length.empty() ? Nanos{0} : length[0];
}

// How often each frame runs, and what one repetition of it launches.
Status CountSteps(CostTable& table, const RunGraph& graph) {
  const auto& frames = graph.frames();
  table.frame_steps.assign(frames.size(), 0);
  table.rounds.assign(frames.size(), 1);
  for (std::size_t f = frames.size(); f-- > 0;) {
    std::uint64_t& steps = table.frame_steps[f];
    for (std::uint32_t n = frames[f].first; n < frames[f].first + frames[f].count; ++n) {
      const Node& node = graph.nodes()[n];
      const std::uint64_t once = node.call ? table.frame_steps[node.callee] : table.shards[n];
      const std::uint64_t times =
          node.call
              ? static_cast<std::uint64_t>(std::max<std::int64_t>(0, table.times[node.callee]))
              : 1;
      if (once > 0 && times > (CostTable::kMaxSteps - steps) / once) {
        return base::ResourceExhausted(absl::StrCat("entry \"", node.entry->name,
                                                    "\": a run launches more than ",
                                                    CostTable::kMaxSteps, " steps"));
      }
      steps += once * times;
    }
  }
  for (std::size_t f = 1; f < frames.size(); ++f) {
    // Where nothing is launched the product means nothing, and may overflow.
    const std::int64_t times = table.frame_steps[f] == 0 ? 0 : table.times[f];
    table.rounds[f] = times * table.rounds[graph.nodes()[frames[f].parent].frame];
  }
  table.steps = table.frame_steps[0];
  return Status();
}

Status Summarise(CostTable& table, const RunGraph& graph, const device::Spec& device) {
  LEEWAY_RETURN_IF_ERROR(CountSteps(table, graph));
  std::int64_t core_time = 0, predicted = 0, host_time = 0;
  table.host_steps = 0;
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.call) continue;
    // No path is longer than the sum of the steps on it, so these bounds cover the paths too.
    auto add = [&](std::int64_t& sum, Nanos time) {
      const auto part = base::CheckedMul(table.rounds[node.frame] * table.shards[n], time.count());
      const auto total = part ? base::CheckedAdd(sum, *part) : std::nullopt;
      sum = total && *total < kMaxTime ? *total : kMaxTime;
    };
    add(predicted, table.predicted[n]);
    if (node.host) {
      table.host_steps +=
          static_cast<std::uint64_t>(std::max<std::int64_t>(table.rounds[node.frame], 0)) *
          table.shards[n];
      add(host_time, table.alone_first(n));
    } else {
      add(core_time, table.alone_first(n) + device.step_launch);
    }
  }
  if (core_time >= kMaxTime - host_time || predicted >= kMaxTime) {
    return base::OutOfRange(absl::StrCat("entry \"", graph.nodes().front().entry->name,
                                         "\": a run takes 2^62 ns or more"));
  }
  table.core_time = Nanos{core_time};
  table.critical_path =
      LongestPath(graph, table.times, [&](std::uint32_t n) { return table.alone_first(n); });
  table.predicted_path =
      LongestPath(graph, table.times, [&](std::uint32_t n) { return table.predicted[n]; });
  return Status();
}

// Predicted core time of one repetition of each frame.
void SumWork(CostTable& table, const RunGraph& graph) {
  table.frame_work.assign(graph.frames().size(), Nanos{0});
  for (std::size_t f = graph.frames().size(); f-- > 0;) {
    // What never runs is not part of the sum that was held to its bound.
    if (table.rounds[f] <= 0) continue;
    const Frame& frame = graph.frames()[f];
    for (std::uint32_t n = frame.first; n < frame.first + frame.count; ++n) {
      const Node& node = graph.nodes()[n];
      if (node.call && table.rounds[node.callee] > 0) {
        table.frame_work[f] += table.times[node.callee] * table.frame_work[node.callee];
      } else if (!node.call && !node.host) {
        table.frame_work[f] += static_cast<std::int64_t>(table.shards[n]) * table.soonest[n];
      }
    }
  }
  table.soonest_work = table.frame_work.empty() ? Nanos{0} : table.frame_work[0];
}

// Requires a summarised table, whose sums are below kMaxTime.
void SetForecast(CostTable& table, const RunGraph& graph) {
  table.soonest.assign(graph.nodes().size(), Nanos{0});
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].call) continue;
    Nanos least = table.alone_first(n);
    for (std::size_t c = 0; c < table.classes; ++c) {
      const Nanos alone = table.alone[n * table.classes + c];
      if (alone > Nanos{0}) least = std::min(least, alone);
    }
    table.soonest[n] = std::max(Nanos{0}, table.predicted[n] - (table.alone_first(n) - least));
  }
  SumWork(table, graph);
  table.soonest_path =
      LongestPath(graph, table.times, [&](std::uint32_t n) { return table.soonest[n]; });
}

Status FillNode(const plan::Body& plan, const device::Spec& device, const DomainTable& domains,
                const RunGraph& graph, std::uint32_t n, CostTable& table) {
  const Node& node = graph.nodes()[n];
  const std::int64_t shards = node.shards ? (*node.shards)(table.dims) : 1;
  table.shards[n] = static_cast<std::uint32_t>(shards);
  const CoreSet& allowed = domains[node.domain].allowed;
  bool first = true;
  for (std::size_t c = 0; c < device.classes.size(); ++c) {
    const device::CoreClass& core_class = device.classes[c];
    bool used = false;
    for (std::uint32_t i = 0; i < core_class.count && !used; ++i) {
      used = allowed.Contains(CoreId(core_class.first_core + i));
    }
    if (!used) continue;
    LEEWAY_ASSIGN_OR_RETURN(StepCost cost, NodeCost(plan, device, node, table.dims, shards,
                                                    core_class, graph.FoundOn(node, core_class)));
    table.costs[n * table.classes + c] = cost;
    table.alone[n * table.classes + c] = cost.Alone(device.dram_rate());
    if (!first) continue;
    first = false;
    table.first_class[n] = static_cast<std::uint32_t>(c);
    const auto planned = node.group ? device::PlannedTime(*node.group, table.dims) : std::nullopt;
    table.predicted[n] = planned ? planned->time : cost.launch + table.alone_first(n);
  }
  return Status();
}

}  // namespace

Result<CostTable> MakeCostTable(const plan::Body& plan, const device::Spec& device,
                                const DomainTable& domains, const RunGraph& graph,
                                std::span<const std::int64_t> dims) {
  CostTable table;
  table.dims.assign(dims.begin(), dims.end());
  table.classes = device.classes.size();
  table.costs.resize(graph.nodes().size() * table.classes);
  table.shards.resize(graph.nodes().size(), 1);
  table.alone.resize(graph.nodes().size() * table.classes);
  table.first_class.resize(graph.nodes().size());
  table.predicted.resize(graph.nodes().size());
  table.times.resize(graph.frames().size(), 1);
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.call) {
      table.times[node.callee] = node.call->times(table.dims);
    } else {
      LEEWAY_RETURN_IF_ERROR(FillNode(plan, device, domains, graph, n, table));
    }
  }
  LEEWAY_RETURN_IF_ERROR(Summarise(table, graph, device));
  SetForecast(table, graph);
  return table;
}

Status Stretch(CostTable& table, Nanos floor, const RunGraph& graph, const device::Spec& device) {
  if (table.core_time >= floor) return Status();
  const Nanos launches =
      static_cast<std::int64_t>(table.steps - table.host_steps) * device.step_launch;
  const std::int64_t from = (table.core_time - launches).count();
  const std::int64_t to = (floor - launches).count();
  if (from <= 0 || to <= from) return Status();
  // No more than kMaxTime, which Summarise refuses; of bytes, the drain takes what is missing.
  const std::int64_t largest = base::MulDivFloor(kMaxTime, from, to);
  auto scale = [&](std::int64_t value) {
    return value > largest ? kMaxTime : base::MulDivCeil(value, to, from);
  };
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    // The host's work is the same, fused or not.
    if (graph.nodes()[n].call || graph.nodes()[n].host) continue;
    const Nanos before = table.alone_first(n);
    for (std::size_t c = 0; c < table.classes; ++c) {
      StepCost& cost = table.costs[n * table.classes + c];
      Nanos& alone = table.alone[n * table.classes + c];
      if (alone == Nanos{0}) continue;
      cost.fill = Nanos{scale(cost.fill.count())};
      cost.compute = Nanos{scale(cost.compute.count())};
      cost.drain = Nanos{scale(cost.drain.count())};
      // More bytes at the same cap: the body takes longer whoever shares the bandwidth.
      cost.body_bytes = scale(cost.body_bytes);
      const Nanos wanted{scale(alone.count())};
      // The body alone was rounded up before it was scaled; the drain takes what is missing.
      const Nanos got = cost.Alone(device.dram_rate());
      cost.drain += std::max(Nanos{0}, wanted - got);
      alone = std::max(wanted, got);
    }
    table.predicted[n] += table.alone_first(n) - before;
  }
  LEEWAY_RETURN_IF_ERROR(Summarise(table, graph, device));
  SetForecast(table, graph);
  return Status();
}

Status MakeReal(CostTable& table, const device::Reality& reality,
                std::span<const std::uint64_t> op_keys, const RunGraph& graph,
                const device::Spec& device) {
  table.modelled = table.alone;
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].call) continue;
    // By the shape, whatever class of core it runs on.
    const std::uint32_t size = device::SizeQuarter(table.cost(NodeId(n), table.first_class[n]));
    const std::int64_t factor = reality.Factor(op_keys[n], size);
    for (std::size_t c = 0; c < table.classes; ++c) {
      Nanos& alone = table.alone[n * table.classes + c];
      if (alone == Nanos{0}) continue;
      StepCost& cost = table.costs[n * table.classes + c];
      cost = device::Scaled(cost, factor);
      alone = cost.Alone(device.dram_rate());
    }
  }
  return Summarise(table, graph, device);
}

}  // namespace leeway::sched
