// Simulated steps per second of host CPU, attribution and counters included: it bounds how many
// what-if replays a retuner can afford. `steps` and `makespan_s` are virtual: they move only when
// the policy or the cost model does.

#include <benchmark/benchmark.h>

#include "leeway/simulate.h"

namespace leeway {
namespace {

void BM_Simulate(benchmark::State& state) {
  const Plan plan = Plan::Load("llama2_7b_prefill").value();
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const Traffic traffic =
      Traffic::Open("chat_1h").value().Limit(static_cast<std::uint64_t>(state.range(0)));
  std::uint64_t steps = 0;
  Nanos makespan{0};
  for (auto _ : state) {
    const SimResult result = Simulate(plan, device, traffic).value();
    steps += result.steps();
    makespan = result.makespan();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(steps));
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kAvgIterations);
  state.counters["makespan_s"] = static_cast<double>(makespan.count()) / 1e9;
}
BENCHMARK(BM_Simulate)
    ->ArgName("requests")
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway
