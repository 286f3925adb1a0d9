// Is the optimum cheap enough to fit at every window, and does the hull pay? FitBuckets() against
// the divide and conquer that the same cost structure also allows, in one run: compare the two
// lines of equal arguments. `cost` must agree between them.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "base/prng.h"
#include "retune/bucketing.h"
#include "tests/retune/support/rivals.h"

namespace leeway::retune {
namespace {

// Every length up to n, light towards the long end, as prompts are.
LengthHistogram Lengths(std::int64_t n) {
  base::Prng prng(1);
  LengthHistogram lengths;
  for (std::int64_t x = 1; x <= n; ++x) {
    lengths.Add(x, prng.Exponential() / static_cast<double>(x));
  }
  return lengths;
}

BucketSpec Spec(std::int64_t buckets) {
  BucketSpec spec;
  spec.max_buckets = static_cast<int>(buckets);
  return spec;
}

void BM_FitBuckets(benchmark::State& state) {
  const LengthHistogram lengths = Lengths(state.range(0));
  const BucketSpec spec = Spec(state.range(1));
  double cost = 0;
  for (auto _ : state) {
    cost = FitBuckets(lengths, spec).cost;
    benchmark::ClobberMemory();
  }
  state.counters["cost"] = cost;
}

void BM_DivideAndConquer(benchmark::State& state) {
  const LengthHistogram lengths = Lengths(state.range(0));
  const BucketSpec spec = Spec(state.range(1));
  double cost = 0;
  for (auto _ : state) {
    cost = testing::DivideAndConquerCost(lengths, spec);
    benchmark::ClobberMemory();
  }
  state.counters["cost"] = cost;
}

BENCHMARK(BM_FitBuckets)
    ->ArgNames({"n", "k"})
    ->Args({8192, 16})
    ->Args({131072, 32})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_DivideAndConquer)
    ->ArgNames({"n", "k"})
    ->Args({8192, 16})
    ->Args({131072, 32})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway::retune
