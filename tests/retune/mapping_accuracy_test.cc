#include "retune/mapping_accuracy.h"

#include <cmath>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::retune {
namespace {

using telemetry::ExecutedSteps;

ExecutedSteps Kind(std::int64_t planned, std::int64_t modelled, std::uint64_t steps) {
  ExecutedSteps kind;
  kind.op_key = 1;
  kind.planned = Nanos{planned};
  kind.modelled = Nanos{modelled};
  kind.steps = steps;
  return kind;
}

double SumOf(const MappingAccuracy& a) {
  return a.accuracy + a.lost_envelope + a.lost_variant + a.lost_placement + a.lost_cost;
}

}  // namespace

TEST_CASE("accuracy and its losses sum to one, and fallback time is what the envelope loses",
          "[retune][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<ExecutedSteps> executed;
  const std::size_t kinds = 1 + prng.Below(40);
  for (std::size_t i = 0; i < kinds; ++i) {
    const auto time = static_cast<std::int64_t>(1 + prng.Below(1'000'000));
    ExecutedSteps kind =
        Kind(time, 1 + static_cast<std::int64_t>(prng.Below(2'000'000)), 1 + prng.Below(1000));
    kind.op_key = prng.Below(5);
    kind.size_quarter = static_cast<std::uint32_t>(prng.Below(10));
    kind.fallback = prng.Below(6) == 0;
    kind.rebound = prng.Below(6) == 0;
    if (prng.Below(3) == 0) kind.displaced = prng.Below(kind.steps + 1);
    executed.push_back(kind);
  }
  const device::Reality noisy({seed, 0.3, 0.2});
  for (const device::Reality* reality : {static_cast<const device::Reality*>(nullptr), &noisy}) {
    const MappingAccuracy accuracy = AccuracyOf(executed, reality).value();
    CHECK(SumOf(accuracy) == Approx(1).epsilon(1e-12));
    CHECK(accuracy.lost_cost >= 0);
    CHECK(FallbackTime(executed, reality) == Approx(accuracy.lost_envelope).epsilon(1e-12));
    CHECK(accuracy.accuracy_10 <= accuracy.accuracy + 1e-15);
    CHECK(accuracy.accuracy <= accuracy.accuracy_25 + 1e-15);
  }
}

TEST_CASE("each kind of failure is lost to its own check, the first that fails",
          "[retune][accuracy]") {
  const ExecutedSteps good = Kind(1000, 1000, 10);
  auto with = [&](auto change) {
    ExecutedSteps kind = good;
    change(kind);
    return AccuracyOf(std::vector<ExecutedSteps>{good, kind}, nullptr).value();
  };
  CHECK(with([](ExecutedSteps&) {}).accuracy == 1);
  CHECK(with([](ExecutedSteps& k) { k.fallback = true; }).lost_envelope == 0.5);
  CHECK(with([](ExecutedSteps& k) { k.rebound = true; }).lost_variant == 0.5);
  CHECK(with([](ExecutedSteps& k) { k.displaced = 5; }).lost_placement == 0.25);
  const MappingAccuracy slow = with([](ExecutedSteps& k) { k.planned = Nanos{800}; });
  CHECK(slow.lost_cost == 0.5);
  CHECK(slow.accuracy_25 == 1);
  // (1000 − 800)·10 of 20,000 ns.
  CHECK(slow.cost_error == Approx(0.1));
  const MappingAccuracy all = with([](ExecutedSteps& k) {
    k.fallback = k.rebound = true;
    k.displaced = 10;
    k.planned = Nanos{1};
  });
  CHECK(all.lost_envelope == 0.5);
  CHECK(all.accuracy == 0.5);
}

TEST_CASE("too slow and too fast by the same factor fail alike", "[retune][accuracy]") {
  for (const std::int64_t off : {1150, 1151}) {
    const double expected = off == 1150 ? 1 : 0;
    CHECK(AccuracyOf(std::vector{Kind(1000, off, 1)}, nullptr)->accuracy == expected);
    CHECK(AccuracyOf(std::vector{Kind(off, 1000, 1)}, nullptr)->accuracy == expected);
  }
}

TEST_CASE("the wider the noise, the lower the accuracy; its range covers the served seed",
          "[retune][accuracy]") {
  std::vector<ExecutedSteps> executed;
  for (std::uint64_t key = 0; key < 400; ++key) {
    ExecutedSteps kind = Kind(1000, 1000, 1);
    kind.op_key = key;
    executed.push_back(kind);
  }
  const device::Reality usual({0, 0.08, 0.06}), wild({0, 0.3, 0.06});
  const double accurate = AccuracyOf(executed, &usual)->accuracy;
  // P(|z| ≤ ln 1.15 / 0.1) = 0.838; six standard errors of 400 draws are 0.11.
  CHECK(accurate == Approx(0.838).margin(0.11));
  // P(|z| ≤ ln 1.15 / 0.306) = 0.352.
  CHECK(AccuracyOf(executed, &wild)->accuracy == Approx(0.352).margin(0.15));
  const auto range = AccuracyRange(executed, usual.noise(), 8).value();
  CHECK(range.first <= accurate);
  CHECK(accurate <= range.second);
  CHECK(range.first < range.second);
}

TEST_CASE("the interval of the accuracy is as wide as the windows differ", "[retune][accuracy]") {
  constexpr std::size_t kWindows = 40;
  std::vector<ExecutedSteps> alike, mixed;
  for (std::uint32_t w = 0; w < kWindows; ++w) {
    for (const bool fallback : {false, true}) {
      ExecutedSteps kind = Kind(1000, 1000, 5);
      kind.window = w;
      kind.fallback = fallback;
      alike.push_back(kind);
      kind.fallback = w < kWindows / 2;
      mixed.push_back(kind);
    }
  }
  const auto same = AccuracyInterval(alike, nullptr, kWindows, 1).value();
  CHECK(same.first == 0.5);
  CHECK(same.second == 0.5);
  const auto range = AccuracyInterval(mixed, nullptr, kWindows, 1).value();
  CHECK(range.first < 0.5);
  CHECK(0.5 < range.second);
  // Ten blocks of four windows, all of one kind but for where the kinds meet: the share of one kind
  // has a standard error of about √(0.25/10), and 95 % are four of them wide.
  CHECK(range.second - range.first == Approx(4 * std::sqrt(0.25 / 10)).margin(0.15));
  CHECK_FALSE(AccuracyInterval(std::vector<ExecutedSteps>(alike.begin(), alike.begin() + 4),
                               nullptr, 3, 1));
}

TEST_CASE("where nothing ran there is no accuracy", "[retune][accuracy]") {
  CHECK_FALSE(AccuracyOf({}, nullptr));
  CHECK_FALSE(AccuracyRange({}, {}, 8));
  CHECK(FallbackTime({}, nullptr) == 0);
}

}  // namespace leeway::retune
