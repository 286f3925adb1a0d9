#include "device/group_figures.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "base/math.h"
#include "device/kept_weights.h"
#include "device/live_set.h"
#include "device/plan_fit.h"
#include "device/step_cost.h"

namespace leeway::device {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// What does not fit 64 bits is as large as can be said.
std::int64_t Sum(std::int64_t a, std::int64_t b) { return base::CheckedAdd(a, b).value_or(kMost); }

std::int64_t BytesOf(const plan::Body& plan, const std::vector<plan::Index>& tensors,
                     std::span<const std::int64_t> dims) {
  std::int64_t bytes = 0;
  for (const plan::Index tensor : tensors) bytes = Sum(bytes, plan.tensors[tensor].Bytes(dims));
  return bytes;
}

// A profile that leaves a figure out has 0.
std::optional<std::int64_t> Stated(double figure) {
  const auto rounded = base::RoundToInt64(figure);
  return rounded && *rounded > 0 ? rounded : std::nullopt;
}

}  // namespace

GroupFigures GroupPricer::Price(const plan::Entry& entry, const plan::Variant& variant,
                                const plan::Group& group) {
  GroupFigures figures;
  if (group.work) {
    figures.read_bytes = group.work->read_bytes(dims_);
    figures.write_bytes = group.work->write_bytes(dims_);
  } else {
    figures.read_bytes = BytesOf(plan_, group.reads, dims_);
    figures.write_bytes = BytesOf(plan_, group.writes, dims_);
  }
  const GroupMemory memory = MemoryOf(plan_, entry, group, dims_);
  figures.peak_bytes = base::RoundToInt64(memory.peak).value_or(kMost);
  figures.burst_bytes = base::RoundToInt64(memory.burst).value_or(kMost);
  if (const plan::Call* call = plan::CallOf(entry, group)) {
    figures.time = CallTime(variant, *call);
    return figures;
  }
  if (const auto planned = PlannedTime(group, dims_)) {
    figures.time.time = planned->time;
    figures.time.origin = planned->range == Prediction::Range::kInside ? TimeOrigin::kProfiled
                                                                       : TimeOrigin::kExtrapolated;
    figures.dram_bytes = Stated(PlannedBytes(group, dims_));
    figures.sram_bytes = Stated(PlannedSram(group, dims_));
  }
  AddModel(entry, variant, group, figures);
  return figures;
}

// Adds what the plan does not state: of one shard on the first class that the group may run on.
void GroupPricer::AddModel(const plan::Entry& entry, const plan::Variant& variant,
                           const plan::Group& group, GroupFigures& figures) {
  if (device_ == nullptr) return;
  const auto resolved = ResolveGroup(entry, group, *device_);
  const auto refuse = [&](const Status& status) {
    if (!figures.time.time) figures.time.reason = std::string(status.message());
  };
  if (!resolved.ok()) return refuse(resolved.status());
  const CoreClass& core = device_->classes[device_->ClassOf(resolved->allowed.front())];
  if (kept_of_ != &variant) {
    auto kept = KeptWeights(plan_, variant, *device_);
    if (!kept.ok()) return refuse(kept.status());
    kept_ = *std::move(kept);
    kept_of_ = &variant;
  }
  const auto cost = GroupCost(plan_, entry, group, dims_, group.shards(dims_), core, *device_,
                              FoundOn(kept_, core));
  if (!cost.ok()) return refuse(cost.status());
  if (!figures.time.time) {
    figures.time.time = cost->launch + cost->Alone(device_->dram_rate());
    figures.time.origin = TimeOrigin::kModelled;
  }
  if (!figures.dram_bytes) figures.dram_bytes = cost->dram_bytes;
  if (!figures.sram_bytes) figures.sram_bytes = cost->sram_peak_bytes;
}

PricedTime GroupPricer::CallTime(const plan::Variant& variant, const plan::Call& call) {
  const auto called = plan_.CalledVariant(variant, call.entry);
  if (!called) return {};
  const plan::Entry& callee = plan_.entries[call.entry];
  const plan::Variant& runs = callee.variants[*called];
  auto known = totals_.find(&runs);
  if (known == totals_.end()) {
    PricedTime total = TotalOf(PriceAll(callee, runs));  // may add to the table
    known = totals_.emplace(&runs, std::move(total)).first;
  }
  PricedTime time = known->second;
  if (time.time) {
    const std::int64_t times = std::max<std::int64_t>(call.times(dims_), 0);
    time.time = Nanos(base::CheckedMul(times, time.time->count()).value_or(kMost));
  }
  return time;
}

std::vector<GroupFigures> GroupPricer::PriceAll(const plan::Entry& entry,
                                                const plan::Variant& variant) {
  std::vector<GroupFigures> figures;
  figures.reserve(variant.groups.size());
  for (const plan::Group& group : variant.groups) {
    figures.push_back(Price(entry, variant, group));
  }
  return figures;
}

PricedTime TotalOf(std::span<const GroupFigures> groups) {
  PricedTime total{Nanos(0), TimeOrigin::kProfiled, ""};
  for (const GroupFigures& group : groups) {
    const PricedTime& time = group.time;
    total.origin = std::max(total.origin, time.origin);
    if (total.reason.empty()) total.reason = time.reason;
    if (!time.time) {
      total.time = std::nullopt;
    } else if (total.time) {
      total.time = Nanos(Sum(total.time->count(), time.time->count()));
    }
  }
  return total;
}

}  // namespace leeway::device
