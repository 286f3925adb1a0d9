// Memory and slow cores in the engine: sharing gains nothing, whoever is served first, and a slow
// core stretches what it computes.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/random_system.h"
#include "tests/exec/served.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Served;
using testing::Task;

const Task kTransfer{1, {}, plan::PlacementMode::kAny, {}, 1, 1'000'000};

}  // namespace

TEST_CASE("two bandwidth-bound steps side by side take as long as one after the other",
          "[exec][memory]") {
  const auto arbitration =
      GENERATE(device::Arbitration::kFair, device::Arbitration::kRandomPriority);
  const std::vector<exec::SimArrival> both = {testing::ArrivalAt(0, 1), testing::ArrivalAt(0, 1)};
  testing::DeviceShape shape;
  shape.cores = 1;
  exec::SimConfig config = testing::OneByOne({kTransfer}, shape);
  testing::OwnDevice(config).dram_arbitration = arbitration;
  const auto alone = testing::Serve(config, both);
  shape.cores = 2;
  config = testing::OneByOne({kTransfer}, shape);
  testing::OwnDevice(config).dram_arbitration = arbitration;
  const auto together = testing::Serve(config, both);
  REQUIRE(alone.ok());
  REQUIRE(together.ok());
  const Nanos gain = alone->record->summary.makespan - together->record->summary.makespan;
  // What is no transfer, latencies and computation before and after, may overlap: a microsecond.
  CHECK(gain <= Nanos{1000});
  CHECK(gain >= Nanos{-10});
}

TEST_CASE("by lot one transfer waits for the other, in the same order every time",
          "[exec][memory]") {
  testing::DeviceShape shape;
  shape.cores = 2;
  exec::SimConfig config = testing::OneByOne({kTransfer}, shape);
  const std::vector<exec::SimArrival> both = {testing::ArrivalAt(0, 1), testing::ArrivalAt(0, 1)};
  const auto fair = testing::Serve(config, both);
  testing::OwnDevice(config).dram_arbitration = device::Arbitration::kRandomPriority;
  const auto lot = testing::Serve(config, both);
  const auto again = testing::Serve(config, both);
  REQUIRE(fair.ok());
  REQUIRE(lot.ok());
  REQUIRE(again.ok());
  CHECK(lot->ok == again->ok);
  // The first takes half the time that it takes when it shares, the last as long.
  CHECK(lot->ok[0].latency <= fair->ok[0].latency / 2 + Nanos{1000});
  CHECK(lot->ok[1].latency - fair->ok[1].latency <= Nanos{10});
  CHECK(lot->ok[0].parts.part(Cause::kContention) == Nanos{0});
  CHECK(lot->ok[1].parts.part(Cause::kContention) > lot->ok[0].latency / 2);
}

TEST_CASE("parts of latencies add up under arbitration by lot", "[exec][memory][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 40)));
  CAPTURE(seed);
  const testing::System system =
      testing::RandomSystem(seed, testing::GraphShape::Bytes::kSome, 1, testing::Classes::kSeveral);
  exec::SimConfig config;
  config.plan = system.plan;
  config.device = system.device;
  config.streams = {{"a", Priority(1)}, {"b", Priority(2)}, {"c", Priority(3)}};
  testing::OwnDevice(config).dram_arbitration = device::Arbitration::kRandomPriority;
  std::vector<exec::SimArrival> arrivals;
  for (const auto& a : system.arrivals) {
    arrivals.push_back(testing::ArrivalAt(a.at_ns, a.seq, a.stream));
  }
  const auto served = testing::Serve(config, arrivals);
  REQUIRE(served.ok());
  CHECK(served->record->summary.attribution_missing == 0);
  for (const Served::Ended& ended : served->ok) {
    CHECK(ended.parts.total() == ended.latency);
    CHECK(ended.parts.part(Cause::kContention) >= Nanos{0});
  }
}

TEST_CASE("a slow core stretches what it computes, and says it was its clock", "[exec][memory]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  exec::SimConfig config =
      testing::OneByOne({Task{1000, {}, plan::PlacementMode::kAny, {}, 1, 0}}, shape);
  testing::OwnDevice(config).classes[0].core_clock_hz = {500'000'000};
  const auto served = testing::Serve(config, {testing::ArrivalAt(0, 1)});
  REQUIRE(served.ok());
  CHECK(served->ok.at(0).latency == Nanos{2000});
  CHECK(served->ok.at(0).parts.part(Cause::kPlanned) == Nanos{1000});
  CHECK(served->ok.at(0).parts.part(Cause::kThrottle) == Nanos{1000});
  // Nothing heats up: there is nothing to say of heat.
  CHECK_FALSE(served->record->summary.heat.has_value());
}

TEST_CASE("skipped repetitions on a slow core are those that would have been played",
          "[exec][memory]") {
  testing::DeviceShape shape;
  shape.cores = 2;
  exec::SimConfig config = testing::OneByOne({kTransfer}, shape);
  config.plan = testing::LoopPlanOf({Task{700, {}, plan::PlacementMode::kAny, {}, 1, 0},
                                     Task{300, {0}, plan::PlacementMode::kAny, {}, 1, 0}},
                                    500);
  testing::OwnDevice(config).classes[0].core_clock_hz = {600'000'000, 1'000'000'000};
  const auto skipped = testing::Serve(config, {testing::ArrivalAt(0, 1)});
  config.loops = exec::SimConfig::Loops::kPlay;
  const auto played = testing::Serve(config, {testing::ArrivalAt(0, 1)});
  REQUIRE(skipped.ok());
  REQUIRE(played.ok());
  CHECK(skipped->ok == played->ok);
  CHECK(skipped->record->telemetry == played->record->telemetry);
  CHECK(skipped->ok.at(0).parts.total() == skipped->ok.at(0).latency);
}

}  // namespace leeway
