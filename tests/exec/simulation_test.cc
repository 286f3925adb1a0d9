// What ends a simulation before its traffic does.

#include "exec/simulation.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

// One core on which every run takes 100 ns.
exec::SimConfig OneCore() {
  testing::DeviceShape shape;
  shape.cores = 1;
  exec::SimConfig config;
  config.plan = testing::PlanOf(
      {{"v", 64, 8, {testing::Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}}}});
  config.device = testing::DeviceOf(shape);
  config.streams = {{"stream", Priority(1)}};
  return config;
}

Result<std::shared_ptr<exec::SimRecord>> ServeAt(const exec::SimConfig& config,
                                                 std::vector<std::int64_t> arrivals) {
  std::size_t next = 0;
  return exec::RunSimulation(config, [&]() -> Result<std::optional<exec::SimArrival>> {
    if (next == arrivals.size()) return std::optional<exec::SimArrival>();
    exec::SimArrival arrival;
    arrival.at = Instant(Nanos{arrivals[next++]});
    arrival.dims = {8, 1};
    return std::optional(arrival);
  });
}

}  // namespace

TEST_CASE("traffic without a request is refused as that", "[exec][bound]") {
  const auto result = ServeAt(OneCore(), {});
  CHECK(result.status().code() == StatusCode::kInvalidArgument);
  CHECK(result.status().message() == "the traffic holds no request");
}

TEST_CASE("where a device states no power, energy is not known rather than none", "[exec]") {
  exec::SimConfig config = OneCore();
  const auto silent = ServeAt(config, {0});
  REQUIRE(silent.ok());
  CHECK((*silent)->summary.energy_origin.empty());
  auto device = std::make_shared<device::Spec>(*config.device);
  device->power.static_watts = 2;
  config.device = device;
  const auto stated = ServeAt(config, {0});
  REQUIRE(stated.ok());
  CHECK_FALSE((*stated)->summary.energy_origin.empty());
  CHECK((*stated)->summary.energy_j == Approx(2 * 100e-9));
}

TEST_CASE("virtual time ends at 2^53 ns, with what happens in that instant", "[exec][bound]") {
  constexpr std::int64_t kEnd = std::int64_t{1} << 53;
  const auto last = ServeAt(OneCore(), {0, kEnd - 100});
  REQUIRE(last.ok());
  CHECK((*last)->summary.counts.ok == 2);
  CHECK((*last)->summary.makespan == Nanos{kEnd});
  // A run that ends later, and a request that comes later.
  const std::int64_t late =
      GENERATE(kEnd - 99, kEnd + 1, std::numeric_limits<std::int64_t>::max() - 1);
  CAPTURE(late);
  const auto refused = ServeAt(OneCore(), {0, late});
  CHECK(refused.status().code() == StatusCode::kOutOfRange);
  CHECK_THAT(std::string(refused.status().message()),
             Catch::StartsWith("virtual time passes 2^53 ns (104 days) after ") &&
                 Catch::Contains(late > kEnd ? "after 1 requests" : "after 2 requests"));
}

TEST_CASE("a plan whose loop is too long is refused before anything runs", "[exec][bound]") {
  exec::SimConfig config = OneCore();
  config.plan = testing::LoopPlanOf({testing::Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}},
                                    (1 << 26) + 1);
  const auto result = ServeAt(config, {0});
  CHECK(result.status().code() == StatusCode::kResourceExhausted);
  CHECK(result.status().message() == "entry \"main\": a run launches more than 67108864 steps");
}

}  // namespace leeway
