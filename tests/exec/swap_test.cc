// Plans that are swapped while they serve.

#include <map>
#include <set>
#include <vector>

#include "base/prng.h"
#include "device/reality.h"
#include "sched/model.h"
#include "tests/catch.h"
#include "tests/exec/served.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Served;
using testing::Task;

std::shared_ptr<const plan::Body> PlanTaking(std::int64_t ns) {
  Task task;
  task.time_ns = ns;
  return testing::PlanOf({{"v", testing::kMaxSeq, 8, {task}}});
}

exec::SimConfig OneCore() {
  testing::DeviceShape shape;
  shape.cores = 1;
  exec::SimConfig config;
  config.device = testing::DeviceOf(shape);
  config.plan = PlanTaking(100);
  config.streams = {{"s", Priority(1)}};
  return config;
}

}  // namespace

TEST_CASE("requests that come at a swap or later run the new plan, those before it the old one",
          "[exec][swap]") {
  exec::SimConfig config = OneCore();
  config.serving.batching.max_batch_size = 1;
  config.swaps = {{Instant(Nanos{1000}), PlanTaking(7)}};
  const Served served =
      testing::Serve(config, {testing::ArrivalAt(0, 1), testing::ArrivalAt(999, 1),
                              testing::ArrivalAt(1000, 1)})
          .value();
  REQUIRE(served.ok.size() == 3);
  CHECK(served.ok[0].at == Instant(Nanos{100}));
  CHECK(served.ok[1].at == Instant(Nanos{1099}));
  CHECK(served.ok[2].at == Instant(Nanos{1106}));
}

TEST_CASE("no batch mixes requests of two plans, and every request ends once", "[exec][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  exec::SimConfig config = OneCore();
  std::vector<Instant> bounds = {Instant()};
  for (int i = 0; i < 4; ++i) {
    bounds.push_back(bounds.back() + Nanos{1 + static_cast<std::int64_t>(prng.Below(800))});
    config.swaps.push_back(
        {bounds.back(), PlanTaking(1 + static_cast<std::int64_t>(prng.Below(200)))});
  }
  std::vector<exec::SimArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 60; ++i) {
    at += static_cast<std::int64_t>(prng.Below(60));
    arrivals.push_back(testing::ArrivalAt(at, 1 + static_cast<std::int64_t>(prng.Below(64))));
  }
  auto plan_at = [&](Instant time) {
    return std::upper_bound(bounds.begin(), bounds.end(), time) - bounds.begin();
  };
  std::set<std::uint64_t> ended;
  config.on_ok = [&](const exec::RequestRecord& record) {
    CHECK(ended.insert(record.request->user).second);
    for (const sched::Request& mate : record.run->members) {
      CHECK(plan_at(mate.admitted) == plan_at(record.request->admitted));
      CHECK(mate.model == record.request->model);
    }
  };
  const Served served = testing::Serve(config, arrivals).value();
  CHECK(served.record->summary.counts.ok == arrivals.size());
  for (const Served::Ended& request : served.ok) {
    CHECK(request.parts.total() == request.latency);
  }
}

TEST_CASE("a plan that was swapped out is freed with its last request", "[exec][swap]") {
  exec::SimConfig config = OneCore();
  config.serving.batching.max_batch_size = 1;
  config.swaps = {{Instant(Nanos{10}), PlanTaking(100)}};
  // The config's own copies, ours here and in Serve().
  std::vector<long> users;
  const auto old_plan = config.plan;
  config.on_ok = [&](const exec::RequestRecord&) { users.push_back(old_plan.use_count()); };
  REQUIRE(testing::Serve(config, {testing::ArrivalAt(0, 1), testing::ArrivalAt(5, 1),
                                  testing::ArrivalAt(20, 1)})
              .ok());
  REQUIRE(users.size() == 3);
  // While the second request waits, its model holds the plan; when the third ends, nothing does.
  CHECK(users[0] == users[1]);
  CHECK(users[2] == users[1] - 1);
}

TEST_CASE("swaps out of order or to other dims are refused", "[exec][swap]") {
  exec::SimConfig config = OneCore();
  config.swaps = {{Instant(Nanos{10}), PlanTaking(1)}, {Instant(Nanos{9}), PlanTaking(1)}};
  const auto out_of_order = testing::Serve(config, {testing::ArrivalAt(0, 1)});
  REQUIRE_FALSE(out_of_order.ok());
  CHECK(out_of_order.status().code() == StatusCode::kInvalidArgument);
  auto other = std::make_shared<plan::Body>(*PlanTaking(1));
  other->dims[0].max += 1;
  config.swaps = {{Instant(Nanos{10}), other}};
  const auto other_dims = testing::Serve(config, {testing::ArrivalAt(0, 1)});
  REQUIRE_FALSE(other_dims.ok());
  CHECK(other_dims.status().message().find("other dims") != std::string::npos);
}

TEST_CASE("the census tells every step that ran, in the window in which its run started",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  base::Prng prng(seed);
  exec::SimConfig config;
  config.device = testing::DeviceOf({});
  testing::GraphShape shape;
  const testing::TaskGraph small = testing::RandomGraph(prng, shape);
  config.plan = testing::PlanOf({{"v", 32, 4, small}});
  config.streams = {{"s", Priority(1)}};
  config.census = {Instant(), Instant(Nanos{20'000}), Instant(Nanos{40'000})};
  std::vector<exec::SimArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 40; ++i) {
    at += static_cast<std::int64_t>(prng.Below(3000));
    // Beyond 32 no variant covers.
    arrivals.push_back(testing::ArrivalAt(at, 1 + static_cast<std::int64_t>(prng.Below(40))));
  }
  std::map<std::uint32_t, std::uint64_t> runs_in;
  std::set<std::pair<const sched::Run*, Instant>> seen;
  config.on_ok = [&](const exec::RequestRecord& record) {
    const Instant started = record.run->started;
    if (!seen.insert({record.run, started}).second) return;
    std::uint32_t window = 0;
    while (window + 1 < config.census.size() && started >= config.census[window + 1]) ++window;
    runs_in[window] += record.run->costs->steps;
  };
  const Served served = testing::Serve(config, arrivals).value();
  std::uint64_t steps = 0;
  std::map<std::uint32_t, std::uint64_t> steps_in;
  bool fallback = false;
  for (const telemetry::ExecutedSteps& kind : served.record->executed) {
    steps += kind.steps;
    steps_in[kind.window] += kind.steps;
    fallback = fallback || kind.fallback;
    CHECK(kind.displaced <= kind.steps);
    CHECK_FALSE(kind.rebound);
  }
  CHECK(steps == served.record->summary.steps);
  CHECK(steps_in == runs_in);
  CHECK(fallback == (served.record->summary.counts.fallback > 0));
}

TEST_CASE("a device that differs from its model takes its own time, exactly explained",
          "[exec][reality]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  exec::SimConfig config;
  config.device = testing::DeviceOf({});
  testing::GraphShape shape;
  shape.bytes = testing::GraphShape::Bytes::kSome;
  config.plan = testing::PlanOf({{"v", testing::kMaxSeq, 8, testing::RandomGraph(prng, shape)}});
  config.streams = {{"s", Priority(1)}};
  config.reality = std::make_shared<const device::Reality>(device::RealityNoise{seed, 0.3, 0.2});
  std::vector<exec::SimArrival> arrivals;
  for (int i = 0; i < 20; ++i) {
    arrivals.push_back(testing::ArrivalAt(i * static_cast<std::int64_t>(prng.Below(3000)),
                                          1 + static_cast<std::int64_t>(prng.Below(64))));
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const exec::SimArrival& a, const exec::SimArrival& b) { return a.at < b.at; });
  const Served served = testing::Serve(config, arrivals).value();
  CHECK(served.record->summary.attribution_missing == 0);
  for (const Served::Ended& request : served.ok) {
    CHECK(request.parts.total() == request.latency);
    CHECK(request.parts.part(Cause::kContention) >= Nanos{0});
  }
  const Served again = testing::Serve(config, arrivals).value();
  CHECK(again.ok == served.ok);
}

}  // namespace leeway
