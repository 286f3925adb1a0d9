#include "device/kept_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/math.h"
#include "base/status_macros.h"
#include "device/plan_fit.h"
#include "plan/weight_key.h"

namespace leeway::device {
namespace {

void SortUnique(std::vector<std::uint32_t>& indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

bool Keeps(const Spec& device, CoreIndex core) {
  return device.classes[device.ClassOf(core)].resident_bytes > 0;
}

// The cores named, or all, that have memory for it.
Result<std::vector<CoreIndex>> KeepersOf(const plan::Residency& residency, const Spec& device) {
  std::vector<plan::CoreRef> refs = residency.cores;
  if (refs.empty()) refs.emplace_back();
  std::vector<CoreIndex> keepers;
  for (const plan::CoreRef& ref : refs) {
    LEEWAY_ASSIGN_OR_RETURN(const std::vector<CoreIndex> cores, ResolveCores(ref, device));
    std::copy_if(cores.begin(), cores.end(), std::back_inserter(keepers),
                 [&](CoreIndex core) { return Keeps(device, core); });
  }
  return keepers;
}

void AddUsers(const Spec& device, KeptWeight& kept) {
  for (const CoreIndex core : kept.cores) {
    const CoreClass& of = device.classes[device.ClassOf(core)];
    if (std::binary_search(kept.users.begin(), kept.users.end(), of.first_core)) continue;
    for (CoreIndex i = 0; i < of.count; ++i) kept.users.push_back(of.first_core + i);
  }
}

}  // namespace

Result<std::vector<KeptWeight>> KeptWeights(const plan::Body& plan, const plan::Variant& variant,
                                            const Spec& device) {
  std::vector<KeptWeight> all;
  if (std::none_of(device.classes.begin(), device.classes.end(),
                   [](const CoreClass& of) { return of.resident_bytes > 0; })) {
    return all;
  }
  std::map<std::uint64_t, KeptWeight> by_key;
  for (const plan::Residency& residency : variant.residency) {
    LEEWAY_ASSIGN_OR_RETURN(const std::vector<CoreIndex> cores, KeepersOf(residency, device));
    if (cores.empty()) continue;
    const std::uint64_t key = plan::WeightKey(plan, residency);
    KeptWeight& kept = by_key[key];
    kept.weight = {key, plan.tensors[residency.tensor].Bytes({})};
    kept.tensors.push_back(residency.tensor);
    kept.cores.insert(kept.cores.end(), cores.begin(), cores.end());
  }
  for (auto& [key, kept] : by_key) {
    SortUnique(kept.tensors);
    SortUnique(kept.cores);
    AddUsers(device, kept);
    all.push_back(std::move(kept));
  }
  std::sort(all.begin(), all.end(), [](const KeptWeight& a, const KeptWeight& b) {
    return a.tensors.front() < b.tensors.front();
  });
  return all;
}

std::vector<plan::Index> FoundOn(const std::vector<KeptWeight>& kept, const CoreClass& core) {
  std::vector<plan::Index> tensors;
  for (const KeptWeight& of : kept) {
    if (std::binary_search(of.users.begin(), of.users.end(), core.first_core)) {
      tensors.insert(tensors.end(), of.tensors.begin(), of.tensors.end());
    }
  }
  SortUnique(tensors);
  return tensors;
}

ByteUnits FetchUnits(std::int64_t bytes, const CoreClass& core) {
  const std::int64_t granule = core.dma_granule_bytes;
  return base::CeilDiv(bytes, granule) * granule << kByteUnitBits;
}

Nanos FetchAlone(std::int64_t bytes, const CoreClass& core, ByteUnits dram_rate) {
  if (bytes == 0) return Nanos{0};
  const ByteUnits rate = std::min(RateUnits(core.dma_bytes_per_second), dram_rate);
  return core.dma_latency + Nanos{base::CeilDiv(FetchUnits(bytes, core), rate)};
}

}  // namespace leeway::device
