// Simulated steps per second of host CPU: it bounds how many what-if replays a retuner can afford.
// `played` plays every step, with attribution and counters or for latencies alone; `added_up` takes
// repetitions of loops that nothing can disturb as done, the default. Steps count either way.
// `steps` and `makespan_s` are virtual: they move only when the policy or the cost model does, and
// are the same in all rows of a size.

#include <benchmark/benchmark.h>

#include <optional>
#include <vector>

#include "exec/simulation.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/traffic.h"
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
    config.streams.push_back({stream.name, Priority(stream.priority_level)});
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

BENCHMARK(BM_PlayedAttributed)
    ->ArgName("requests")
    ->Arg(100)
    ->Arg(10000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_PlayedForLatencies)->ArgName("requests")->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AddedUpAttributed)->ArgName("requests")->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway
