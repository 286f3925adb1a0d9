// The control loop alone and with the power that it controls.

#include "device/governor.h"

#include <cmath>
#include <vector>

#include "device/power_loop.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

using Measure = ClockLimiter::Measure;

// Tenstorrent P150A: limits of fw_table.txt, voltage of vf_curve.c with its margin of 25 mV.
Dvfs Blackhole() {
  Dvfs dvfs;
  dvfs.min_hz = 800'000'000;
  dvfs.max_hz = 1'350'000'000;
  dvfs.volts_by_mhz = {0.85383, -0.43953e-3, 3.1395e-7};
  return dvfs;
}

ClockLimiter Tdp() { return {"tdp", Measure::kPower, 150, 1, 0.015, 0.1, 1}; }

// A device of `static_watts` that draws `full_watts` at its full clock.
struct Load {
  double full_watts = 300, static_watts = 30;
};

// Power after each of `periods`.
std::vector<double> Run(const Spec& spec, const Load& load, int periods, PowerLoop& loop) {
  std::vector<double> watts;
  for (int i = 0; i < periods; ++i) {
    const double share = static_cast<double>(loop.clock()) / static_cast<double>(kNominalClock);
    const double pj = (load.full_watts - spec.power.static_watts) * share * 1e9;
    loop.Spend(static_cast<std::int64_t>(pj), 0);
    loop.EndPeriod();
    watts.push_back(loop.watts());
  }
  return watts;
}

Spec With(Dvfs dvfs, const Load& load) {
  Spec spec;
  spec.power.static_watts = load.static_watts;
  spec.power.dvfs = std::move(dvfs);
  return spec;
}

// V9. The oracle is the clock at which the load draws the limit, by bisection.
TEST_CASE("twice the power limit settles at the limit within a second and stays",
          "[device][plumbing]") {
  const Load load;
  Dvfs dvfs = Blackhole();
  dvfs.limiters = {Tdp()};
  const Spec spec = With(dvfs, load);
  double low = 800, high = 1350;
  const double v0 = VoltsAt(dvfs, dvfs.max_hz);
  for (int i = 0; i < 60; ++i) {
    const double mhz = (low + high) / 2;
    const double v = VoltsAt(dvfs, static_cast<std::int64_t>(mhz * 1e6));
    const double watts = 30 + 270 * mhz / 1350 * (v / v0) * (v / v0);
    (watts < 150 ? low : high) = mhz;
  }
  PowerLoop loop(spec);
  const std::vector<double> watts = Run(spec, load, 3000, loop);
  CHECK(watts[0] == Approx(300));
  std::size_t settled = watts.size();
  while (settled > 0 && std::abs(watts[settled - 1] - 150) < 1) --settled;
  CAPTURE(settled);
  CHECK(settled < 1000);
  // One megahertz is a third of a watt: it never strays further than that and the loop's own step.
  for (std::size_t i = settled; i < watts.size(); ++i) CHECK(std::abs(watts[i] - 150) < 1);
  CHECK(static_cast<double>(loop.clock()) * 1350 / kNominalClock == Approx(low).margin(2));
  // No oscillation on the way: after the plunge of the first periods the power only rises to the
  // limit from below or falls to it from above, but for single steps of a megahertz.
  int turns = 0;
  double extreme = watts[0];
  int direction = -1;
  for (const double w : watts) {
    if (direction * (w - extreme) > 0) extreme = w;
    if (direction * (extreme - w) < 1.5) continue;
    direction = -direction;
    extreme = w;
    ++turns;
  }
  CHECK(turns <= 1);
}

TEST_CASE("a load below the limit keeps the full clock", "[device][unit]") {
  const Load load{.full_watts = 140, .static_watts = 30};
  Dvfs dvfs = Blackhole();
  dvfs.limiters = {Tdp()};
  const Spec spec = With(dvfs, load);
  PowerLoop loop(spec);
  for (const double watts : Run(spec, load, 500, loop)) CHECK(watts == Approx(140));
  CHECK(loop.summary().throttled == Nanos{0});
}

// The default of the P150A ("doppler"): one limiter on the moving average of a second.
TEST_CASE("a limiter on a moving average lets short bursts pass and holds long loads",
          "[device][unit]") {
  const Load load;
  Dvfs dvfs = Blackhole();
  dvfs.limiters = {{"board", Measure::kPower, 150, 1, 0.0025, 0.3, 1000}};
  const Spec spec = With(dvfs, {});
  PowerLoop rested(spec);
  rested.Rest(2000);
  for (const double watts : Run(spec, load, 100, rested)) CHECK(watts > 250);
  const std::vector<double> watts = Run(spec, load, 20'000, rested);
  double sum = 0;
  for (std::size_t i = watts.size() - 1000; i < watts.size(); ++i) sum += watts[i];
  CHECK(sum / 1000 == Approx(150).epsilon(0.02));
}

TEST_CASE("the strictest of several limiters decides", "[device][unit]") {
  Dvfs dvfs = Blackhole();
  dvfs.limiters = {Tdp(), {"tdc", Measure::kCurrent, 1, 1, 0.5, 0, 1}};
  Governor both(dvfs);
  Dvfs only = Blackhole();
  only.limiters = {dvfs.limiters[1]};
  Governor one(only);
  for (int i = 0; i < 20; ++i) {
    both.Advance(100, 0);
    one.Advance(100, 0);
    CHECK(both.hz() == one.hz());
  }
  CHECK(both.hz() == dvfs.min_hz);
}

TEST_CASE("a die above its limit is cooled to it", "[device][unit]") {
  Dvfs dvfs = Blackhole();
  dvfs.limiters = {{"die", Measure::kDieTemperature, 90, 1, 0.2, 0, 1}};
  Spec spec = With(dvfs, {});
  Thermal ladder;
  ladder.nodes = {{0.81, 0.05}, {30, 0.25}};
  ladder.ambient_celsius = 30;
  spec.power.thermal = ladder;
  PowerLoop loop(spec);
  // 300 W would be 120 °C; 90 °C is 200 W.
  const std::vector<double> watts = Run(spec, {}, 120'000, loop);
  CHECK(loop.die_celsius() == Approx(90).margin(0.5));
  CHECK(watts.back() == Approx(200).margin(3));
}

}  // namespace
}  // namespace leeway::device
