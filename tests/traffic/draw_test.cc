#include "traffic/draw.h"

#include <numeric>
#include <vector>

#include "tests/catch.h"
#include "tests/traffic/support/distance.h"

namespace leeway::traffic {
namespace {

using testing::DkwBound;
using testing::KolmogorovDistance;

// Over all tests of this file together: none fails by chance once in a million seeds.
constexpr double kAlpha = 1e-7;

TEST_CASE("apportioned shares sum to the total and differ from the quota by less than one",
          "[traffic][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<std::uint64_t> weights(1 + prng.Below(40));
  for (std::uint64_t& weight : weights) weight = prng.Below(4) == 0 ? 0 : prng.Below(1'000'000);
  weights.back() = 1;
  const std::uint64_t total = prng.Below(5'000);
  const double sum =
      static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  const std::vector<std::uint64_t> shares = Apportion(total, weights);
  CHECK(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}) == total);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double quota = static_cast<double>(total) * static_cast<double>(weights[i]) / sum;
    CHECK(std::abs(static_cast<double>(shares[i]) - quota) < 1);
    if (weights[i] == 0) CHECK(shares[i] == 0);
  }
}

TEST_CASE("largest remainders go first and ties to the earlier", "[traffic][draw]") {
  using Shares = std::vector<std::uint64_t>;
  CHECK(Apportion(10, Shares{3, 3, 3}) == Shares{4, 3, 3});
  CHECK(Apportion(3, Shares{1, 1, 1, 1, 1}) == Shares{1, 1, 1, 0, 0});
  CHECK(Apportion(5, Shares{47, 16, 37}) == Shares{2, 1, 2});
  CHECK(Apportion(0, Shares{5, 5}) == Shares{0, 0});
  CHECK(Apportion(7, Shares{0, 9, 0}) == Shares{0, 7, 0});
}

TEST_CASE("integer weights keep proportions at any scale", "[traffic][draw]") {
  const double scale = GENERATE(1e-300, 1e-9, 1.0, 1e280);
  const std::vector<double> weights{3 * scale, 0, scale, 4 * scale};
  const std::vector<std::uint64_t> integers = IntegerWeights(weights);
  const double sum =
      static_cast<double>(std::accumulate(integers.begin(), integers.end(), std::uint64_t{0}));
  CHECK(sum <= 0x1p61);
  CHECK(sum >= 0x1p60 - 4);
  CHECK(integers[1] == 0);
  CHECK(static_cast<double>(integers[0]) / sum == Approx(3.0 / 8).epsilon(1e-15));
  CHECK(static_cast<double>(integers[2]) / sum == Approx(1.0 / 8).epsilon(1e-15));
}

TEST_CASE("weighted lengths are drawn by their weights", "[traffic][draw]") {
  const WeightedLengths lengths({{3, 0.2}, {5, 0}, {9, 0.5}, {1000, 0.3}});
  base::Prng prng(11);
  std::vector<std::int64_t> drawn(20'000);
  for (std::int64_t& length : drawn) length = lengths.Draw(prng);
  const auto f = [](std::int64_t x) { return x < 3 ? 0 : x < 9 ? 0.2 : x < 1000 ? 0.7 : 1; };
  CHECK(KolmogorovDistance(drawn, f) < DkwBound(drawn.size(), kAlpha));
  CHECK(std::count(drawn.begin(), drawn.end(), 5) == 0);
}

TEST_CASE("lengths between two quantiles have equal shares and atoms their own",
          "[traffic][draw]") {
  // A fifth is exactly 7.
  const std::vector<double> positions{0, 0.4, 0.6, 1};
  const std::vector<std::int64_t> values{1, 7, 7, 1007};
  const QuantileLengths lengths(positions, values);
  base::Prng prng(12);
  std::vector<std::int64_t> drawn(50'000);
  for (std::int64_t& length : drawn) length = lengths.Draw(prng);
  // Rounded to the nearest: length x stands for [x − ½, x + ½).
  const auto f = [](std::int64_t x) {
    const double y = static_cast<double>(x) + 0.5;
    if (y < 7) return 0.4 * (y - 1) / 6;
    return y >= 1007 ? 1 : 0.6 + 0.4 * (y - 7) / 1000;
  };
  CHECK(KolmogorovDistance(drawn, f) < DkwBound(drawn.size(), kAlpha));
  const auto [least, largest] = std::minmax_element(drawn.begin(), drawn.end());
  CHECK(*least == 1);
  CHECK(*largest <= 1007);
}

TEST_CASE("two positions that are one number of 53 bits do no harm", "[traffic][draw]") {
  const QuantileLengths lengths(std::vector<double>{0, 1e-30, 2e-30, 1},
                                std::vector<std::int64_t>{1, 2, 3, 3});
  base::Prng prng(13);
  for (int i = 0; i < 1000; ++i) CHECK(lengths.Draw(prng) == 3);
}

TEST_CASE("windows and streams draw independently of each other", "[traffic][draw]") {
  CHECK(CellPrng(1, 2, 3).Next() == CellPrng(1, 2, 3).Next());
  CHECK(CellPrng(1, 2, 3).Next() != CellPrng(2, 2, 3).Next());
  CHECK(CellPrng(1, 2, 3).Next() != CellPrng(1, 3, 3).Next());
  CHECK(CellPrng(1, 2, 3).Next() != CellPrng(1, 2, 2).Next());
}

}  // namespace
}  // namespace leeway::traffic
