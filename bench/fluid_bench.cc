// What one change of the bandwidth's sharing costs, and one step's cost: the two pieces of the
// simulator's inner loop that belong to the device. At 3 M steps a second of host CPU a step has
// 333 ns, in which its flow starts once and ends once.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/file.h"
#include "base/prng.h"
#include "device/fluid_link.h"
#include "device/step_cost.h"
#include "plan/load.h"

namespace leeway::device {
namespace {

constexpr ByteUnits kBytesPerNs = ByteUnits{1} << kByteUnitBits;

// One flow ends, the next one starts later: two re-shares a round. `demand` is the flows' mean
// cap in percent of an equal share: below 100 most states are not bound by bandwidth.
void BM_FluidLink(benchmark::State& state) {
  const auto flows = static_cast<std::size_t>(state.range(0));
  const ByteUnits capacity = 614 * kBytesPerNs;
  const auto mean = static_cast<std::uint64_t>(capacity / state.range(0) * state.range(1) / 100);
  base::Prng prng(1);
  FluidLink link(capacity, flows);
  Instant now;
  const auto start = [&](std::size_t slot) {
    const auto bytes = static_cast<ByteUnits>(prng.Below(1 << 20) + 1) * kBytesPerNs;
    link.Start(now, slot, bytes, static_cast<ByteUnits>(prng.Below(2 * mean) + 1));
  };
  for (std::size_t slot = 0; slot < flows; ++slot) start(slot);
  for (auto _ : state) {
    now = link.next_end();
    const std::size_t slot = link.next_slot();
    link.Stop(now, slot);
    now = std::min(now + Nanos(100), link.next_end());
    start(slot);
  }
  // Changes of the sharing, two a step.
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(BM_FluidLink)
    ->ArgNames({"flows", "demand_percent"})
    ->ArgsProduct({{4, 16, 64}, {50, 200}});

// What the shipped plan's groups of one layer cost at the actual dims, as it is evaluated for every
// request; an operation is one GroupCost. Budget: 2 µs.
void BM_GroupCost(benchmark::State& state) {
  const auto plan_file = base::FindShipped(base::ShippedKind::kPlan, "llama2_7b_prefill");
  const auto device_file = base::FindShipped(base::ShippedKind::kDevice, "onnxim_tpuv4_c4");
  const auto plan = plan::LoadValidPlan(plan_file->bytes, plan_file->name).value();
  const Spec device = ParseSpec(device_file->bytes, device_file->name).value();
  const plan::Entry& entry = plan->entries[*plan->FindEntry("layer")];
  const plan::Variant& variant = entry.variants[static_cast<std::size_t>(state.range(0))];
  std::int64_t seq = variant.envelope[*plan->FindDim("seq")].max;
  std::vector<std::int64_t> dims(plan->dims.size(), 1);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (const plan::Group& group : variant.groups) {
      dims[*plan->FindDim("seq")] = seq;
      bytes += GroupCost(*plan, entry, group, dims, 4, device.classes[0], device)->dram_bytes;
    }
    seq = seq > 64 ? seq - 1 : 256;
  }
  benchmark::DoNotOptimize(bytes);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(variant.groups.size()));
}
BENCHMARK(BM_GroupCost)->ArgName("variant")->Arg(0)->Arg(4)->Arg(7);

}  // namespace
}  // namespace leeway::device
