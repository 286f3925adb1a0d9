#include "device/power_loop.h"

#include <cmath>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

Spec Warm() {
  Spec spec;
  spec.power.static_watts = 90;
  Thermal ladder;
  ladder.nodes = {{0.81, 0.0083}, {3.2, 0.02}, {228, 0.1}};
  ladder.ambient_celsius = 35;
  ladder.leakage_watts = 30;
  ladder.leakage_celsius = 45;
  ladder.leakage_per_kelvin = 0.009;
  spec.power.thermal = ladder;
  return spec;
}

// V10, plumbing.
TEST_CASE("the energy is the integral of the power to the picojoule", "[device][plumbing]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 20)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Spec spec = Warm();
  PowerLoop loop(spec);
  absl::int128 integral = 0, spent = 0;
  for (int i = 0; i < 2000; ++i) {
    for (std::uint64_t n = prng.Below(4); n > 0; --n) {
      spent += loop.Spend(static_cast<std::int64_t>(prng.Below(100'000'000'000)),
                          static_cast<std::int64_t>(prng.Below(10'000'000'000)));
    }
    loop.EndPeriod();
    integral += std::llround(loop.watts() * 1e3 * static_cast<double>(loop.period().count()));
  }
  CHECK(integral == spent + loop.BackgroundPj(loop.now()));
}

TEST_CASE("idleness stays as warm as it began, and draws its static power", "[device][unit]") {
  const Spec spec = Warm();
  PowerLoop loop(spec);
  const double celsius = loop.die_celsius();
  // 60 W fixed, leakage of about 30 W, 0.1283 K/W.
  CHECK(celsius == Approx(35 + 0.1283 * 90).margin(0.5));
  loop.Rest(1'000'000);
  CHECK(loop.die_celsius() == Approx(celsius).epsilon(1e-6));
  CHECK(loop.watts() == Approx(90).margin(1));
  CHECK(loop.now() == Instant(Nanos{1'000'000'000'000}));
}

TEST_CASE("a long rest cools as many short periods do", "[device][property]") {
  const Spec spec = Warm();
  const std::int64_t periods = GENERATE(1, 63, 64, 65, 1000, 5000, 77'777);
  PowerLoop strides(spec), singly(spec);
  for (PowerLoop* loop : {&strides, &singly}) {
    for (int i = 0; i < 20'000; ++i) {
      loop->Spend(200'000'000'000, 0);
      loop->EndPeriod();
    }
  }
  const double hot = strides.die_celsius();
  strides.Rest(periods);
  for (std::int64_t i = 0; i < periods; ++i) singly.EndPeriod();
  CHECK(strides.now() == singly.now());
  // Leakage is held for a stride: at most a second, while the sink takes tens of them.
  CHECK(strides.die_celsius() == Approx(singly.die_celsius()).margin(0.01 * (hot - 35)));
}

TEST_CASE("a die that runs away is found out and says so", "[device][unit]") {
  Spec spec = Warm();
  spec.power.thermal->leakage_per_kelvin = 0.03;
  spec.power.thermal->nodes.back().kelvins_per_watt = 0.2;
  // Stable at rest, not under 200 W more.
  REQUIRE(SteadyCelsius(*spec.power.thermal, 60).has_value());
  REQUIRE_FALSE(SteadyCelsius(*spec.power.thermal, 260).has_value());
  PowerLoop loop(spec);
  int periods = 0;
  while (!loop.ran_away() && periods < 1'000'000) {
    loop.Spend(200'000'000'000, 0);
    loop.EndPeriod();
    ++periods;
  }
  CHECK(loop.ran_away());
  CHECK(loop.summary().max_celsius > PowerLoop::kRunawayCelsius);
}

TEST_CASE("leakage adds to what is drawn as the die warms", "[device][unit]") {
  const Spec spec = Warm();
  Spec cold = Warm();
  cold.power.thermal->leakage_per_kelvin = 0;
  PowerLoop with(spec), without(cold);
  for (PowerLoop* loop : {&with, &without}) {
    for (int i = 0; i < 60'000; ++i) {
      loop->Spend(200'000'000'000, 0);
      loop->EndPeriod();
    }
  }
  CHECK(without.watts() == Approx(290));
  // The hotter die's leakage at its own temperature.
  const double leakage = LeakageWatts(*spec.power.thermal, with.die_celsius(), 0);
  CHECK(with.watts() == Approx(60 + 200 + leakage).epsilon(1e-4));
  CHECK(with.watts() > 295);
}

}  // namespace
}  // namespace leeway::device
