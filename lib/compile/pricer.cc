#include "compile/pricer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace leeway::compile {
namespace {

using device::StepCost;

// What the scheduler takes for the cost of a measured group: the measurement holds the launch.
std::optional<StepCost> MeasuredCost(const EntryGraph& graph, const plan::Group& group,
                                     std::span<const std::int64_t> dims, Nanos launch) {
  if (group.work || !SaysNothing(graph.entry(), group.ops)) return std::nullopt;
  const std::optional<device::Prediction> measured = device::PlannedTime(group, dims);
  if (!measured) return std::nullopt;
  StepCost cost;
  cost.launch = launch;
  cost.compute = std::max(Nanos{0}, measured->time - launch);
  return cost;
}

bool HasUnit(const plan::Work& work, const device::CoreClass& core) {
  if (std::holds_alternative<plan::Gemm>(work) || std::holds_alternative<plan::Conv>(work)) {
    return core.arrays > 0;
  }
  if (!core.computes()) return std::holds_alternative<plan::Move>(work);
  const bool elementwise =
      std::holds_alternative<plan::Vector>(work) || std::holds_alternative<plan::Reduce>(work);
  return !elementwise || core.vector_lanes > 0;
}

const char* UnitOf(const plan::Work& work) {
  const bool matrix =
      std::holds_alternative<plan::Gemm>(work) || std::holds_alternative<plan::Conv>(work);
  return matrix ? "matrix" : "vector";
}

}  // namespace

Status Pricer::CheckAble(const EntryGraph& graph, plan::Index op,
                         std::span<const std::int64_t> dims) const {
  const plan::Operator& of = graph.entry().operators[op];
  const plan::Group group = graph.MakeGroup({&op, 1});
  Status refused;
  for (std::size_t c = 0; c < device_->classes.size(); ++c) {
    if (!HasUnit(of.work, device_->classes[c])) continue;
    const auto cost = Cost(graph, group, dims, {.core_class = c});
    if (cost.ok() || cost.status().code() != StatusCode::kUnimplemented) return Status();
    if (refused.ok()) refused = cost.status();
  }
  const std::string where =
      absl::StrCat("entry \"", graph.entry().name, "\": operator \"", of.name, "\"");
  if (refused.ok()) {
    return base::FailedPrecondition(absl::StrCat(where, " needs a ", UnitOf(of.work),
                                                 " unit; no core of device \"", device_->name,
                                                 "\" has one"));
  }
  return Status(refused.code(), absl::StrCat(where, ": ", std::string(refused.message())));
}

Result<Choice> Pricer::Choose(const EntryGraph& graph, const plan::Group& group,
                              std::span<const std::int64_t> dims) const {
  std::optional<Choice> best;
  Status refused;
  for (std::size_t c = 0; c < device_->classes.size(); ++c) {
    const Result<Choice> choice = ChooseOn(graph, group, dims, c);
    if (!choice.ok()) {
      // That a class lacks a unit explains less than what goes wrong on one that has it.
      if (refused.ok() || refused.code() == StatusCode::kUnimplemented) refused = choice.status();
    } else if (!best || choice->score() < best->score()) {
      best = *choice;
    }
  }
  if (!best) return refused;
  return *best;
}

Result<Choice> Pricer::ChooseOn(const EntryGraph& graph, const plan::Group& group,
                                std::span<const std::int64_t> dims, std::size_t core_class) const {
  const std::int64_t cores = device_->classes[core_class].count;
  const bool measured = !group.profile.empty() || group.cost_ns.has_value();
  if (measured) {
    return Priced(graph, group, dims, {.core_class = core_class, .shards = group.shards(dims)});
  }
  Result<Choice> one = Priced(graph, group, dims, {.core_class = core_class});
  if (cores == 1) return one;
  Result<Choice> all = Priced(graph, group, dims, {.core_class = core_class, .shards = cores});
  if (!one.ok() || !all.ok()) return one.ok() ? one : all;
  const Nanos added = (cores - 1) * device_->step_launch;
  return all->time + added <= one->time ? all : one;
}

Result<Choice> Pricer::Priced(const EntryGraph& graph, const plan::Group& group,
                              std::span<const std::int64_t> dims, Choice choice) const {
  LEEWAY_ASSIGN_OR_RETURN(const StepCost cost, Cost(graph, group, dims, choice));
  const device::ByteUnits whole = std::max<device::ByteUnits>(device_->dram_rate(), 1);
  const device::ByteUnits part = std::max<device::ByteUnits>(whole / choice.shards, 1);
  // Sums of a few stay within 64 bits.
  constexpr std::int64_t kLongest = std::int64_t{1} << 58;
  choice.time = std::min(cost.launch + cost.Alone(part), Nanos{kLongest});
  const double units = static_cast<double>(cost.dram_bytes) * static_cast<double>(choice.shards) *
                       (1 << device::kByteUnitBits);
  const double traffic = std::min(units / static_cast<double>(whole), 0x1p58);
  choice.traffic = Nanos{static_cast<std::int64_t>(traffic)};
  return choice;
}

Result<StepCost> Pricer::Cost(const EntryGraph& graph, const plan::Group& group,
                              std::span<const std::int64_t> dims, const Choice& choice) const {
  const device::CoreClass& core = device_->classes[choice.core_class];
  const auto measured = MeasuredCost(graph, group, dims, device_->step_launch);
  // What was measured was computed somewhere; the model refuses a class that only moves data.
  if (measured && core.computes()) return *measured;
  return device::GroupCost(graph.body(), graph.entry(), group, dims, choice.shards, core, *device_);
}

}  // namespace leeway::compile
