// What does one operator's cost take? At a tiling that is given, with the tile searched, and looked
// up again as the scheduler does once dims are known. Limits: 1 µs at a given tiling, 50 ns cached.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "device/step_detail.h"
#include "leeway/plan_builder.h"
#include "plan/body.h"
#include "sched/cost_table.h"

namespace leeway {
namespace {

device::Spec Shipped() {
  const auto file = base::FindShipped(base::ShippedKind::kDevice, "onnxim_tpuv4_c4");
  return device::ParseSpec(file->bytes, file->name).value();
}

// A product of seq rows, or a convolution of a batch of images.
enum Kind : std::int64_t { kGemm, kConv };

Plan PlanOf(std::int64_t kind) {
  PlanBuilder builder("operator", {"bench", ""});
  const Size rows = builder.Dim("rows", {1, 65'536}, BatchRule::kMax);
  const EntryRef entry = builder.Entry("main");
  if (kind == kGemm) {
    entry.Op("op", Gemm{.m = rows, .n = 4096, .k = 4096},
             {entry.Input("x", DType::kBf16, {rows, 4096}),
              entry.Weight("w", DType::kBf16, {4096, 4096})});
  } else {
    Conv conv{.n = rows, .h = 56, .w = 56, .c = 64, .filters = 64, .kernel_h = 3, .kernel_w = 3};
    conv.padding = 1;
    entry.Op("op", conv,
             {entry.Input("x", DType::kBf16, {rows, 56, 56, 64}),
              entry.Weight("w", DType::kBf16, {64, 3, 3, 64})});
  }
  return std::move(builder).Build().value();
}

void CostAt(benchmark::State& state, const plan::Tiling& tiling) {
  const Plan plan = PlanOf(state.range(0));
  const device::Spec device = Shipped();
  const plan::Entry& entry = plan.body()->entries[0];
  std::int64_t rows = 0;
  for (auto _ : state) {
    rows = rows % 64 + 1;
    const std::int64_t dims[] = {rows * 8};
    benchmark::DoNotOptimize(device::OperatorDetail(*plan.body(), entry, entry.operators[0], dims,
                                                    1, device.classes[0], device, tiling));
  }
}

void BM_GivenTiling(benchmark::State& state) { CostAt(state, {.m = 128, .n = 128, .k = 256}); }
BENCHMARK(BM_GivenTiling)->ArgName("conv")->Arg(kGemm)->Arg(kConv);

void BM_SearchedTiling(benchmark::State& state) { CostAt(state, {}); }
BENCHMARK(BM_SearchedTiling)->ArgName("conv")->Arg(kGemm)->Arg(kConv);

void BM_Cached(benchmark::State& state) {
  const device::Spec device = Shipped();
  sched::CostCache cache;
  constexpr std::int64_t kShapes = 256;
  for (std::int64_t rows = 1; rows <= kShapes; ++rows) {
    sched::CostTable table;
    table.dims = {rows, 1};
    table.costs.resize(64);
    cache.Add(std::move(table));
  }
  std::int64_t rows = 0;
  for (auto _ : state) {
    rows = rows % kShapes + 1;
    const auto table = cache.Find({rows, 1});
    benchmark::DoNotOptimize(table->cost(sched::NodeId(7), 0).compute);
  }
}
BENCHMARK(BM_Cached);

}  // namespace
}  // namespace leeway
