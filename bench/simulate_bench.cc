// Simulated steps per second of host CPU: it bounds how many what-if replays a retuner can afford.
// `played` plays every step, with attribution and counters or for latencies alone; `added_up` takes
// repetitions of loops that nothing can disturb as done, the default. Steps count either way.
// `steps` and `makespan_s` are virtual: they move only when the policy or the cost model does, and
// are the same in all rows of a size.
//
// `SixteenCores` serves BERT-base on sixteen cores that share one DRAM, ever
// more requests of the same plan: what a step costs must not depend on how many there are. Its
// `peak_MB` is by how much the process may have grown at most, in a child of its own.

#include <benchmark/benchmark.h>

#include <optional>
#include <vector>

#include "bench/sixteen_cores.h"
#include "exec/simulation.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/traffic.h"
#include "tests/support/child_cost.h"
#include "traffic/body.h"

namespace leeway {
namespace {

using exec::SimConfig;

std::vector<exec::SimArrival> ArrivalsOf(const Traffic& traffic) {
  std::vector<exec::SimArrival> arrivals;
  const auto reader = traffic.body()->NewReader(0).value();
  while (const std::optional<traffic::Arrival> from = reader->Next().value()) {
    exec::SimArrival arrival;
    arrival.at = from->at;
    arrival.stream = from->stream;
    arrival.dims = {from->dims[0], 1};
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

void Run(benchmark::State& state, SimConfig::Loops loops, SimConfig::Detail detail) {
  const Plan plan = Plan::Load("llama2_7b_prefill").value();
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const Traffic traffic =
      Traffic::Open("chat_1h").value().Limit(static_cast<std::uint64_t>(state.range(0)));
  const std::vector<exec::SimArrival> arrivals = ArrivalsOf(traffic);
  SimConfig config;
  config.plan = plan.body();
  config.device = device.spec();
  for (const traffic::StreamInfo& stream : traffic.body()->streams()) {
    config.streams.push_back({stream.name, Priority(stream.priority_level.value_or(1))});
  }
  config.loops = loops;
  config.detail = detail;
  std::uint64_t steps = 0;
  Nanos makespan{0};
  for (auto _ : state) {
    std::size_t next = 0;
    const auto record =
        exec::RunSimulation(config, [&]() -> Result<std::optional<exec::SimArrival>> {
          if (next == arrivals.size()) return std::optional<exec::SimArrival>();
          return std::optional(arrivals[next++]);
        }).value();
    steps += record->summary.steps;
    makespan = record->summary.makespan;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(steps));
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kAvgIterations);
  state.counters["makespan_s"] = static_cast<double>(makespan.count()) / 1e9;
}

void BM_PlayedAttributed(benchmark::State& state) {
  Run(state, SimConfig::Loops::kPlay, SimConfig::Detail::kAttributed);
}
void BM_PlayedForLatencies(benchmark::State& state) {
  Run(state, SimConfig::Loops::kPlay, SimConfig::Detail::kLatencies);
}
void BM_AddedUpAttributed(benchmark::State& state) {
  Run(state, SimConfig::Loops::kSkip, SimConfig::Detail::kAttributed);
}

void Serve(benchmark::State& state, SimConfig::Detail detail) {
  const SimConfig config = bench::SixteenCores(detail);
  std::uint64_t steps = 0;
  for (auto _ : state) steps += bench::StepsOf(config, state.range(0));
  state.SetItemsProcessed(static_cast<std::int64_t>(steps));
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kAvgIterations);
  const testing::ChildCost cost = testing::CostOf(
      [&] { return bench::StepsOf(config, state.range(0)) > 0; }, std::size_t{1} << 32);
  if (!cost.ok) return state.SkipWithError("the measured child failed");
  state.counters["peak_MB"] = static_cast<double>(cost.peak_bytes) / 1e6;
}

void BM_SixteenCoresBare(benchmark::State& state) { Serve(state, SimConfig::Detail::kLatencies); }
void BM_SixteenCoresAttributed(benchmark::State& state) {
  Serve(state, SimConfig::Detail::kAttributed);
}

// A request has 62 steps: 10⁴ to 10⁷ of them.
void Requests(benchmark::internal::Benchmark* bench) {
  bench->ArgName("requests")->Unit(benchmark::kMillisecond);
  for (const std::int64_t steps : {10'000, 100'000, 1'000'000, 10'000'000}) {
    bench->Arg((steps + 61) / 62);
  }
}
BENCHMARK(BM_SixteenCoresBare)->Apply(Requests);
BENCHMARK(BM_SixteenCoresAttributed)->Apply(Requests);

BENCHMARK(BM_PlayedAttributed)
    ->ArgName("requests")
    ->Arg(100)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PlayedForLatencies)->ArgName("requests")->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AddedUpAttributed)->ArgName("requests")->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway
