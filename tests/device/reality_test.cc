#include "device/reality.h"

#include <cmath>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {

TEST_CASE("a factor follows from seed, operator and size, and from nothing that was asked before",
          "[device][reality]") {
  const Reality a({.seed = 3});
  const Reality b({.seed = 3});
  const std::int64_t first = a.Factor(17, 40);
  for (std::uint64_t key = 0; key < 100; ++key) (void)b.Factor(key, 8);
  CHECK(b.Factor(17, 40) == first);
  CHECK(Reality({.seed = 4}).Factor(17, 40) != first);
  CHECK(a.Factor(18, 40) != first);
  CHECK(a.Factor(17, 41) != first);
}

TEST_CASE("without spread every factor is one", "[device][reality]") {
  const Reality exact({.seed = 9, .per_operator = 0, .per_size = 0});
  for (std::uint64_t key = 0; key < 50; ++key) CHECK(exact.Factor(key, 12) == Reality::kOne);
}

TEST_CASE("factors are log-normal with the spreads that were asked for", "[device][reality]") {
  const Reality reality({.seed = 1, .per_operator = 0.08, .per_size = 0.06});
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double log =
        std::log(static_cast<double>(reality.Factor(static_cast<std::uint64_t>(i), 7)) /
                 static_cast<double>(Reality::kOne));
    sum += log;
    squares += log * log;
  }
  // Six standard errors: σ/√n of the mean, σ/√(2n) of the spread.
  const double spread = std::sqrt(0.08 * 0.08 + 0.06 * 0.06);
  CHECK(std::abs(sum / kDraws) < 6 * spread / std::sqrt(kDraws));
  CHECK(std::abs(std::sqrt(squares / kDraws) - spread) < 6 * spread / std::sqrt(2.0 * kDraws));
}

TEST_CASE("a scaled step lasts so many times as long, and keeps its demand", "[device][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  base::Prng prng(seed);
  StepCost cost;
  cost.launch = Nanos{static_cast<std::int64_t>(prng.Below(1000))};
  cost.fill = Nanos{static_cast<std::int64_t>(prng.Below(1000))};
  cost.drain = Nanos{static_cast<std::int64_t>(prng.Below(1000))};
  cost.compute = Nanos{1 + static_cast<std::int64_t>(prng.Below(1'000'000))};
  cost.cap = 1 + static_cast<ByteUnits>(prng.Below(std::uint64_t{1} << 30));
  // Bound by computation or by its own port.
  cost.body_bytes = cost.cap * (cost.compute.count() + static_cast<std::int64_t>(prng.Below(1000)));
  const std::int64_t factor = Reality::kOne / 2 + static_cast<std::int64_t>(prng.Below(2 << 20));
  const StepCost scaled = Scaled(cost, factor);
  CHECK(scaled.cap == cost.cap);
  CHECK(scaled.launch == cost.launch);
  const double wanted = static_cast<double>(cost.Alone(cost.cap).count()) *
                        static_cast<double>(factor) / static_cast<double>(Reality::kOne);
  const auto got = static_cast<double>(scaled.Alone(cost.cap).count());
  // Three parts and the body are rounded up, each by less than a nanosecond.
  CHECK(got >= wanted - 1e-3);
  CHECK(got <= wanted + 4);
  CHECK(Scaled(cost, Reality::kOne).Alone(cost.cap) == cost.Alone(cost.cap));
}

}  // namespace leeway::device
