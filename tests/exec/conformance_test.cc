// Life of requests under queue bounds, timeouts, cancels and hostile completions.

#include <map>
#include <utility>

#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"
#include "tests/exec/harness.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Harness;
using testing::HarnessArrival;
using testing::Task;

Harness OneCore(std::int64_t time_ns, sched::SchedulerOptions options = {}) {
  testing::DeviceShape shape;
  shape.cores = 1;
  return Harness(
      testing::PlanOf({{"v", 64, 8, {Task{time_ns, {}, plan::PlacementMode::kAny, {}, 1, 0}}}}),
      testing::DeviceOf(shape), options);
}

}  // namespace

TEST_CASE("a full queue rejects one request more, with a reason that names the bound",
          "[exec][admission]") {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  Harness harness = OneCore(1000, options);
  const sched::StreamId stream = harness.Open(Priority(1), 2);
  // One runs, two wait, one is refused.
  for (int i = 0; i < 3; ++i) REQUIRE(harness.Submit({0, 0, 1, Nanos{0}}).ok());
  const auto refused = harness.Submit({0, 0, 1, Nanos{0}});
  CHECK(refused.status().code() == StatusCode::kResourceExhausted);
  CHECK(refused.status().message() == "stream \"stream\": 2 requests wait already");
  harness.Serve({});
  CHECK(harness.scheduler.counters(stream).ok == 3);
  CHECK(harness.scheduler.counters(stream).rejected == 1);
}

TEST_CASE("a waiting request expires when its time is up, and a running one does not",
          "[exec][admission]") {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  Harness harness = OneCore(1000, options);
  const sched::StreamId stream = harness.Open(Priority(1), 0, Nanos{300});
  std::map<sched::RequestId, std::pair<Outcome, std::int64_t>> ends;
  harness.watch.on_request_ended = [&](const sched::Request& r, Outcome outcome,
                                       const sched::Run*) {
    ends[r.id] = {outcome, harness.world.Now().count()};
  };
  harness.Serve({{0, 0, 1, Nanos{0}}, {10, 0, 1, Nanos{0}}, {20, 0, 1, Nanos{5000}}});
  CHECK(ends.at(0) == std::pair(Outcome::kOk, std::int64_t{1000}));
  CHECK(ends.at(1) == std::pair(Outcome::kExpired, std::int64_t{310}));
  CHECK(ends.at(2) == std::pair(Outcome::kOk, std::int64_t{2000}));
  CHECK(harness.scheduler.counters(stream).expired == 1);
}

TEST_CASE("a request's own timeout counts only where the stream allows it", "[exec][admission]") {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  Harness harness = OneCore(1000, options);
  sched::StreamSpec spec;
  spec.timeout = Nanos{300};
  spec.allow_timeout_override = GENERATE(false, true);
  const sched::StreamId stream = harness.Open(spec);
  // The second waits 990 ns.
  harness.Serve({{0, 0, 1, Nanos{0}}, {10, 0, 1, Nanos{5000}}});
  CHECK(harness.scheduler.counters(stream).expired == (spec.allow_timeout_override ? 0 : 1));
  CHECK(harness.scheduler.counters(stream).ok == (spec.allow_timeout_override ? 2 : 1));
}

TEST_CASE("a timed out request of a DELAY stream goes behind the others and still ends OK",
          "[exec][admission]") {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  Harness harness = OneCore(1000, options);
  harness.Open(Priority(1), 0, Nanos{300}, sched::TimeoutAction::kDelay);
  std::vector<sched::RequestId> order;
  harness.on_ok = [&](const exec::RequestRecord& record) { order.push_back(record.request->id); };
  harness.Serve({{0, 0, 1, Nanos{0}}, {10, 0, 1, Nanos{0}}, {900, 0, 1, Nanos{0}}});
  CHECK(order == std::vector<sched::RequestId>{0, 2, 1});
}

TEST_CASE("a cancelled request ends as cancelled, waiting or running, and only once",
          "[exec][cancel]") {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  Harness harness = OneCore(1000, options);
  const sched::StreamId stream = harness.Open(Priority(1));
  const sched::RequestId running = harness.Submit({0, 0, 1, Nanos{0}}).value();
  harness.world.PumpWoken();
  const sched::RequestId waiting = harness.Submit({0, 0, 1, Nanos{0}}).value();
  CHECK(harness.scheduler.Cancel(waiting).ok());
  CHECK(harness.scheduler.Cancel(running).ok());
  CHECK(harness.scheduler.Cancel(waiting).code() == StatusCode::kNotFound);
  CHECK(harness.scheduler.counters(stream).cancelled == 1);
  harness.Serve({});
  CHECK(harness.scheduler.counters(stream).cancelled == 2);
  CHECK(harness.scheduler.Cancel(running).code() == StatusCode::kNotFound);
  CHECK(harness.scheduler.idle());
}

TEST_CASE("completions that are late, doubled or of nobody are counted and dropped",
          "[exec][completion]") {
  Harness harness = OneCore(1000);
  const sched::StreamId stream = harness.Open(Priority(1));
  std::optional<sched::StepRef> launched;
  harness.watch.on_launch = [&](sched::CoreId, const sched::StepRef& step) { launched = step; };
  (void)harness.Submit({0, 0, 1, Nanos{0}});
  harness.world.PumpWoken();
  REQUIRE(launched);
  sched::StepRef other_round = *launched;
  ++other_round.round;
  sched::StepRef other_run = *launched;
  other_run.run = sched::RunId(77);
  harness.scheduler.Complete(sched::CoreId(0), other_round);
  harness.scheduler.Complete(sched::CoreId(0), other_run);
  harness.scheduler.Pump(sched::CoreId(0));
  CHECK(harness.scheduler.counters().stray_completions == 2);
  CHECK(harness.scheduler.counters(stream).in_flight == 1);
  harness.Serve({});
  CHECK(harness.scheduler.counters(stream).ok == 1);
  // The step once more, when its run has long been freed.
  harness.scheduler.Complete(sched::CoreId(0), *launched);
  harness.scheduler.Pump(sched::CoreId(0));
  CHECK(harness.scheduler.counters().stray_completions == 3);
  CHECK(harness.scheduler.counters(stream).ok == 1);
}

TEST_CASE("with a launch depth of two a core has its next step before the first has ended",
          "[exec][launch_depth]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  shape.launch_depth = GENERATE(1u, 2u);
  const testing::TaskGraph chain = {Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0},
                                    Task{100, {0}, plan::PlacementMode::kAny, {}, 1, 0},
                                    Task{100, {1}, plan::PlacementMode::kAny, {}, 1, 0}};
  Harness harness(testing::PlanOf({{"v", 64, 8, chain}}), testing::DeviceOf(shape));
  harness.Open(Priority(1));
  std::vector<std::int64_t> launches;
  harness.watch.on_launch = [&](sched::CoreId, const sched::StepRef&) {
    launches.push_back(harness.world.Now().count());
  };
  Nanos latency{0};
  harness.on_ok = [&](const exec::RequestRecord& record) { latency = record.latency; };
  harness.Serve({HarnessArrival{}});
  CHECK(latency == Nanos{300});
  if (shape.launch_depth == 1) {
    CHECK(launches == std::vector<std::int64_t>{0, 100, 200});
  } else {
    CHECK(launches == std::vector<std::int64_t>{0, 0, 100});
  }
}

TEST_CASE("a preferred step goes to its planned core, and to an idle one while that is busy",
          "[exec][placement]") {
  testing::DeviceShape shape;
  shape.cores = 2;
  const testing::TaskGraph preferred = {Task{100, {}, plan::PlacementMode::kPreferred, {1}, 1, 0}};
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  Harness harness(testing::PlanOf({{"v", 64, 8, preferred}}), testing::DeviceOf(shape), options);
  harness.Open(Priority(1));
  std::vector<std::uint32_t> cores;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef&) {
    cores.push_back(core.value());
  };
  harness.Serve({{0, 0, 1, Nanos{0}}, {10, 0, 1, Nanos{0}}});
  CHECK(cores == std::vector<std::uint32_t>{1, 0});
  CHECK(harness.scheduler.counters().steals == 1);
}

TEST_CASE("a run that is cancelled or fails with a step launched ahead ends once and quietly",
          "[exec][launch_depth]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  shape.launch_depth = GENERATE(1u, 2u, 4u);
  const auto outcome = GENERATE(Outcome::kCancelled, Outcome::kFailed);
  const testing::TaskGraph chain = {Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0},
                                    Task{100, {0}, plan::PlacementMode::kAny, {}, 1, 0},
                                    Task{100, {1}, plan::PlacementMode::kAny, {}, 1, 0}};
  Harness harness(testing::PlanOf({{"v", 64, 8, chain}}), testing::DeviceOf(shape));
  const sched::StreamId stream = harness.Open(Priority(1));
  if (outcome == Outcome::kFailed) {
    harness.watch.on_launch = [&, first = true](sched::CoreId core,
                                                const sched::StepRef& step) mutable {
      if (std::exchange(first, false)) {
        harness.scheduler.Complete(core, step, sched::StepOutcome::kFailed);
        harness.world.Wake(harness.domains()[sched::DomainId(0)].allowed);
      }
    };
  }
  const sched::RequestId id = harness.Submit({0, 0, 1, Nanos{0}}).value();
  harness.world.PumpWoken();
  if (outcome == Outcome::kCancelled) CHECK(harness.scheduler.Cancel(id).ok());
  harness.Serve({{1000, 0, 1, Nanos{0}}});
  const sched::StreamCounters& counters = harness.scheduler.counters(stream);
  CHECK(counters.submitted == 2);
  CHECK(counters.ok == 1);
  CHECK((outcome == Outcome::kFailed ? counters.failed : counters.cancelled) == 1);
  CHECK(harness.scheduler.idle());
}

TEST_CASE("a cancel whose successor has waited long enough closes that one at once",
          "[exec][cancel]") {
  sched::SchedulerOptions options;
  options.batching.max_queue_delay = Nanos{100};
  options.max_concurrent_runs = 1;
  Harness harness = OneCore(1000, options);
  const sched::StreamId stream = harness.Open(Priority(1));
  sched::RequestId head = 0;
  harness.after_instant = [&] {
    // The first runs from 100 on; the others wait behind it past their delay.
    if (harness.world.Now() == Instant(Nanos{500})) CHECK(harness.scheduler.Cancel(head + 1).ok());
  };
  harness.Serve(
      {{0, 0, 1, Nanos{0}}, {150, 0, 1, Nanos{0}}, {160, 0, 1, Nanos{0}}, {500, 0, 60, Nanos{0}}});
  CHECK(harness.scheduler.counters(stream).cancelled == 1);
  CHECK(harness.scheduler.counters(stream).ok == 3);
}

TEST_CASE("steps of a small slot that prefer one core do not wait while another core starts more",
          "[exec][placement]") {
  // Two urgent runs prefer core 1; a less urgent one may run anywhere.
  testing::DeviceShape shape;
  shape.cores = 2;
  const testing::TaskGraph preferred = {Task{100, {}, plan::PlacementMode::kPreferred, {1}, 1, 0}};
  const testing::TaskGraph any = {Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}};
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  options.max_concurrent_runs = 8;
  Harness harness(testing::PlanOf({{"a", 16, 8, preferred}, {"b", 64, 8, any}}),
                  testing::DeviceOf(shape), options);
  harness.Open(Priority(1));
  harness.Open(Priority(2));
  std::vector<std::uint64_t> slots;
  harness.watch.on_launch = [&](sched::CoreId, const sched::StepRef& step) {
    slots.push_back(harness.scheduler.run(step.run).slot);
  };
  harness.Serve({{0, 1, 40, Nanos{0}}, {0, 0, 1, Nanos{0}}, {0, 0, 1, Nanos{0}}});
  CHECK(slots == std::vector<std::uint64_t>{0, 0, 1});
}

TEST_CASE("a batch whose cost fails when it is formed ends every member once, as failed",
          "[exec][batching]") {
  // One request moves 2^40 bytes, which a step may; a batch of five more than one may.
  const auto formation =
      GENERATE(sched::BatchPolicy::Formation::kFirstCome, sched::BatchPolicy::Formation::kByBucket);
  CAPTURE(formation == sched::BatchPolicy::Formation::kFirstCome);
  auto body = std::make_shared<plan::Body>(
      *testing::PlanOf({{"v", 64, 8, {Task{1, {}, plan::PlacementMode::kAny, {}, 1, 1}}}}));
  const auto bytes = plan::Expr::Parse(
      "batch * 1099511627776", [](std::string_view name) -> std::optional<std::size_t> {
        return name == "batch" ? std::optional<std::size_t>(1) : std::nullopt;
      });
  REQUIRE(bytes.ok());
  body->entries[0].operators[0].work = plan::Move{*bytes, std::nullopt};
  sched::SchedulerOptions options;
  options.batching.formation = formation;
  options.batching.max_batch_size = 5;
  options.batching.max_queue_delay = Nanos{1000};
  testing::DeviceShape shape;
  shape.cores = 1;
  Harness harness(body, testing::DeviceOf(shape), options);
  const sched::StreamId stream = harness.Open(Priority(1));
  std::map<sched::RequestId, std::vector<Outcome>> ends;
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome outcome,
                                       const sched::Run*) { ends[request.id].push_back(outcome); };
  // Five fill a batch at once; the sixth runs alone.
  std::vector<HarnessArrival> arrivals(5);
  arrivals.push_back({10'000, 0, 1, Nanos{0}});
  harness.Serve(arrivals);
  REQUIRE(ends.size() == 6);
  for (sched::RequestId id = 0; id < 5; ++id) {
    CHECK(ends.at(id) == std::vector<Outcome>{Outcome::kFailed});
  }
  CHECK(ends.at(5) == std::vector<Outcome>{Outcome::kOk});
  const sched::StreamCounters& counters = harness.scheduler.counters(stream);
  CHECK(counters.submitted == 6);
  CHECK(counters.failed == 5);
  CHECK(counters.ok == 1);
  CHECK(counters.in_flight == 0);
  CHECK(harness.scheduler.counters().runs == 1);
  CHECK(harness.scheduler.idle());
  CHECK(harness.scheduler.status().code() == StatusCode::kOutOfRange);
}

TEST_CASE("steps that need a matrix unit run on the class that has one alone",
          "[exec][placement]") {
  testing::DeviceShape shape;
  shape.cores = 2;
  shape.more_classes = {{"matrix", 1}};
  auto device = std::make_shared<device::Spec>(*testing::DeviceOf(shape));
  device->classes[1].arrays = 1;
  device->classes[1].array_rows = device->classes[1].array_cols = 16;
  device::testing::PlanMaker maker;
  maker.Dim("rows", 1, 64).Dim("batch", 1, 8);
  maker.Tensor("x", plan::TensorKind::kInput, "rows * 32");
  maker.Tensor("w", plan::TensorKind::kWeight, "32 * 32");
  maker.Tensor("h", plan::TensorKind::kActivation, "rows * 32");
  maker.Tensor("y", plan::TensorKind::kOutput, "rows * 32");
  maker.Gemm("matmul", {"x", "w"}, "h", "rows", "32", "32");
  maker.Vector("relu", {"h"}, "y", "rows * 32", 1);
  maker.Group("matmul", {"matmul"});
  maker.Group("relu", {"relu"}).predecessors = {0};
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  options.max_concurrent_runs = 8;
  Harness harness(std::make_shared<const plan::Body>(maker.body()), device, options);
  harness.Open(Priority(1));
  std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>> steps;  // by node, by core
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    ++steps[step.node.value()][core.value()];
  };
  // All at once: whoever may help does.
  harness.Serve(std::vector<HarnessArrival>(20));
  CHECK(steps.at(0) == std::map<std::uint32_t, std::size_t>{{2, 20}});
  CHECK(steps.at(1).size() > 1);
}

}  // namespace leeway
