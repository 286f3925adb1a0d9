// HOST work: on processors of the host, beside the cores.

#include "device/host.h"

#include <vector>

#include "tests/catch.h"
#include "tests/exec/random_system.h"
#include "tests/exec/served.h"

namespace leeway {
namespace {

using testing::Served;
using testing::Task;
using testing::TaskGraph;

constexpr std::int64_t kPre = 30, kCore = 100, kPost = 20, kRunLaunch = 5, kStepLaunch = 3;
// The device's step: its launch is a part of the time that is planned, the run's comes on top.
constexpr std::int64_t kOnCore = kCore + kRunLaunch;

Task Stage(std::int64_t time_ns, std::vector<std::uint32_t> after, bool host) {
  Task task;
  task.time_ns = time_ns;
  task.after = std::move(after);
  task.host = host;
  return task;
}

TaskGraph Pipeline() {
  return {Stage(kPre, {}, true), Stage(kCore, {0}, false), Stage(kPost, {1}, true)};
}

exec::SimConfig OneCore(TaskGraph tasks) {
  testing::DeviceShape shape;
  shape.cores = 1;
  shape.run_launch_ns = kRunLaunch;
  shape.step_launch_ns = kStepLaunch;
  exec::SimConfig config = testing::OneByOne(std::move(tasks), shape);
  config.serving.max_concurrent_runs = 2;
  return config;
}

std::vector<exec::SimArrival> Every(std::int64_t gap_ns, int count, std::int64_t seq = 1) {
  std::vector<exec::SimArrival> arrivals;
  for (int i = 0; i < count; ++i) arrivals.push_back(testing::ArrivalAt(i * gap_ns, seq));
  return arrivals;
}

}  // namespace

TEST_CASE("the host prepares the next request while the core works on one", "[exec][host]") {
  constexpr int kRequests = 50;
  // As often as the core can: it never waits, nor does a request.
  const Served served = testing::Serve(OneCore(Pipeline()), Every(kOnCore, kRequests)).value();
  REQUIRE(served.ok.size() == kRequests);
  for (const Served::Ended& ended : served.ok) {
    REQUIRE(ended.latency == Nanos{kPre + kOnCore + kPost});
    REQUIRE(ended.parts.part(Cause::kPlanned) == Nanos{kPre + kCore - kStepLaunch + kPost});
    REQUIRE(ended.parts.part(Cause::kLaunch) == Nanos{kStepLaunch + kRunLaunch});
    REQUIRE(ended.parts.total() == ended.latency);
  }
  const SimSummary& summary = served.record->summary;
  REQUIRE(summary.cores.size() == 1);
  REQUIRE(summary.hosts.size() == 1);
  CHECK(summary.cores[0].busy == kRequests * Nanos{kOnCore});
  CHECK(summary.hosts[0].name == "host:0");
  CHECK(summary.hosts[0].busy == kRequests * Nanos{kPre + kPost});
  CHECK(summary.hosts[0].steps == 2 * kRequests);
  CHECK(summary.makespan == Nanos{kPre + kRequests * kOnCore + kPost});
  CHECK(summary.streams[0].core_time == summary.cores[0].busy);
  CHECK(summary.work == kRequests * Nanos{kCore});
  CHECK(summary.attribution_missing == 0);
}

TEST_CASE("a host of one processor is the bottleneck where it has more to do", "[exec][host]") {
  exec::SimConfig config = OneCore({Stage(1000, {}, true), Stage(kCore, {0}, false)});
  const auto arrivals = Every(0, 10);
  const Served one = testing::Serve(config, arrivals).value();
  CHECK(one.record->summary.makespan == Nanos{10 * 1000 + kOnCore});
  testing::OwnDevice(config).host_processors = 2;
  // Two at a time: the core has done its two, one after the other, before the next are there.
  const Served two = testing::Serve(config, arrivals).value();
  CHECK(two.record->summary.hosts.size() == 2);
  CHECK(two.record->summary.makespan < one.record->summary.makespan);
  CHECK(two.record->summary.makespan >= Nanos{5 * 1000 + 2 * kOnCore});
}

TEST_CASE("how many processors the host has is nothing to a plan without HOST work",
          "[exec][host]") {
  exec::SimConfig config = OneCore({Stage(kCore, {}, false)});
  const Served few = testing::Serve(config, Every(70, 40)).value();
  testing::OwnDevice(config).host_processors = 9;
  const Served many = testing::Serve(config, Every(70, 40)).value();
  CHECK(few.record->telemetry == many.record->telemetry);
  CHECK(few.ok == many.ok);
  CHECK(many.record->summary.hosts.empty());
}

TEST_CASE("unfused, the host's work is the host's and as long", "[exec][host]") {
  exec::SimConfig config = OneCore(Pipeline());
  auto plan = std::make_shared<plan::Body>(*config.plan);
  plan->entries[0].variants[0].envelope[0].max = 16;
  plan->entries[0].operators[1].work = plan::Move{plan::Expr::Constant(90), std::nullopt};
  config.plan = plan;
  config.serving.phi = 4;
  const Served served = testing::Serve(config, Every(5000, 20, 40)).value();
  const SimSummary& summary = served.record->summary;
  CHECK(summary.counts.fallback == 20);
  CHECK(summary.hosts[0].busy == 20 * Nanos{kPre + kPost});
  CHECK(summary.cores[0].busy > 20 * Nanos{kOnCore});
  CHECK(summary.attribution_missing == 0);
}

TEST_CASE("HOST work in a loop is added up as it is played", "[exec][host]") {
  exec::SimConfig config = OneCore({});
  config.plan = testing::LoopPlanOf(Pipeline(), 300);
  config.serving.max_concurrent_runs = 1;
  const auto arrivals = Every(100'000, 4);
  const Served skipped = testing::Serve(config, arrivals).value();
  config.loops = exec::SimConfig::Loops::kPlay;
  const Served played = testing::Serve(config, arrivals).value();
  CHECK(skipped.ok == played.ok);
  CHECK(skipped.record->telemetry == played.record->telemetry);
  CHECK(played.ok[0].latency == Nanos{kRunLaunch} + 300 * Nanos{kPre + kCore + kPost});
  CHECK(played.ok[0].parts.part(Cause::kLaunch) == Nanos{kRunLaunch + 300 * kStepLaunch});
}

TEST_CASE("of systems with HOST work every latency is told apart exactly, by whoever it ran",
          "[exec][host][property]") {
  std::uint64_t on_host = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    testing::ServedSystem system = testing::RandomServedSystem(seed);
    system.config.plan = testing::WithHostWork(*system.config.plan, seed);
    const Served served = testing::Serve(system.config, system.arrivals).value();
    for (const Served::Ended& ended : served.ok) REQUIRE(ended.parts.total() == ended.latency);
    REQUIRE(served.record->summary.attribution_missing == 0);
    REQUIRE(served.record->summary.cores.size() == system.config.device->core_count());
    for (const CoreSummary& host : served.record->summary.hosts) {
      REQUIRE(host.dram_bytes == 0);
      on_host += host.steps;
    }
  }
  CHECK(on_host > 1000);
}

TEST_CASE("a HOST group that names a core is refused before anything runs", "[exec][host]") {
  TaskGraph tasks = Pipeline();
  tasks[0].mode = plan::PlacementMode::kPinned;
  tasks[0].cores = {0};
  const auto refused = testing::Serve(OneCore(tasks), Every(1, 1));
  CHECK(refused.status().code() == StatusCode::kFailedPrecondition);
  CHECK(std::string(refused.status().message())
            .find("HOST work runs on processors of the host, not on core core:0") !=
        std::string::npos);
}

}  // namespace leeway
