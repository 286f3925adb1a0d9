#include "retune/block_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/math.h"
#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::retune {
namespace {

// Latencies of few distinct values, so that ties occur, in windows of which some stay empty.
std::vector<WindowedLatency> RandomLatencies(base::Prng& prng, std::size_t windows,
                                             std::size_t count, std::uint64_t distinct) {
  std::vector<WindowedLatency> latencies;
  for (std::size_t i = 0; i < count; ++i) {
    latencies.push_back({static_cast<std::uint32_t>(prng.Below(windows)),
                         Nanos(static_cast<std::int64_t>(prng.Below(distinct)))});
  }
  return latencies;
}

// Every latency, as often as its window counts, in ascending order.
std::vector<std::int64_t> Expanded(const std::vector<WindowedLatency>& latencies,
                                   const Multiplicities& multiplicity) {
  std::vector<std::int64_t> all;
  for (const WindowedLatency& one : latencies) {
    all.insert(all.end(), multiplicity[one.window], one.latency.count());
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_CASE("a percentile is the nearest rank of the sample written out in full",
          "[retune][oracle]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::size_t windows = 1 + prng.Below(12);
  const auto latencies = RandomLatencies(prng, windows, prng.Below(300), 1 + prng.Below(200));
  const WindowedLatencies sample(windows, latencies);
  for (int round = 0; round < 10; ++round) {
    Multiplicities multiplicity(windows);
    for (auto& times : multiplicity) times = static_cast<std::uint32_t>(prng.Below(4));
    const auto all = Expanded(latencies, multiplicity);
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 1.0}) {
      const auto expected = all.empty() ? 0 : all[base::NearestRank(q, all.size()) - 1];
      CHECK(sample.Percentile(q, multiplicity).count() == expected);
    }
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    CHECK(sample.Mean(multiplicity) ==
          Approx(all.empty() ? 0 : sum / static_cast<double>(all.size())));
  }
}

TEST_CASE("a percentile is the same wherever it lies among the blocks of a large sample",
          "[retune][oracle]") {
  base::Prng prng(11);
  constexpr std::size_t kWindows = 30;
  const auto latencies = RandomLatencies(prng, kWindows, 50'000, 1'000'000);
  const WindowedLatencies sample(kWindows, latencies);
  for (const Multiplicities& multiplicity : BlockResamples(kWindows, 3, 5)) {
    const auto all = Expanded(latencies, multiplicity);
    for (std::uint64_t rank = 1; rank <= all.size(); rank += 997) {
      const double q = static_cast<double>(rank) / static_cast<double>(all.size());
      CHECK(sample.Percentile(q, multiplicity).count() == all[rank - 1]);
    }
  }
}

TEST_CASE("without multiplicities every window counts once", "[retune][unit]") {
  const WindowedLatencies sample(3, {{0, 10ns}, {2, 30ns}, {2, 20ns}, {0, 40ns}});
  CHECK(sample.Percentile(0.5) == 20ns);
  CHECK(sample.Percentile(0.75) == 30ns);
  CHECK(sample.Mean() == 25);
  CHECK(sample.count(0) == 2);
  CHECK(sample.count(1) == 0);
}

TEST_CASE("a sample without latencies has percentiles and a mean of 0", "[retune][unit]") {
  const WindowedLatencies none(2, {});
  CHECK(none.Percentile(0.99) == 0ns);
  CHECK(none.Mean() == 0);
  const WindowedLatencies left_out(2, {{0, 5ns}});
  CHECK(left_out.Percentile(0.99, Multiplicities{0, 2}) == 0ns);
  CHECK(WindowedLatencies(0, {}).Percentile(0.5) == 0ns);
}

TEST_CASE("a resample draws as many windows as there are, in blocks of neighbours",
          "[retune][property]") {
  for (std::size_t windows = 0; windows <= 70; ++windows) {
    CAPTURE(windows);
    for (const Multiplicities& multiplicity : BlockResamples(windows, 20, windows)) {
      REQUIRE(multiplicity.size() == windows);
      CHECK(std::accumulate(multiplicity.begin(), multiplicity.end(), std::size_t{0}) == windows);
    }
  }
  CHECK(BlockLength(0) == 0);
  CHECK(BlockLength(1) == 1);
  CHECK(BlockLength(8) == 2);
  CHECK(BlockLength(9) == 3);
  CHECK(BlockLength(336) == 7);
}

TEST_CASE("every window is drawn equally often, the first and the last too", "[retune][property]") {
  constexpr std::size_t kWindows = 10, kResamples = 20'000;
  std::vector<double> drawn(kWindows);
  for (const Multiplicities& multiplicity : BlockResamples(kWindows, kResamples, 1)) {
    for (std::size_t w = 0; w < kWindows; ++w) drawn[w] += multiplicity[w];
  }
  // A multiplicity is a sum of four blocks' indicators: variance below 1, so that its mean is
  // within five standard errors 1/√20,000 of 1.
  for (const double sum : drawn) CHECK(std::abs(sum / kResamples - 1) < 0.036);
}

TEST_CASE("equal seeds draw equal resamples and unequal ones do not", "[retune][determinism]") {
  CHECK(BlockResamples(40, 50, 7) == BlockResamples(40, 50, 7));
  CHECK(BlockResamples(40, 50, 7) != BlockResamples(40, 50, 8));
  // More resamples begin with the same ones.
  const auto fewer = BlockResamples(40, 10, 7);
  const auto more = BlockResamples(40, 20, 7);
  CHECK(std::equal(fewer.begin(), fewer.end(), more.begin()));
}

TEST_CASE("an interval leaves out equally many values at either end", "[retune][unit]") {
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 0.0);
  std::reverse(values.begin(), values.end());
  CHECK(PercentileInterval(values, 0.95) == Interval{25, 974});
  CHECK(PercentileInterval(values, 0.9) == Interval{50, 949});
  CHECK(PercentileInterval({3}, 0.95) == Interval{3, 3});
  CHECK(PercentileInterval({2, 1}, 0.01) == Interval{1, 2});
  CHECK(Interval{1, 2}.Contains(2));
  CHECK_FALSE(Interval{1, 2}.Contains(0));
}

TEST_CASE("a 90 % interval of independent windows holds the true mean about that often",
          "[retune][property]") {
  // The mean of 64 windows of four exponential latencies each: independent, so that blocks neither
  // help nor harm. Percentile intervals of means of 64 fall short by 2 to 3 points; 400 trials at
  // 87 % have a standard deviation of 1.7 points, and five of them and the shortfall are allowed.
  constexpr std::size_t kWindows = 64;
  constexpr int kTrials = 400;
  base::Prng prng(2024);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<WindowedLatency> latencies;
    for (std::uint32_t w = 0; w < kWindows; ++w) {
      for (int i = 0; i < 4; ++i) {
        latencies.push_back({w, Nanos(static_cast<std::int64_t>(1e6 * prng.Exponential()))});
      }
    }
    const WindowedLatencies sample(kWindows, latencies);
    std::vector<double> means;
    for (const auto& m : BlockResamples(kWindows, 200, static_cast<std::uint64_t>(trial))) {
      means.push_back(sample.Mean(m));
    }
    if (PercentileInterval(means, 0.9).Contains(1e6)) ++held;
  }
  CHECK(held >= kTrials * 785 / 1000);
  CHECK(held <= kTrials * 97 / 100);
}

TEST_CASE("blocks widen the interval of autocorrelated windows", "[retune][property]") {
  // Windows in runs of 7 equal ones: their mean varies as that of n/7 windows. Blocks of
  // ⌈343^⅓⌉ = 7 see most of that, single windows none.
  constexpr std::size_t kWindows = 343;
  base::Prng prng(5);
  std::vector<WindowedLatency> latencies;
  std::int64_t level = 0;
  for (std::uint32_t w = 0; w < kWindows; ++w) {
    if (w % 7 == 0) level = static_cast<std::int64_t>(1e6 * prng.Exponential());
    latencies.push_back({w, Nanos(level)});
  }
  const WindowedLatencies sample(kWindows, latencies);
  std::vector<double> blocks, singles;
  for (const auto& m : BlockResamples(kWindows, 1000, 3)) blocks.push_back(sample.Mean(m));
  for (int resample = 0; resample < 1000; ++resample) {
    Multiplicities m(kWindows);
    for (std::size_t i = 0; i < kWindows; ++i) ++m[prng.Below(kWindows)];
    singles.push_back(sample.Mean(m));
  }
  const Interval wide = PercentileInterval(blocks, 0.95);
  const Interval narrow = PercentileInterval(singles, 0.95);
  CHECK(wide.high - wide.low > 1.5 * (narrow.high - narrow.low));
}

TEST_CASE("an interval leaves out resamples without a value, and there is none without an end",
          "[retune][bootstrap]") {
  std::size_t asked = 0;
  auto constant = [&](const Multiplicities& draw) -> std::optional<double> {
    CHECK(draw.size() == 5);
    return ++asked % 2 == 0 ? std::optional(3.0) : std::nullopt;
  };
  CHECK(BootstrapInterval(5, 1, constant).value() == Interval{3, 3});
  CHECK(asked == kResamples);
  CHECK_FALSE(BootstrapInterval(kFewestWindows - 1, 1, constant));
  CHECK_FALSE(BootstrapInterval(5, 1, [](const Multiplicities&) { return std::nullopt; }));
  CHECK_FALSE(BootstrapInterval(5, 1, [](const Multiplicities& draw) {
    return draw[0] > 0 ? 1.0 : std::numeric_limits<double>::infinity();
  }));
}

}  // namespace
}  // namespace leeway::retune
