// Heat in the engine: what a clock that follows the power makes of steps, of energy and of the
// parts of a latency.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/random_system.h"
#include "tests/exec/served.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::ArrivalAt;
using testing::OwnDevice;
using testing::Served;
using testing::Task;

constexpr auto kAny = plan::PlacementMode::kAny;
constexpr std::int64_t kMs = 1'000'000;

// From 1 GHz down to half of it at constant voltage.
device::Dvfs Halving(device::ClockLimiter limiter) {
  device::Dvfs dvfs;
  dvfs.min_hz = 500'000'000;
  dvfs.max_hz = 1'000'000'000;
  dvfs.volts_by_mhz = {0.8};
  dvfs.limiters = {std::move(limiter)};
  return dvfs;
}

// What power exceeds 1 W halves the clock at the first tick.
device::ClockLimiter AtOnce() {
  return {"power", device::ClockLimiter::Measure::kPower, 1, 1, 500, 0, 1};
}

exec::SimConfig ConfigOf(testing::TaskGraph tasks, std::uint32_t cores) {
  testing::DeviceShape shape;
  shape.cores = cores;
  return testing::OneByOne(std::move(tasks), shape);
}

// A control period of half a microsecond, so that clocks change many times within a step.
Result<Served> ServeThrottled(const testing::System& system) {
  exec::SimConfig config;
  config.plan = system.plan;
  config.device = system.device;
  config.streams = {{"a", Priority(1)}, {"b", Priority(2)}, {"c", Priority(3)}};
  device::Spec& spec = OwnDevice(config);
  spec.power.period = Nanos{500};
  spec.power.static_watts = 1;
  spec.power.dram_watts_per_gbps = 2;
  device::ClockLimiter limiter = AtOnce();
  limiter.limit = 1.7;
  limiter.proportional = 0.5;
  spec.power.dvfs = Halving(limiter);
  std::vector<exec::SimArrival> arrivals;
  for (const auto& a : system.arrivals) arrivals.push_back(ArrivalAt(a.at_ns, a.seq, a.stream));
  return testing::Serve(config, arrivals);
}

}  // namespace

TEST_CASE("a step stretches by what the clock takes from its computation", "[exec][heat]") {
  exec::SimConfig config = ConfigOf({Task{10 * kMs, {}, kAny, {}, 1, 0}}, 1);
  device::Spec& spec = OwnDevice(config);
  spec.power.static_watts = 2;
  spec.power.dvfs = Halving(AtOnce());
  const Result<Served> served = testing::Serve(config, {ArrivalAt(0, 1)});
  REQUIRE(served.ok());
  // 1 ms at the full clock, 9 ms of work at half of it; a nanosecond of rounding a tick at most.
  const Nanos latency = served->ok.at(0).latency;
  CHECK(latency >= Nanos{19 * kMs});
  CHECK(latency <= Nanos{19 * kMs + 20});
  const Attribution& parts = served->ok.at(0).parts;
  CHECK(parts.part(Cause::kPlanned) == Nanos{10 * kMs});
  CHECK(parts.part(Cause::kThrottle) == latency - Nanos{10 * kMs});
  CHECK(parts.part(Cause::kContention) == Nanos{0});
  const SimSummary& summary = served->record->summary;
  REQUIRE(summary.heat);
  CHECK(summary.heat->min_clock == Approx(0.5));
  CHECK(summary.heat->throttled >= Nanos{18 * kMs});
  CHECK(summary.energy_j == Approx(2 * 0.019).epsilon(1e-4));
}

TEST_CASE("a transfer does not stretch with the clock", "[exec][heat]") {
  exec::SimConfig config = ConfigOf({Task{1, {}, kAny, {}, 1, 10 * kMs}}, 1);
  Nanos cold{0};
  for (const bool hot : {false, true}) {
    device::Spec& spec = OwnDevice(config);
    if (hot) {
      spec.power.static_watts = 2;
      spec.power.dvfs = Halving(AtOnce());
    }
    const Result<Served> served = testing::Serve(config, {ArrivalAt(0, 1)});
    REQUIRE(served.ok());
    const Nanos latency = served->ok.at(0).latency;
    if (hot) {
      CHECK(latency == cold);
      CHECK(served->ok.at(0).parts.part(Cause::kThrottle) == Nanos{0});
    }
    cold = latency;
  }
  CHECK(cold > Nanos{9 * kMs});
}

TEST_CASE("after a rest the clock is back, and time passes without instants", "[exec][heat]") {
  // While one core transfers, at 1.9 W, the other throttles.
  const testing::TaskGraph tasks = {Task{10 * kMs, {}, kAny, {}, 1, 0},
                                    Task{1, {}, kAny, {}, 1, 10 * kMs}};
  exec::SimConfig config = ConfigOf(tasks, 2);
  device::Spec& spec = OwnDevice(config);
  spec.power.dram_watts_per_gbps = 1;
  spec.power.static_watts = 0.9;
  spec.power.dvfs = Halving(AtOnce());
  // 52 days apart.
  const std::int64_t later = (std::int64_t{1} << 52) / kMs * kMs;
  const Result<Served> served = testing::Serve(config, {ArrivalAt(0, 1), ArrivalAt(later, 1)});
  REQUIRE(served.ok());
  CHECK(served->ok.at(0).latency > Nanos{14 * kMs});
  CHECK(served->ok.at(1).latency == served->ok.at(0).latency);
}

TEST_CASE("energy comes to what the steps spend and the static power of the makespan",
          "[exec][heat]") {
  const auto bytes = GENERATE(1'000, 3 * kMs, 50 * kMs);
  exec::SimConfig config = ConfigOf({Task{1, {}, kAny, {}, 1, bytes}}, 2);
  {
    device::Spec& spec = OwnDevice(config);
    spec.power.dram_watts_per_gbps = 0.5;
    spec.power.static_watts = 3;
  }
  std::vector<exec::SimArrival> arrivals;
  for (int i = 0; i < 7; ++i) arrivals.push_back(ArrivalAt(i * kMs / 3, 1));
  const Result<Served> off = testing::Serve(config, arrivals);
  REQUIRE(off.ok());
  CHECK_FALSE(off->record->summary.heat.has_value());
  {
    device::Spec& spec = OwnDevice(config);
    device::Thermal ladder;
    ladder.nodes = {{1, 0.1}, {10, 0.2}};
    ladder.ambient_celsius = 30;
    spec.power.thermal = ladder;
  }
  const Result<Served> on = testing::Serve(config, arrivals);
  REQUIRE(on.ok());
  CHECK(on->ok == off->ok);
  // The last period may be one of which only a part is the makespan's.
  CHECK(on->record->summary.energy_j == Approx(off->record->summary.energy_j).epsilon(1e-9));
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(on->record->summary.cores[c].busy == off->record->summary.cores[c].busy);
  }
  CHECK(on->record->summary.heat->max_celsius >= 30);
}

TEST_CASE("where heat is off, a device that could throttle serves as one that cannot",
          "[exec][heat]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 20)));
  CAPTURE(seed);
  const testing::System system = testing::RandomSystem(seed, testing::GraphShape::Bytes::kSome);
  exec::SimConfig config;
  config.plan = system.plan;
  config.device = system.device;
  config.streams = {{"a", Priority(1)}, {"b", Priority(2)}, {"c", Priority(3)}};
  std::vector<exec::SimArrival> arrivals;
  for (const auto& a : system.arrivals) arrivals.push_back(ArrivalAt(a.at_ns, a.seq, a.stream));
  const Result<Served> cold = testing::Serve(config, arrivals);
  device::Spec& spec = OwnDevice(config);
  spec.power.static_watts = 2;
  spec.power.dvfs = Halving(AtOnce());
  config.heat = exec::CoreClocks::Heat::kOff;
  const Result<Served> off = testing::Serve(config, arrivals);
  REQUIRE(cold.ok());
  REQUIRE(off.ok());
  CHECK(off->ok == cold->ok);
  CHECK(off->record->summary.makespan == cold->record->summary.makespan);
}

TEST_CASE("parts of throttled latencies add up, none is negative, and results repeat",
          "[exec][heat][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  CAPTURE(seed);
  const testing::System system = testing::RandomSystem(seed, testing::GraphShape::Bytes::kSome,
                                                       1 + seed % 2, testing::Classes::kSeveral);
  const Result<Served> served = ServeThrottled(system);
  REQUIRE(served.ok());
  CHECK(served->record->summary.attribution_missing == 0);
  for (const Served::Ended& ended : served->ok) {
    CHECK(ended.parts.total() == ended.latency);
    CHECK(ended.parts.part(Cause::kThrottle) >= Nanos{0});
    CHECK(ended.parts.part(Cause::kContention) >= Nanos{0});
  }
  const Result<Served> again = ServeThrottled(system);
  REQUIRE(again.ok());
  CHECK(again->record->telemetry == served->record->telemetry);
}

TEST_CASE("random systems do throttle, so that the property above says something", "[exec][heat]") {
  // The same as above for all seeds together.
  bool throttled = false;
  for (std::uint64_t seed = 0; seed < 20 && !throttled; ++seed) {
    const testing::System system = testing::RandomSystem(seed, testing::GraphShape::Bytes::kSome);
    const Result<Served> served = ServeThrottled(system);
    REQUIRE(served.ok());
    for (const Served::Ended& ended : served->ok) {
      throttled = throttled || ended.parts.part(Cause::kThrottle) > Nanos{0};
    }
  }
  CHECK(throttled);
}

TEST_CASE("a die that runs away ends the simulation with what happened", "[exec][heat]") {
  exec::SimConfig config = ConfigOf({Task{1, {}, kAny, {}, 1, 2'000 * kMs}}, 1);
  device::Spec& spec = OwnDevice(config);
  spec.power.static_watts = 30;
  spec.power.dram_watts_per_gbps = 200;
  device::Thermal ladder;
  ladder.nodes = {{0.1, 0.5}};
  ladder.ambient_celsius = 30;
  ladder.leakage_watts = 20;
  ladder.leakage_celsius = 45;
  ladder.leakage_per_kelvin = 0.02;
  spec.power.thermal = ladder;
  const Result<Served> served = testing::Serve(config, {ArrivalAt(0, 1)});
  CHECK(served.status().code() == StatusCode::kOutOfRange);
  CHECK_THAT(std::string(served.status().message()),
             Catch::StartsWith("device \"cores\": the die passes 400 degrees at "));
}

}  // namespace leeway
