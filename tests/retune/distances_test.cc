#include "retune/distances.h"

#include <cmath>

#include "tests/catch.h"

namespace leeway::retune {
namespace {

constexpr std::int64_t kMax = 4096;

TEST_CASE("a sample of exactly the declared shares is at no distance", "[retune][distance]") {
  const LengthHistogram declared({{100, 0.25}, {400, 0.75}});
  const Distances d =
      DistancesFrom(declared, LengthHistogram({{100, 10}, {400, 30}}), kMax, TokenCost);
  CHECK(d.psi == Approx(0).margin(1e-15));
  CHECK(d.js == Approx(0).margin(1e-15));
  CHECK(d.wasserstein == Approx(0).margin(1e-12));
  CHECK(d.work_ks == Approx(0).margin(1e-15));
}

TEST_CASE("distances are those of the definitions", "[retune][distance]") {
  // Shares (1/2, 1/2) against (1/4, 3/4) of 1,000 requests in two of twelve octaves.
  const LengthHistogram declared({{100, 1}, {400, 1}});
  const LengthHistogram observed({{100, 250}, {400, 750}});
  const Distances d = DistancesFrom(declared, observed, kMax, TokenCost);
  const double p = 500.5 / 1006, q = 250.5 / 1006, r = 750.5 / 1006;
  CHECK(d.psi == Approx((q - p) * std::log(q / p) + (r - p) * std::log(r / p)));
  auto half = [](double a, double b) { return a * std::log2(2 * a / (a + b)) / 2; };
  CHECK(d.js == Approx(half(p, q) + half(q, p) + half(p, r) + half(r, p)));
  CHECK(d.wasserstein == Approx(0.25 * 300));
  // Work at and below 100: 100 of 500 declared, 25,000 of 325,000 observed.
  CHECK(d.work_ks == Approx(0.2 - 25.0 / 325));
}

TEST_CASE("nothing in common is a Jensen-Shannon divergence of almost one bit",
          "[retune][distance]") {
  const Distances d = DistancesFrom(LengthHistogram({{10, 1}}), LengthHistogram({{3000, 100'000}}),
                                    kMax, TokenCost);
  CHECK(d.js > 0.99);
  CHECK(d.js <= 1);
  CHECK(d.work_ks == 1);
  CHECK(d.wasserstein == 2990);
}

TEST_CASE("lengths below the twelfth octave share a bin, those past the domain the last",
          "[retune][distance]") {
  // Octaves of a domain to 65,536 reach down to 32: 2 and 40 are one bin.
  const LengthHistogram declared({{2, 1}});
  CHECK(DistancesFrom(declared, LengthHistogram({{40, 100}}), 65'536, TokenCost).psi ==
        Approx(0).margin(1e-15));
  CHECK(DistancesFrom(LengthHistogram({{65'536, 1}}), LengthHistogram({{1'000'000, 100}}), 65'536,
                      TokenCost)
            .psi == Approx(0).margin(1e-15));
}

TEST_CASE("the null of PSI over filled bins is the chi-square that theory gives",
          "[retune][oracle]") {
  // Twelve equal bins, 12,000 requests: n·PSI is about χ² of 11 degrees, whose 99.9 % quantile is
  // 31.26. The quantile's standard error over 4,000 samples is about 4 %; four of them are allowed.
  std::vector<LengthWeight> octaves;
  for (int bit = 1; bit <= 12; ++bit) octaves.push_back({std::int64_t{1} << bit, 1});
  base::Prng prng(1);
  const Distances null = NullQuantiles(LengthHistogram(octaves), 12'000, kMax, TokenCost, prng);
  CHECK(null.psi * 12'000 == Approx(31.26).epsilon(0.16));
  CHECK(null.js > 0);
  CHECK(null.work_ks > 0);
}

TEST_CASE("larger samples have lower thresholds, and equal seeds equal ones",
          "[retune][property]") {
  const LengthHistogram declared({{100, 0.5}, {400, 0.3}, {1000, 0.2}});
  auto null = [&](std::uint64_t requests) {
    base::Prng prng(9);
    return NullQuantiles(declared, requests, kMax, TokenCost, prng);
  };
  CHECK(null(500) == null(500));
  Distances last = null(100);
  for (const std::uint64_t requests : {1000, 10'000, 100'000}) {
    const Distances next = null(requests);
    CHECK(next.psi < last.psi);
    CHECK(next.js < last.js);
    CHECK(next.wasserstein < last.wasserstein);
    CHECK(next.work_ks < last.work_ks);
    last = next;
  }
}

TEST_CASE("a single declared length has no spread", "[retune][distance]") {
  base::Prng prng(1);
  CHECK(NullQuantiles(LengthHistogram({{512, 3}}), 1000, kMax, TokenCost, prng).wasserstein == 0);
}

}  // namespace
}  // namespace leeway::retune
