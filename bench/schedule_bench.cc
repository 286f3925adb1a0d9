// How far from the best are schedules, and what do they cost? On graphs cut from ideal schedules,
// whose optimum is known: the policy as it serves (online), a central queue by bottom level
// (central), and the placer. Gaps are mean percentages above the optimum over edges of 1, 2, 4 and
// 8 a task; `hits` is the share that the placer schedules optimally.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "base/prng.h"
#include "compile/task_dag.h"
#include "compile/task_placer.h"
#include "leeway/schedule.h"
#include "tests/support/known_graphs.h"

namespace leeway {
namespace {

constexpr std::int64_t kLength = 100'000;
constexpr std::uint64_t kGraphs = 5;  // of each number of edges

double GapOf(std::int64_t makespan) {
  return 100 * (static_cast<double>(makespan) / static_cast<double>(kLength) - 1);
}

void BM_Gap(benchmark::State& state) {
  const auto tasks = static_cast<std::uint32_t>(state.range(0));
  const auto cores = static_cast<std::uint32_t>(state.range(1));
  double online = 0, central = 0, planned = 0, worst = 0, hits = 0, graphs = 0;
  for (auto _ : state) {
    online = central = planned = worst = hits = graphs = 0;
    for (const double edges : {1.0, 2.0, 4.0, 8.0}) {
      for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
        base::Prng prng = base::Prng(seed).Fork(std::to_string(edges));
        const TaskGraph graph = testing::CutFromIdeal(prng, tasks, cores, edges, kLength);
        const compile::TaskDag dag = compile::TaskDag::Make(graph).value();
        ScheduleOptions options;
        options.cores = cores;
        const double gap = GapOf(Schedule(graph, options).value().makespan.count());
        compile::TaskPlacer placer(dag, cores);
        central += GapOf(placer.ByBottomLevel().makespan);
        const std::int64_t best = placer.Improved(seed, 2000, kLength).makespan;
        online += gap;
        worst = std::max(worst, gap);
        planned += GapOf(best);
        hits += best == kLength ? 1 : 0;
        ++graphs;
      }
    }
  }
  state.counters["online"] = online / graphs;
  state.counters["central"] = central / graphs;
  state.counters["placer"] = planned / graphs;
  state.counters["online_worst"] = worst;
  state.counters["hits"] = hits / graphs;
}
// The same of the other online policies. For one request wfq is leeway.
void BM_PolicyGap(benchmark::State& state) {
  const auto tasks = static_cast<std::uint32_t>(state.range(0));
  const auto cores = static_cast<std::uint32_t>(state.range(1));
  std::map<Policy, double> gaps;
  double graphs = 0;
  for (auto _ : state) {
    gaps.clear();
    graphs = 0;
    for (const double edges : {1.0, 2.0, 4.0, 8.0}) {
      for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
        base::Prng prng = base::Prng(seed).Fork(std::to_string(edges));
        const TaskGraph graph = testing::CutFromIdeal(prng, tasks, cores, edges, kLength);
        ScheduleOptions options;
        options.cores = cores;
        for (const Policy policy : kPolicies) {
          options.policy = policy;
          gaps[policy] += GapOf(Schedule(graph, options).value().makespan.count());
        }
        ++graphs;
      }
    }
  }
  for (const auto& [policy, gap] : gaps) {
    state.counters[std::string(PolicyName(policy))] = gap / graphs;
  }
}
BENCHMARK(BM_PolicyGap)
    ->ArgNames({"tasks", "cores"})
    ->ArgsProduct({{50, 100, 300, 1000}, {2, 4, 8, 16}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

BENCHMARK(BM_Gap)
    ->ArgNames({"tasks", "cores"})
    ->ArgsProduct({{50, 100, 300, 1000}, {2, 4, 8, 16}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway
