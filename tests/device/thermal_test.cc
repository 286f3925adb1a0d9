// Heat against oracles that share no code with it: closed forms, and small steps of a Runge-Kutta
// integration.

#include "device/thermal.h"

#include <cmath>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

constexpr Nanos kMillisecond{1'000'000};

Thermal Ladder(std::vector<ThermalNode> nodes) {
  Thermal ladder;
  ladder.nodes = std::move(nodes);
  ladder.ambient_celsius = 45;
  return ladder;
}

// HotSpot's package (hotspot.config) around a die of 600 mm²: die, spreader, sink with the
// convection's capacity.
Thermal HotSpot() { return Ladder({{0.81, 0.0083}, {3.2, 0.02}, {228, 0.1}}); }

// V10, plumbing: the model is the equation itself.
TEST_CASE("one node follows its exponential for as long as one likes", "[device][plumbing]") {
  const double c = 0.81, r = 0.15;
  const double watts = GENERATE(0.0, 90.0, 300.0);
  const ThermalStep step(Ladder({{c, r}}), kMillisecond);
  Temperatures now{40};
  for (int tick = 1; tick <= 100'000; ++tick) {
    now = step.After(now, watts);
    if (tick % 997 != 0) continue;
    const double steady = watts * r;
    const double exact = steady + (40 - steady) * std::exp(-tick * 1e-3 / (r * c));
    // Temperatures that have died out count absolutely.
    REQUIRE(std::abs(now[0] - exact) <= 1e-9 * std::max(std::abs(exact), 1e-6));
  }
}

// The eigenvalues of a two-node ladder in closed form.
TEST_CASE("two nodes follow the sum of their two exponentials", "[device][plumbing]") {
  const double c1 = 0.81, r1 = 0.0083, c2 = 3.2, r2 = 0.12, watts = 192;
  const ThermalStep step(Ladder({{c1, r1}, {c2, r2}}), kMillisecond);
  const double a = -1 / (c1 * r1), b = 1 / (c1 * r1), c = 1 / (c2 * r1);
  const double d = -1 / (c2 * r1) - 1 / (c2 * r2);
  const double root = std::sqrt((a - d) * (a - d) / 4 + b * c);
  const double fast = (a + d) / 2 - root, slow = (a + d) / 2 + root;
  const double steady1 = watts * (r1 + r2), steady2 = watts * r2;
  // From cold: x = −steady; x = α·(b, fast − a) + β·(b, slow − a).
  const double alpha = (steady2 * b - steady1 * (slow - a)) / (b * (slow - fast));
  const double beta = -steady1 / b - alpha;
  Temperatures now{};
  for (int tick = 1; tick <= 3000; ++tick) {
    now = step.After(now, watts);
    const double t = tick * 1e-3;
    const double p = alpha * std::exp(fast * t), q = beta * std::exp(slow * t);
    REQUIRE(now[0] == Approx(steady1 + b * (p + q)).epsilon(1e-9));
    REQUIRE(now[1] == Approx(steady2 + (fast - a) * p + (slow - a) * q).epsilon(1e-9));
  }
}

Temperatures Slope(const Thermal& ladder, const Temperatures& at, double watts) {
  Temperatures slope{};
  const std::size_t n = ladder.nodes.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double in = i == 0 ? watts : (at[i - 1] - at[i]) / ladder.nodes[i - 1].kelvins_per_watt;
    const double out = (at[i] - (i + 1 < n ? at[i + 1] : 0)) / ladder.nodes[i].kelvins_per_watt;
    slope[i] = (in - out) / ladder.nodes[i].joules_per_kelvin;
  }
  return slope;
}

Temperatures Plus(Temperatures at, const Temperatures& slope, double by) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] += slope[i] * by;
  return at;
}

TEST_CASE("three nodes follow their differential equations", "[device][plumbing]") {
  const Thermal ladder = HotSpot();
  const ThermalStep step(ladder, kMillisecond);
  constexpr double kSmall = 2e-5;
  Temperatures exact{}, now{};
  for (int tick = 1; tick <= 1000; ++tick) {
    const double watts = tick < 500 ? 300 : 20;
    now = step.After(now, watts);
    for (int i = 0; i < 50; ++i) {
      const Temperatures k1 = Slope(ladder, exact, watts);
      const Temperatures k2 = Slope(ladder, Plus(exact, k1, kSmall / 2), watts);
      const Temperatures k3 = Slope(ladder, Plus(exact, k2, kSmall / 2), watts);
      const Temperatures k4 = Slope(ladder, Plus(exact, k3, kSmall), watts);
      for (std::size_t n = 0; n < 3; ++n) {
        exact[n] += kSmall / 6 * (k1[n] + 2 * k2[n] + 2 * k3[n] + k4[n]);
      }
    }
    for (std::size_t n = 0; n < 3; ++n) REQUIRE(now[n] == Approx(exact[n]).epsilon(1e-9));
  }
}

TEST_CASE("a stride of many periods is as many steps of one", "[device][property]") {
  const Thermal ladder = HotSpot();
  const ThermalStep step(ladder, kMillisecond);
  const ThermalStep stride(ladder, 1024 * kMillisecond);
  Temperatures one{30, 20, 10};
  const Temperatures many = stride.After(one, 150);
  for (int i = 0; i < 1024; ++i) one = step.After(one, 150);
  for (std::size_t n = 0; n < 3; ++n) CHECK(many[n] == Approx(one[n]).epsilon(1e-11));
}

// Liao, He and Lepak, TCAD 2005: 23.44 µA at 100 °C against 16.00 at 60 °C, both at 0.95 V; 29.56
// at 100 °C and 1.05 V.
TEST_CASE("leakage grows with heat and voltage as its sources measure", "[device][plumbing]") {
  Thermal ladder = Ladder({{1, 1}});
  ladder.leakage_watts = 16.00;
  ladder.leakage_celsius = 60;
  ladder.leakage_per_kelvin = 0.0095;
  ladder.leakage_per_volt = 2.32;
  CHECK(LeakageWatts(ladder, 60, 0) == Approx(16.00));
  CHECK(LeakageWatts(ladder, 100, 0) == Approx(23.44).epsilon(0.01));
  CHECK(LeakageWatts(ladder, 100, 0.10) == Approx(29.56).epsilon(0.01));
}

// The oracle runs the ladder itself for a simulated hour.
TEST_CASE("a die settles exactly where leakage times its growth times the resistance stays below 1",
          "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  CAPTURE(seed);
  base::Prng prng(seed);
  Thermal ladder = HotSpot();
  ladder.nodes.back().kelvins_per_watt = 0.1 + 0.4 * prng.Unit();
  ladder.leakage_watts = 100 * prng.Unit();
  ladder.leakage_celsius = 60;
  ladder.leakage_per_kelvin = 0.005 + 0.02 * prng.Unit();
  const double watts = 300 * prng.Unit();
  const std::optional<double> steady = SteadyCelsius(ladder, watts);
  const ThermalStep second(ladder, Nanos{1'000'000'000});
  Temperatures now{};
  double celsius = ladder.ambient_celsius;
  for (int t = 0; t < 3600 && celsius < 5000; ++t) {
    now = second.After(now, watts + LeakageWatts(ladder, celsius, 0));
    celsius = ladder.ambient_celsius + now[0];
  }
  CAPTURE(steady.value_or(-1), celsius);
  if (!steady) {
    CHECK(celsius >= 5000);
    return;
  }
  CHECK(celsius == Approx(*steady).epsilon(1e-4));
  const double leakage = LeakageWatts(ladder, *steady, 0);
  CHECK(leakage * ladder.leakage_per_kelvin * LadderResistance(ladder) < 1);
}

}  // namespace
}  // namespace leeway::device
