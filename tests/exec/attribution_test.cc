// Attribution against cases whose parts can be told by hand, and against the cost tables.

#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Harness;
using testing::HarnessArrival;
using testing::Task;
using testing::TaskGraph;

constexpr auto kAny = plan::PlacementMode::kAny;
constexpr auto kPinned = plan::PlacementMode::kPinned;

TaskGraph OneTask(std::int64_t time_ns) { return {Task{time_ns, {}, kAny, {}, 1, 0}}; }

struct Told {
  std::vector<exec::RequestRecord> records;  // without request and run, which have ended
  explicit Told(Harness& harness) {
    harness.on_ok = [this](const exec::RequestRecord& record) { records.push_back(record); };
  }
};

sched::SchedulerOptions OneByOne() {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  options.max_concurrent_runs = 8;
  options.ageing_interval = Nanos{1'000'000};
  return options;
}

}  // namespace

TEST_CASE("a lone request is its planned time and its launches", "[exec][attribution]") {
  testing::DeviceShape shape;
  shape.run_launch_ns = 70;
  shape.step_launch_ns = 5;
  // A chain of two. A group's profile is its whole time, its step's launch included.
  const TaskGraph chain = {Task{100, {}, kAny, {}, 1, 0}, Task{40, {0}, kAny, {}, 1, 0}};
  Harness harness(testing::PlanOf({{"v", 64, 8, chain}}), testing::DeviceOf(shape));
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{10, 0, 3, Nanos{0}}});
  REQUIRE(told.records.size() == 1);
  const Attribution& parts = told.records[0].parts;
  CHECK(told.records[0].latency == Nanos{70 + 100 + 40});
  CHECK(parts.part(Cause::kPlanned) == Nanos{95 + 35});
  CHECK(parts.part(Cause::kLaunch) == Nanos{70 + 5 + 5});
  CHECK(parts.total() == told.records[0].latency);
}

TEST_CASE("waiting behind equal, less and more urgent work is told apart", "[exec][attribution]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  struct Case {
    int running, waiting;
    Cause cause;
  };
  const auto c = GENERATE(Case{1, 1, Cause::kCapacity}, Case{2, 1, Cause::kLowerPriorityInFlight},
                          Case{1, 2, Cause::kHigherPriority});
  CAPTURE(c.running, c.waiting);
  Harness harness(testing::PlanOf({{"v", 64, 8, OneTask(100)}}), testing::DeviceOf(shape),
                  OneByOne());
  harness.Open(Priority(c.running));
  harness.Open(Priority(c.waiting));
  Told told(harness);
  harness.Serve({{0, 0, 1, Nanos{0}}, {30, 1, 1, Nanos{0}}});
  REQUIRE(told.records.size() == 2);
  CHECK(told.records[1].parts.part(c.cause) == Nanos{70});
  CHECK(told.records[1].latency == Nanos{170});
}

TEST_CASE("a step pinned to a busy core while another is idle waits for imbalance",
          "[exec][attribution]") {
  testing::DeviceShape shape;
  shape.cores = 2;
  const TaskGraph pinned = {Task{100, {}, kPinned, {0}, 1, 0}};
  Harness harness(testing::PlanOf({{"v", 64, 8, pinned}}), testing::DeviceOf(shape), OneByOne());
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 1, Nanos{0}}, {30, 0, 1, Nanos{0}}});
  REQUIRE(told.records.size() == 2);
  CHECK(told.records[1].parts.part(Cause::kCoreImbalance) == Nanos{70});
}

TEST_CASE("waiting for mates is batching, and ends when the batch closes", "[exec][attribution]") {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 2;
  options.batching.max_queue_delay = Nanos{500};
  Harness harness(testing::PlanOf({{"v", 64, 8, OneTask(100)}}), testing::DeviceOf({}), options);
  harness.Open(Priority(1));
  Told told(harness);
  // The first two fill a batch at 40; the third waits out its delay alone.
  harness.Serve({{0, 0, 1, Nanos{0}}, {40, 0, 1, Nanos{0}}, {1000, 0, 1, Nanos{0}}});
  REQUIRE(told.records.size() == 3);
  CHECK(told.records[0].parts.part(Cause::kBatching) == Nanos{40});
  CHECK(told.records[1].parts.part(Cause::kBatching) == Nanos{0});
  CHECK(told.records[2].parts.part(Cause::kBatching) == Nanos{500});
  CHECK(told.records[2].latency == Nanos{600});
}

TEST_CASE("two transfers that share the DRAM are in contention for what they take longer",
          "[exec][attribution]") {
  testing::DeviceShape shape;
  shape.cores = 2;
  const TaskGraph transfer = {Task{1, {}, kAny, {}, 1, 10'000}};
  auto plan = testing::PlanOf({{"v", 64, 8, transfer}});
  Nanos alone{0};
  {
    Harness harness(plan, testing::DeviceOf(shape), OneByOne());
    harness.Open(Priority(1));
    Told told(harness);
    harness.Serve({{0, 0, 1, Nanos{0}}});
    alone = told.records.at(0).latency;
    CHECK(told.records[0].parts.part(Cause::kContention) == Nanos{0});
  }
  Harness harness(plan, testing::DeviceOf(shape), OneByOne());
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 1, Nanos{0}}, {0, 0, 1, Nanos{0}}});
  REQUIRE(told.records.size() == 2);
  for (const exec::RequestRecord& record : told.records) {
    CHECK(record.parts.part(Cause::kContention) == record.latency - alone);
    // Half the bandwidth each: the bodies take twice as long, the fixed parts do not.
    CHECK(record.parts.part(Cause::kContention) > alone / 2);
    CHECK(record.parts.part(Cause::kContention) <= alone);
  }
}

TEST_CASE("a request that no variant covers runs unfused and is told the difference",
          "[exec][attribution]") {
  // The generic time is at least phi times the fused time at the request's own dims.
  const TaskGraph moves = {Task{1, {}, kAny, {}, 1, 5'000}, Task{1, {0}, kAny, {}, 1, 5'000}};
  const double phi = 3;
  Harness harness(testing::PlanOf({{"v", 16, 8, moves}}), testing::DeviceOf({}), OneByOne(), phi);
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 8, Nanos{0}}, {1'000'000, 0, 40, Nanos{0}}});
  REQUIRE(told.records.size() == 2);
  const Attribution& covered = told.records[0].parts;
  const Attribution& fallback = told.records[1].parts;
  CHECK(covered.part(Cause::kFallback) == Nanos{0});
  CHECK(fallback.part(Cause::kPlanned) == covered.part(Cause::kPlanned));
  CHECK(fallback.part(Cause::kFallback).count() >=
        static_cast<std::int64_t>((phi - 1) *
                                  static_cast<double>(covered.part(Cause::kPlanned).count())));
  CHECK(fallback.total() == told.records[1].latency);
  CHECK(harness.scheduler.counters(sched::StreamId(0)).fallback == 1);
}

TEST_CASE("the execution chain equals the cost tables at its dims", "[exec][attribution]") {
  // Times grow with the variant: padding is the step from one table to the other.
  base::Prng prng(3);
  testing::GraphShape shape;
  shape.placements = testing::GraphShape::Placements::kAnyOnly;
  shape.edge_probability = 1;  // a chain, so that every node is on the critical chain
  const TaskGraph chain = testing::RandomGraph(prng, shape);
  testing::DeviceShape device;
  device.step_launch_ns = 1;
  Harness harness(testing::PlanOf({{"v", 64, 8, chain}}), testing::DeviceOf(device), OneByOne());
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 17, Nanos{0}}});
  REQUIRE(told.records.size() == 1);
  const auto at = [&](std::int64_t seq) {
    return harness.model().Costs(sched::GraphId(0), {seq, 1}).value()->critical_path;
  };
  const Attribution& parts = told.records[0].parts;
  CHECK(parts.part(Cause::kPlanned) == at(17));
  CHECK(parts.part(Cause::kPlanned) + parts.part(Cause::kBatchMates) +
            parts.part(Cause::kPadding) ==
        at(64));
}

TEST_CASE(
    "a stretched fallback takes at least phi times the fused time and is in no contention alone",
    "[exec][attribution]") {
  const double phi = GENERATE(2.0, 10.0, 100.0);
  CAPTURE(phi);
  const TaskGraph moves = {Task{1, {}, kAny, {}, 1, 7}, Task{1, {0}, kAny, {}, 1, 5}};
  Harness harness(testing::PlanOf({{"v", 16, 8, moves}}), testing::DeviceOf({}), OneByOne(), phi);
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 40, Nanos{0}}});
  REQUIRE(told.records.size() == 1);
  CHECK(told.records[0].parts.part(Cause::kContention) == Nanos{0});
  CHECK(static_cast<double>(told.records[0].latency.count()) >=
        phi * static_cast<double>(told.records[0].parts.part(Cause::kPlanned).count()));
}

TEST_CASE("the launch of a run is paid by its first step, after calls of no repetitions too",
          "[exec][attribution]") {
  plan::Body body = *testing::LoopPlanOf(OneTask(100), 0);
  const plan::Body tail =
      *testing::PlanOf({{"v", 64, 32, {Task{}, Task{40, {0}, kAny, {}, 1, 0}}}});
  body.entries[0].operators.push_back(tail.entries[0].operators[1]);
  body.entries[0].variants[0].groups.push_back(tail.entries[0].variants[0].groups[1]);
  testing::DeviceShape shape;
  shape.run_launch_ns = 70;
  Harness harness(std::make_shared<const plan::Body>(body), testing::DeviceOf(shape));
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 1, Nanos{0}}});
  REQUIRE(told.records.size() == 1);
  CHECK(told.records[0].latency == Nanos{110});
  CHECK(told.records[0].parts.part(Cause::kLaunch) == Nanos{70});
  CHECK(told.records[0].parts.part(Cause::kContention) == Nanos{0});
}

TEST_CASE("repetitions that the padding adds are padding", "[exec][attribution]") {
  // The loop runs as often as the request is long: 3 times, padded 64.
  plan::Body body = *testing::LoopPlanOf(OneTask(100), 1);
  body.entries[0].operators[0].work = plan::Call{1, plan::Expr::Symbol(0)};
  Harness harness(std::make_shared<const plan::Body>(body), testing::DeviceOf({}));
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 3, Nanos{0}}});
  REQUIRE(told.records.size() == 1);
  CHECK(told.records[0].parts.part(Cause::kPlanned) == Nanos{300});
  CHECK(told.records[0].parts.part(Cause::kPadding) == Nanos{6100});
  CHECK(told.records[0].latency == Nanos{6400});
}

}  // namespace leeway
