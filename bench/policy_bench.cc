// How do the policies serve streams that compete? One row a mix and policy, means over five seeds,
// times in ns: each figure, the bound that theory gives it, and the share of seeds that kept all
// bounds. docs/policies.md has the table. Values are virtual: they move only when a policy does.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/mixes.h"

namespace leeway {
namespace {

constexpr std::uint64_t kSeeds = 5;

void Serve(benchmark::State& state, const testing::Scenario& scenario, Policy policy) {
  std::vector<testing::Figure> sums;
  double kept = 0;
  for (auto _ : state) {
    sums.clear();
    kept = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto figures = scenario.judge(ServeMix(scenario.mix, policy, seed));
      if (sums.empty()) sums.resize(figures.size());
      bool all = true;
      for (std::size_t i = 0; i < figures.size(); ++i) {
        sums[i].name = figures[i].name;
        sums[i].value += figures[i].value / kSeeds;
        sums[i].bound += figures[i].bound / kSeeds;
        all = all && figures[i].holds();
      }
      kept += all ? 1.0 / kSeeds : 0;
    }
  }
  for (const testing::Figure& sum : sums) {
    state.counters[sum.name] = sum.value;
    if (sum.bound > 0) state.counters[sum.name + " (bound)"] = sum.bound;
  }
  state.counters["kept"] = kept;
}

// Google Benchmark has no other place to register what is computed.
const bool registered = [] {
  static const std::vector<testing::Scenario> pack = testing::ScenarioPack();
  for (const testing::Scenario& scenario : pack) {
    for (Policy policy : kPolicies) {
      const std::string name = scenario.mix.name + "/" + std::string(PolicyName(policy));
      benchmark::RegisterBenchmark(
          name.c_str(),
          [&scenario, policy](benchmark::State& state) { Serve(state, scenario, policy); })
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace leeway
