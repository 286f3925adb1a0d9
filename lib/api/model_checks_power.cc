// V9, V10 and V11: the clock that power holds down, heat and energy against mathematics, and what a
// TPU v4 draws.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/model_checks.h"
#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "device/full_load.h"
#include "device/governor.h"
#include "device/power_loop.h"
#include "leeway/device.h"

namespace leeway::api {
namespace {

using device::PowerLoop;

double Distance(double a, double b) { return a < b ? b - a : a - b; }

ModelCheck Plumbing(const char* name, std::string what, double ours, double reference,
                    const char* unit, double tolerance, const char* source) {
  return {.name = name,
          .what = std::move(what),
          .ours = ours,
          .reference = reference,
          .unit = unit,
          .tolerance = tolerance,
          .kind = CheckKind::kPlumbing,
          .source = source};
}

// ± 1 mV.
void AddVolts(const device::Dvfs& dvfs, Checks& checks) {
  struct Point {
    std::int64_t mhz;
    double millivolts;
  };
  for (const Point& of : {Point{800, 703}, {1000, 728}, {1200, 779}, {1350, 833}}) {
    checks.push_back(Plumbing(
        "V9", "Blackhole P150A, voltage at " + std::to_string(of.mhz) + " MHz",
        1e3 * device::VoltsAt(dvfs, of.mhz * 1'000'000), of.millivolts, "mV", 1 / of.millivolts,
        "Tenstorrent's firmware, bh_arc/vf_curve.c, with its 25 mV margin"));
  }
}

// Power in each millisecond of a device that would draw twice its power limit at its full clock.
std::vector<double> TwiceTheLimit(device::Dvfs dvfs, double limit) {
  constexpr double kStatic = 30;
  device::Spec spec;
  spec.power.static_watts = kStatic;
  spec.power.dvfs = std::move(dvfs);
  PowerLoop loop(spec);
  std::vector<double> watts;
  for (int i = 0; i < 3000; ++i) {
    const double share =
        static_cast<double>(loop.clock()) / static_cast<double>(device::kNominalClock);
    loop.Spend(base::RoundToInt64((2 * limit - kStatic) * share * 1e9).value_or(0), 0);
    loop.EndPeriod();
    watts.push_back(loop.watts());
  }
  return watts;
}

// The power limiter alone: a megahertz is a third of a watt.
void AddThrottle(device::Dvfs dvfs, Checks& checks) {
  constexpr char kSource[] =
      "Tenstorrent's firmware, bh_arc/throttler.c and aiclk_ppm.c: the control law is the model's";
  constexpr double kWatt = 1;
  std::erase_if(dvfs.limiters,
                [](const device::ClockLimiter& limiter) { return limiter.name != "tdp"; });
  const double limit = dvfs.limiters.front().limit;
  const std::vector<double> watts = TwiceTheLimit(std::move(dvfs), limit);
  std::size_t settled = watts.size();
  while (settled > 0 && Distance(watts[settled - 1], limit) < kWatt) --settled;
  checks.push_back(Plumbing("V9", "Blackhole P150A, twice its power limit: settled after",
                            static_cast<double>(settled), 1000, "ms", 0, kSource));
  checks.back().rule = CheckRule::kAtMost;
  const double furthest = *std::max_element(
      watts.begin() + 1000, watts.end(),
      [&](double a, double b) { return Distance(a, limit) < Distance(b, limit); });
  checks.push_back(Plumbing("V9", "Blackhole P150A, twice its power limit: furthest from it later",
                            furthest, limit, "W", kWatt / limit, kSource));
}

// One mass whose leakage does not grow, heated from rest by 240 W more: the temperature furthest
// from its exponential.
ModelCheck Heating() {
  constexpr double kCapacity = 0.81, kResistance = 0.15, kIdle = 60, kMore = 240;
  device::Spec spec;
  spec.power.static_watts = kIdle;
  spec.power.thermal.emplace();
  spec.power.thermal->nodes = {{kCapacity, kResistance}};
  spec.power.thermal->leakage_watts = 20;
  PowerLoop loop(spec);
  ModelCheck furthest;
  for (int tick = 1; tick <= 2000; ++tick) {
    loop.Spend(base::RoundToInt64(kMore * 1e9).value_or(0), 0);
    loop.EndPeriod();
    const double decayed = base::Exp(-1e-3 * tick / (kCapacity * kResistance));
    ModelCheck check = Plumbing("V10", "a thermal step of 240 W, two seconds of 1 ms: furthest",
                                loop.die_celsius(), kResistance * (kIdle + kMore * (1 - decayed)),
                                "K above ambient", 1e-9, "the exponential of the equation");
    if (furthest.name.empty() || Distance(check.error(), 0) > Distance(furthest.error(), 0)) {
      furthest = std::move(check);
    }
  }
  return furthest;
}

// A seeded load on a device with heat: power times time, and what was counted.
ModelCheck Energy(const device::Spec& spec) {
  base::Prng prng(1);
  PowerLoop loop(spec);
  double integral = 0;
  absl::int128 counted = 0;
  for (int i = 0; i < 2000; ++i) {
    // One after the other: arguments are evaluated in no stated order.
    const auto core = static_cast<std::int64_t>(prng.Below(100'000'000'000));
    const auto dram = static_cast<std::int64_t>(prng.Below(10'000'000'000));
    counted += loop.Spend(core, dram);
    loop.EndPeriod();
    integral += loop.watts() * 1e3 * static_cast<double>(loop.period().count());
  }
  counted += loop.BackgroundPj(loop.now());
  return Plumbing("V10", "TPU v4, 2 s of a random load: the integral of power", integral,
                  static_cast<double>(counted), "pJ", 1e-9, "energy counted by events");
}

Result<Checks> TpuV4Power() {
  constexpr char kIdle[] = "Google Cloud: TPU v4, idle; NeuSim's tpuv4.json is the preset";
  constexpr char kBusy[] = "NeuSim, tpuv4.json: all units and 1200 GB/s; it is the preset";
  constexpr double kWatts = 2;
  LEEWAY_ASSIGN_OR_RETURN(const Device device, Device::Load("tpu_v4"));
  const device::Spec& spec = *device.spec();
  Checks checks = {Energy(spec)};
  PowerLoop loop(spec);
  loop.Rest(60'000);
  checks.push_back(
      Plumbing("V11", "TPU v4, idle for a minute", loop.watts(), 90, "W", kWatts / 90, kIdle));
  device::Spec nominal = spec;
  nominal.dram_bytes_per_second = 1'200'000'000'000;
  const double busy = spec.power.static_watts + device::FullLoadOf(nominal).watts();
  checks.push_back(
      Plumbing("V11", "TPU v4, everything on, cold", busy, 282, "W", kWatts / 282, kBusy));
  checks.push_back(Plumbing("V11", "TPU v4, everything on for a minute",
                            device::WattsUnderFullLoad(spec, loop), 300, "W", 0,
                            "Google Cloud: TPU v4, design power"));
  checks.back().rule = CheckRule::kAtMost;
  return checks;
}

}  // namespace

Result<Checks> PowerChecks() {
  LEEWAY_ASSIGN_OR_RETURN(const Device blackhole, Device::Load("tt_blackhole_p150"));
  const device::Dvfs& dvfs = *blackhole.spec()->power.dvfs;
  Checks checks;
  AddVolts(dvfs, checks);
  AddThrottle(dvfs, checks);
  checks.push_back(Heating());
  LEEWAY_ASSIGN_OR_RETURN(const Checks tpu, TpuV4Power());
  checks.insert(checks.end(), tpu.begin(), tpu.end());
  return checks;
}

}  // namespace leeway::api
