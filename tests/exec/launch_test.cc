// Runs that a host thread issues.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/served.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::ArrivalAt;
using testing::Harness;
using testing::HarnessArrival;
using testing::Served;
using testing::Task;

std::shared_ptr<const device::Spec> HostIssues(testing::DeviceShape shape, std::int64_t issue_ns,
                                               std::uint32_t depth) {
  shape.run_launch_ns = issue_ns;
  auto spec = std::make_shared<device::Spec>(*testing::DeviceOf(shape));
  spec->issue = device::Issue::kHost;
  spec->launch_queue_depth = depth;
  return spec;
}

testing::DeviceShape OneCore() {
  testing::DeviceShape shape;
  shape.cores = 1;
  return shape;
}

Task TaskTaking(std::int64_t ns) {
  Task task;
  task.time_ns = ns;
  return task;
}

exec::SimConfig OneByOne(std::vector<testing::TaskVariant> variants,
                         std::shared_ptr<const device::Spec> device) {
  exec::SimConfig config;
  config.plan = testing::PlanOf(variants);
  config.device = std::move(device);
  config.streams = {{"urgent", Priority(1)}, {"bulk", Priority(3)}};
  config.serving.batching.max_batch_size = 1;
  config.serving.max_concurrent_runs = 1000;
  return config;
}

// As OneByOne: a variant for each quarter of the lengths, each of its own time.
exec::SimConfig Quarters(const std::vector<std::int64_t>& times,
                         std::shared_ptr<const device::Spec> device) {
  std::vector<testing::TaskVariant> variants;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto most = static_cast<std::int64_t>(16 * (i + 1));
    variants.push_back({"v" + std::to_string(i), most, 1, {TaskTaking(times[i])}});
  }
  exec::SimConfig config = OneByOne(std::move(variants), std::move(device));
  auto body = std::make_shared<plan::Body>(*config.plan);
  for (std::size_t i = 0; i < times.size(); ++i) {
    body->entries[0].variants[i].envelope[0].min = static_cast<std::int64_t>(16 * i + 1);
  }
  config.plan = body;
  return config;
}

}  // namespace

// The oracle is the recurrence of a host that issues in order and a device that serves in order.
TEST_CASE("on one core each run is issued, starts and ends when host, queue and core allow",
          "[exec][launch][property]") {
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto issue = static_cast<std::int64_t>(prng.Below(80));
  const std::size_t depth = 1 + prng.Below(6);
  std::vector<std::int64_t> times;
  for (int i = 0; i < 4; ++i) times.push_back(1 + static_cast<std::int64_t>(prng.Below(150)));
  const exec::SimConfig config =
      Quarters(times, HostIssues(OneCore(), issue, static_cast<std::uint32_t>(depth)));
  std::vector<exec::SimArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 60; ++i) {
    at += static_cast<std::int64_t>(prng.Below(100));
    arrivals.push_back(ArrivalAt(at, 1 + static_cast<std::int64_t>(prng.Below(64))));
  }
  const Served served = testing::Serve(config, arrivals).value();
  REQUIRE(served.ok.size() == arrivals.size());
  std::vector<std::int64_t> ends;
  std::int64_t host = 0, core = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const std::int64_t asked = arrivals[i].at.count();
    const std::int64_t kernel = times[static_cast<std::size_t>(arrivals[i].dims[0] - 1) / 16];
    host = std::max(asked, host) + issue;
    if (i >= depth) host = std::max(host, ends[i - depth]);
    const std::int64_t start = std::max(host, core);
    core = start + kernel;
    ends.push_back(core);
    const Served::Ended& told = served.ok[i];
    REQUIRE(told.request == i + 1);
    REQUIRE(told.at == Instant(Nanos{core}));
    REQUIRE(told.parts.total() == told.latency);
    REQUIRE(told.parts.part(Cause::kLaunch) == Nanos{issue});
    REQUIRE(told.parts.part(Cause::kDispatch) == Nanos{host - asked - issue});
    REQUIRE(told.parts.part(Cause::kPlanned) == Nanos{kernel});
    REQUIRE(told.parts.part(Cause::kCapacity) == Nanos{start - host});
    REQUIRE(told.parts.part(Cause::kContention) == Nanos{0});
  }
}

TEST_CASE("the host's call occupies no core", "[exec][launch]") {
  const exec::SimConfig config =
      OneByOne({{"v", 64, 1, {TaskTaking(50)}}}, HostIssues(OneCore(), 100, 8));
  const Served served = testing::Serve(config, {ArrivalAt(0, 1), ArrivalAt(0, 1)}).value();
  CHECK(served.ok[0].latency == Nanos{150});
  CHECK(served.ok[1].latency == Nanos{250});
  CHECK(served.record->summary.cores[0].busy == Nanos{100});
  // Without a host the cores pay: 100 + 50 for each.
  exec::SimConfig paid = config;
  testing::OwnDevice(paid).issue = device::Issue::kFirstSteps;
  const Served by_core = testing::Serve(paid, {ArrivalAt(0, 1), ArrivalAt(0, 1)}).value();
  CHECK(by_core.ok[1].latency == Nanos{300});
  CHECK(by_core.record->summary.cores[0].busy == Nanos{300});
}

TEST_CASE("the more urgent of the runs that wait for the host is issued first", "[exec][launch]") {
  const exec::SimConfig config =
      OneByOne({{"v", 64, 1, {TaskTaking(1)}}}, HostIssues(OneCore(), 100, 8));
  const Served served =
      testing::Serve(config, {ArrivalAt(0, 1, 1), ArrivalAt(10, 1, 1), ArrivalAt(20, 1, 0)})
          .value();
  REQUIRE(served.ok.size() == 3);
  CHECK(served.ok[0].request == 1);
  CHECK(served.ok[1].request == 3);
  CHECK(served.ok[1].at == Instant(Nanos{201}));
  CHECK(served.ok[2].request == 2);
}

TEST_CASE("a run that is given up before it is issued leaves its turn to the next",
          "[exec][launch]") {
  const exec::SimConfig config =
      OneByOne({{"v", 64, 1, {TaskTaking(1)}}}, HostIssues(OneCore(), 100, 1));
  std::vector<exec::SimArrival> arrivals(4, ArrivalAt(0, 1));
  // The first while the host is at it, the third before.
  arrivals[0].cancel_after = Nanos{30};
  arrivals[2].cancel_after = Nanos{40};
  const Served served = testing::Serve(config, arrivals).value();
  REQUIRE(served.ok.size() == 2);
  CHECK(served.record->summary.counts.cancelled == 2);
  CHECK(served.ok[0].at == Instant(Nanos{201}));
  CHECK(served.ok[1].at == Instant(Nanos{301}));
}

TEST_CASE("never more runs than the queue is deep are on the device, and the parts add up",
          "[exec][launch][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  testing::DeviceShape shape;
  shape.cores = 1 + static_cast<std::uint32_t>(prng.Below(4));
  shape.launch_depth = 1 + static_cast<std::uint32_t>(prng.Below(2));
  shape.step_launch_ns = static_cast<std::int64_t>(prng.Below(10));
  const auto depth = static_cast<std::uint32_t>(1 + prng.Below(4));
  const Nanos issue{static_cast<std::int64_t>(prng.Below(400))};
  testing::GraphShape graph;
  graph.cores = shape.cores;
  graph.bytes = testing::GraphShape::Bytes::kSome;
  sched::SchedulerOptions options;
  options.max_concurrent_runs = 1 + static_cast<std::uint32_t>(prng.Below(8));
  options.batching.max_batch_size = 1 + static_cast<std::uint32_t>(prng.Below(3));
  Harness harness(testing::PlanOf({{"v", 32, 4, testing::RandomGraph(prng, graph)}}),
                  HostIssues(shape, issue.count(), depth), options);
  harness.Open(Priority(1));
  harness.Open(Priority(3));
  // On the device: those of which a step has begun.
  std::set<sched::RunId> begun;
  std::map<sched::RunId, Instant> started;
  std::vector<Instant> issued;
  harness.watch.on_run_started = [&](sched::RunId id, const sched::Run& run) {
    started[id] = run.started;
  };
  harness.watch.on_started = [&](sched::CoreId, const sched::StepRef& step) {
    if (!begun.insert(step.run).second) return;
    const Instant at = harness.scheduler.run(step.run).issued;
    CHECK(at >= started[step.run] + issue);
    issued.push_back(at);
    CHECK(begun.size() <= depth);
  };
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome,
                                       const sched::Run* run) {
    if (run == nullptr) return;
    for (auto id = begun.begin(); id != begun.end(); ++id) {
      if (&harness.scheduler.run(*id) != run) continue;
      // With the last of its members.
      if (run->members.back().id == request.id) begun.erase(id);
      return;
    }
  };
  std::size_t told = 0;
  harness.on_ok = [&](const exec::RequestRecord& record) {
    ++told;
    CHECK(record.parts.total() == record.latency);
    CHECK(record.parts.part(Cause::kDispatch) >= Nanos{0});
    CHECK(record.parts.part(Cause::kContention) >= Nanos{0});
  };
  std::vector<HarnessArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 40; ++i) {
    at += static_cast<std::int64_t>(prng.Below(1500));
    // Beyond 32 no variant covers: operator by operator.
    HarnessArrival arrival{at, static_cast<std::uint32_t>(prng.Below(2)),
                           1 + static_cast<std::int64_t>(prng.Below(40)), Nanos{0}};
    if (prng.Below(6) == 0)
      arrival.cancel_after = Nanos{static_cast<std::int64_t>(prng.Below(3000))};
    arrivals.push_back(arrival);
  }
  harness.Serve(arrivals);
  CHECK(told > 0);
  CHECK(harness.scheduler.idle());
  // One host: calls are at least their time apart.
  std::sort(issued.begin(), issued.end());
  for (std::size_t i = 1; i < issued.size(); ++i) CHECK(issued[i] - issued[i - 1] >= issue);
}

TEST_CASE("loops of issued runs are added up as they are played", "[exec][launch][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  testing::GraphShape graph;
  graph.tasks = 3;
  graph.cores = 2;
  testing::DeviceShape shape;
  shape.cores = 2;
  exec::SimConfig config;
  config.device = HostIssues(shape, static_cast<std::int64_t>(prng.Below(5000)),
                             static_cast<std::uint32_t>(1 + prng.Below(3)));
  config.plan = testing::LoopPlanOf(testing::RandomGraph(prng, graph),
                                    static_cast<std::int64_t>(prng.Below(40)));
  config.streams = {{"s", Priority(1)}};
  std::vector<exec::SimArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 12; ++i) {
    at += static_cast<std::int64_t>(prng.Below(40'000));
    arrivals.push_back(ArrivalAt(at, 1));
  }
  config.loops = exec::SimConfig::Loops::kPlay;
  const Served played = testing::Serve(config, arrivals).value();
  config.loops = exec::SimConfig::Loops::kSkip;
  const Served skipped = testing::Serve(config, arrivals).value();
  CHECK(skipped.ok == played.ok);
  CHECK(skipped.record->telemetry_digest == played.record->telemetry_digest);
}

TEST_CASE("admission knows what waits for the host", "[exec][launch]") {
  exec::SimConfig config =
      OneByOne({{"v", 64, 1, {TaskTaking(50)}}}, HostIssues(OneCore(), 100, 8));
  config.serving.slo = Nanos{500};
  config.serving.queue.predicted_deadline_admission = true;
  // Alone a request takes 150; of ten at once some are predicted to be late.
  const std::vector<exec::SimArrival> ten(10, ArrivalAt(0, 1));
  const Served served = testing::Serve(config, ten).value();
  CHECK(served.record->summary.counts.rejected_deadline > 0);
  CHECK(served.ok.size() >= 3);
  for (const Served::Ended& ended : served.ok) CHECK(ended.latency <= Nanos{500});
}

}  // namespace leeway
