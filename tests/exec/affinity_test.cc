// Where steps go on cores that take different times for them, or to which something has to be
// moved.

#include <memory>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/random_system.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Harness;
using testing::HarnessArrival;
using testing::System;
using testing::Task;
using testing::TaskGraph;

constexpr auto kAny = plan::PlacementMode::kAny;
constexpr auto kPreferred = plan::PlacementMode::kPreferred;
constexpr sched::CoreId kPlanned{0}, kOther{1};

TaskGraph OneTask(plan::PlacementMode mode) {
  Task task{100, {}, mode, {}, 1, 0};
  if (mode == kPreferred) task.cores = {0};
  return {task};
}

// Preferred groups may run on cores of another class too.
std::shared_ptr<const plan::Body> PreferAlso(const plan::Body& plan, const char* core_class) {
  auto body = std::make_shared<plan::Body>(plan);
  for (plan::Variant& variant : body->entries[0].variants) {
    for (plan::Group& group : variant.groups) {
      if (group.placement.mode != kPreferred) continue;
      group.placement.cores.push_back({.device = {}, .core_class = core_class, .index = 0});
    }
  }
  return body;
}

// Two cores of a class each.
testing::DeviceShape TwoClasses() {
  testing::DeviceShape shape;
  shape.cores = 1;
  shape.more_classes = {{"other", 1}};
  return shape;
}

sched::SchedulerOptions OneByOne() {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  options.max_concurrent_runs = 8;
  return options;
}

// A step of 100 ns is planned on core 0, and core 1 may take it. What moving costs is a core's own.
struct MovingSystem {
  std::vector<std::uint32_t> cores;  // by launch
  std::vector<exec::RequestRecord> records;
  std::uint64_t holds = 0;

  MovingSystem(Nanos to_planned, Nanos to_other, const std::vector<HarnessArrival>& arrivals) {
    sched::SchedulerOptions options = OneByOne();
    options.moving = [=](const sched::Run&, sched::NodeId, sched::CoreId core) {
      return core == kPlanned ? to_planned : to_other;
    };
    Harness harness(PreferAlso(*testing::PlanOf({{"a", 16, 8, OneTask(kPreferred)},
                                                 {"b", 64, 8, OneTask(kAny)}}),
                               "other"),
                    testing::DeviceOf(TwoClasses()), options);
    harness.Open(Priority(1));
    harness.Open(Priority(2));
    harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef&) {
      cores.push_back(core.value());
    };
    harness.on_ok = [&](const exec::RequestRecord& record) { records.push_back(record); };
    harness.Serve(arrivals);
    holds = harness.scheduler.counters().holds;
  }
};

}  // namespace

TEST_CASE("a preferred step goes to its planned core unless another finishes it sooner",
          "[exec][placement]") {
  using Cores = std::vector<std::uint32_t>;
  const std::vector<HarnessArrival> one = {HarnessArrival{}};
  CHECK(MovingSystem(Nanos{0}, Nanos{0}, one).cores == Cores{0});
  CHECK(MovingSystem(Nanos{50}, Nanos{50}, one).cores == Cores{0});
  CHECK(MovingSystem(Nanos{50}, Nanos{49}, one).cores == Cores{1});
  // The second comes when the planned core is busy for 60 ns more.
  const std::vector<HarnessArrival> two = {{0, 0, 1, Nanos{0}}, {40, 0, 1, Nanos{0}}};
  CHECK(MovingSystem(Nanos{0}, Nanos{0}, two).cores == Cores{0, 1});
  CHECK(MovingSystem(Nanos{0}, Nanos{59}, two).cores == Cores{0, 1});
  CHECK(MovingSystem(Nanos{0}, Nanos{60}, two).cores == Cores{0, 0});
  CHECK(MovingSystem(Nanos{0}, Nanos{1000}, two).cores == Cores{0, 0});
}

TEST_CASE("a step that is held for its planned core waits for imbalance", "[exec][attribution]") {
  const MovingSystem system(Nanos{0}, Nanos{70}, {{0, 0, 1, Nanos{0}}, {40, 0, 1, Nanos{0}}});
  REQUIRE(system.records.size() == 2);
  CHECK(system.records[1].latency == Nanos{160});
  CHECK(system.records[1].parts.part(Cause::kCoreImbalance) == Nanos{60});
  CHECK(system.records[1].parts.part(Cause::kDispatch) == Nanos{0});
  CHECK(system.records[1].parts.total() == system.records[1].latency);
}

TEST_CASE("a hold keeps no core from other work, and is counted where that is less urgent",
          "[exec][placement]") {
  // At 40 an urgent step is held for core 0; at 50 a bulk one comes, which core 1 may begin.
  const MovingSystem system(Nanos{0}, Nanos{70},
                            {{0, 0, 1, Nanos{0}}, {40, 0, 1, Nanos{0}}, {50, 1, 40, Nanos{0}}});
  CHECK(system.cores == std::vector<std::uint32_t>{0, 1, 0});
  CHECK(system.holds == 1);
  // Nothing is held where nothing costs a move.
  CHECK(MovingSystem(Nanos{0}, Nanos{0}, {{0, 0, 1, Nanos{0}}, {40, 0, 1, Nanos{0}}}).holds == 0);
}

TEST_CASE("a free step goes to the faster of two idle cores, and at once to a slower idle one",
          "[exec][placement]") {
  // 1,000 bytes pass the slow port of core 0 in 4 µs, that of core 1 in 1 µs.
  testing::DeviceShape shape;
  shape.cores = 1;
  shape.dma_bytes_per_second = 250'000'000;
  shape.more_classes = {{"fast", 1, 1'000'000'000}};
  const TaskGraph move = {Task{1, {}, kAny, {}, 1, 1000}};
  Harness harness(testing::PlanOf({{"v", 64, 8, move}}), testing::DeviceOf(shape), OneByOne());
  harness.Open(Priority(1));
  std::vector<std::pair<std::int64_t, std::uint32_t>> launches;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef&) {
    launches.emplace_back(harness.world.Now().count(), core.value());
  };
  harness.Serve({{0, 0, 1, Nanos{0}}, {100, 0, 1, Nanos{0}}, {50'000, 0, 1, Nanos{0}}});
  CHECK(launches ==
        std::vector<std::pair<std::int64_t, std::uint32_t>>{{0, 1}, {100, 0}, {50'000, 1}});
}

// That a core idles beside a ready step only if it is held, and starts a less urgent one only then,
// is one of the laws that every harness checks, from finish times of its own.
TEST_CASE(
    "whatever moving costs, steps are held only for a core that is predicted to end them first",
    "[exec][placement][property]") {
  std::uint64_t held = 0, counted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const std::uint32_t depth = 1 + static_cast<std::uint32_t>(seed % 3);
    System system = testing::RandomSystem(seed, testing::GraphShape::Bytes::kSome, depth,
                                          testing::Classes::kSeveral);
    const std::uint64_t most = seed % 4 == 0 ? 0 : 1 + seed % 500;
    system.options.moving = [=](const sched::Run&, sched::NodeId node, sched::CoreId core) {
      const std::uint64_t cost = seed * 31 + node.value() * 7 + core.value() * 13;
      return Nanos{static_cast<std::int64_t>(cost % (most + 1))};
    };
    Harness harness(testing::AcrossClasses(*system.plan, *system.device, seed), system.device,
                    system.options);
    testing::OpenStreams(harness, system, seed);
    std::size_t wrong = 0;
    harness.on_ok = [&](const exec::RequestRecord& record) {
      if (record.parts.total() != record.latency) ++wrong;
      // A step may wait in a core's launch queue while another core is idle.
      if (depth == 1 && record.parts.part(Cause::kDispatch) != Nanos{0}) ++wrong;
    };
    harness.Serve(system.arrivals);
    CHECK(wrong == 0);
    CHECK(harness.scheduler.idle());
    held += harness.laws().held();
    counted += harness.scheduler.counters().holds;
  }
  CHECK(held > 1000);
  CHECK(counted > 10);
}

namespace {

// A core that computes and one that only moves data. The DRAM gives both a byte a nanosecond.
std::shared_ptr<const device::Spec> CoreAndMover() {
  testing::DeviceShape shape = TwoClasses();
  shape.more_classes[0].name = "mover";
  auto spec = std::make_shared<device::Spec>(*testing::DeviceOf(shape));
  spec->classes[1].vector_lanes = 0;
  return spec;
}

// Work that computes for so long on one lane and reads so many bytes meanwhile.
plan::Work Computing(std::int64_t ns, std::int64_t bytes) {
  return plan::Custom{plan::Expr::Constant(ns), plan::Expr::Constant(bytes)};
}

}  // namespace

TEST_CASE("a move on a core of its own overlaps with what computes, and takes what that leaves",
          "[exec][placement]") {
  // Computes for 1,000 ns and reads 200 bytes meanwhile; the move reads 400 and writes 400.
  const TaskGraph tasks = {Task{1, {}, kAny, {}, 1, 1}, Task{1, {}, kAny, {}, 1, 400}};
  auto body = std::make_shared<plan::Body>(*testing::PlanOf({{"v", 64, 8, tasks}}));
  body->entries[0].operators[0].work = Computing(1000, 200);
  plan::Group& move = body->entries[0].variants[0].groups[1];
  move.placement = {plan::PlacementMode::kPinned,
                    {{.device = {}, .core_class = "mover", .index = 0}}};
  Harness harness(body, CoreAndMover(), OneByOne());
  harness.Open(Priority(1));
  std::vector<Nanos> durations(2), alone(2);
  harness.watch.on_finished = [&](sched::CoreId core, const sched::StepRef& step, Nanos duration) {
    durations[step.node.value()] = duration;
    alone[step.node.value()] =
        harness.scheduler.run(step.run).costs->expected(step.node, core.value());
    CHECK(core.value() == step.node.value());
  };
  harness.Serve({{0, 0, 1, Nanos{0}}});
  // The compute-bound step asks for 0.2 bytes a nanosecond and gets them.
  CHECK(durations[0] == alone[0]);
  CHECK(alone[0] >= Nanos{1000});
  CHECK(alone[0] <= Nanos{1002});
  // The move takes the other 0.8: 1,000 ns, but for its first and last byte and where they begin
  // and end apart; by itself it takes 800.
  CHECK(alone[1] >= Nanos{800});
  CHECK(alone[1] <= Nanos{804});
  CHECK(durations[1] >= Nanos{998});
  CHECK(durations[1] <= Nanos{1004});
}

TEST_CASE(
    "a free move goes to the core that only moves while the other computes, and no other "
    "step does",
    "[exec][placement]") {
  auto body = std::make_shared<plan::Body>(*testing::PlanOf(
      {{"v", 64, 8, {Task{1, {}, kAny, {}, 1, 1}, Task{1, {}, kAny, {}, 1, 50}}}}));
  body->entries[0].operators[0].work = Computing(1000, 0);
  Harness harness(body, CoreAndMover(), OneByOne());
  harness.Open(Priority(1));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launches;  // node, core
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    launches.emplace_back(step.node.value(), core.value());
  };
  harness.Serve({{0, 0, 1, Nanos{0}}, {10, 0, 1, Nanos{0}}, {400, 0, 1, Nanos{0}}});
  REQUIRE(launches.size() == 6);
  for (const auto& [node, core] : launches) CHECK(core == node);
}

}  // namespace leeway
