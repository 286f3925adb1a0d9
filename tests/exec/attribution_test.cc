// Attribution against cases whose parts can be told by hand, and against the cost tables.

#include <algorithm>
#include <map>
#include <string>
#include <utility>

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
constexpr auto kPreferred = plan::PlacementMode::kPreferred;
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

TEST_CASE("cores of other classes do not tell why a step waits", "[exec][attribution]") {
  // Cores 0 and 1 are of the step's class, core 2 is of another. The step is pinned to core 0,
  // which is busy with its equal until 100; it waits there from 30 on.
  struct Case {
    std::string what;
    std::vector<HarnessArrival> others;
    Cause cause;
  };
  // Streams of priority 1, 2 (the step's own) and 3. A request of seq 8 runs on core 0 for 100, of
  // 16 on core 1 and of 24 on core 2 for 1000: each is bound to the fastest variant that covers it.
  const auto c = GENERATE(values<Case>({
      {"all others idle", {}, Cause::kCoreImbalance},
      {"the other class busy", {{1, 1, 24, Nanos{0}}}, Cause::kCoreImbalance},
      {"its own class busy, the other idle", {{1, 1, 16, Nanos{0}}}, Cause::kCapacity},
      {"less urgent work beside it",
       {{1, 2, 16, Nanos{0}}, {2, 2, 24, Nanos{0}}},
       Cause::kCapacity},
      {"more urgent work beside it",
       {{1, 0, 16, Nanos{0}}, {2, 0, 24, Nanos{0}}},
       Cause::kCapacity},
  }));
  CAPTURE(c.what);
  testing::DeviceShape shape;
  shape.cores = 2;
  shape.more_classes = {{"other", 1}};
  const auto one = [](std::int64_t time, std::uint32_t core, std::string core_class) {
    return TaskGraph{Task{time, {}, kPinned, {core}, 1, 0, std::move(core_class)}};
  };
  Harness harness(testing::PlanOf({{"a", 8, 8, one(100, 0, "core")},
                                   {"b", 16, 8, one(1000, 1, "core")},
                                   {"c", 24, 8, one(1000, 0, "other")}}),
                  testing::DeviceOf(shape), OneByOne());
  for (int priority = 1; priority <= 3; ++priority) harness.Open(Priority(priority));
  std::map<std::int64_t, Attribution> told;  // by arrival
  harness.on_ok = [&](const exec::RequestRecord& record) {
    told[record.request->admitted.count()] = record.parts;
  };
  std::vector<HarnessArrival> arrivals = {{0, 1, 8, Nanos{0}}};
  arrivals.insert(arrivals.end(), c.others.begin(), c.others.end());
  arrivals.push_back({30, 1, 8, Nanos{0}});
  harness.Serve(arrivals);
  REQUIRE(told.size() == arrivals.size());
  CHECK(told.at(30).part(c.cause) == Nanos{70});
  CHECK(told.at(30).total() == Nanos{170});
}

TEST_CASE("a step's planned time is that of the class it ran on", "[exec][attribution]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  shape.dram_bytes_per_second = 4'000'000'000;  // enough for both ports
  shape.dma_bytes_per_second = 1'000'000'000;
  shape.more_classes = {{"slow", 1, 500'000'000}};
  const TaskGraph transfer = {Task{1, {}, kAny, {}, 1, 10'000}};
  Harness harness(testing::PlanOf({{"v", 64, 8, transfer}}), testing::DeviceOf(shape), OneByOne());
  harness.Open(Priority(1));
  Told told(harness);
  harness.Serve({{0, 0, 64, Nanos{0}}, {0, 0, 64, Nanos{0}}});
  REQUIRE(told.records.size() == 2);
  const auto table = harness.model().Costs(sched::GraphId(0), {64, 1}).value();
  REQUIRE(table->alone.size() == 2);
  CHECK(table->alone[1] > table->alone[0]);
  for (std::size_t i = 0; i < 2; ++i) {
    // The faster ends first.
    CHECK(told.records[i].parts.part(Cause::kPlanned) == table->alone[i]);
    CHECK(told.records[i].parts.part(Cause::kContention) == Nanos{0});
    CHECK(told.records[i].parts.total() == told.records[i].latency);
  }
}

namespace {

// Where a step may run and the cores of its classes, from the placement's words alone.
struct Where {
  std::vector<std::uint32_t> allowed, of_class;
};
Where WhereOf(const Task& task, const device::Spec& device) {
  Where where;
  for (std::uint32_t core = 0; core < device.core_count(); ++core) {
    const device::CoreClass& of = device.classes[device.ClassOf(core)];
    const bool named = task.core_class.empty() || of.name == task.core_class;
    if (named) where.of_class.push_back(core);
    const bool planned =
        std::find(task.cores.begin(), task.cores.end(), core - of.first_core) != task.cores.end();
    if (named && (task.mode != kPinned || planned)) where.allowed.push_back(core);
  }
  return where;
}

// Tells the class of every wait by the definition, from instant to instant.
class WaitOracle {
 public:
  WaitOracle(Harness& harness, const device::Spec& device, std::vector<Where> by_graph)
      : harness_(harness), where_(std::move(by_graph)), running_(device.core_count()) {
    harness.watch.on_launch = [this](sched::CoreId core, const sched::StepRef& step) {
      running_[core.value()] = harness_.scheduler.run(step.run).slot;
    };
    harness.watch.on_retired = [this](sched::CoreId core, const sched::StepRef&) {
      Advance();
      running_[core.value()].reset();
    };
    harness.after_instant = [this] { Look(); };
  }

  // What the run waited for, by cause.
  const std::map<Cause, Nanos>& Of(sched::RunId run) {
    Advance();
    return waited_[{run.value(), harness_.scheduler.run(run).generation}];
  }

 private:
  using RunKey = std::pair<std::uint32_t, std::uint32_t>;

  // Adds the time since the last instant, in which nothing has changed.
  void Advance() {
    const Instant now = harness_.world.Now();
    for (const auto& [run, cause] : waiting_) waited_[run][cause] += now - since_;
    since_ = now;
  }

  void Look() {
    Advance();
    waiting_.clear();
    harness_.scheduler.ForEachReady(
        [&](sched::CoreId, sched::LaneId, sched::Key, const sched::StepRef& step) {
          const sched::Run& run = harness_.scheduler.run(step.run);
          waiting_.push_back({{step.run.value(), step.generation},
                              CauseOf(where_[run.graph_id.value()], run.slot)});
        });
  }

  Cause CauseOf(const Where& where, std::uint64_t slot) const {
    const auto any = [&](const std::vector<std::uint32_t>& cores, auto is) {
      return std::any_of(cores.begin(), cores.end(),
                         [&](std::uint32_t core) { return is(running_[core]); });
    };
    const auto idle = [](const auto& running) { return !running.has_value(); };
    if (any(where.allowed, idle)) return Cause::kDispatch;
    if (any(where.of_class, idle)) return Cause::kCoreImbalance;
    if (any(where.allowed, [&](const auto& r) { return *r > slot; })) {
      return Cause::kLowerPriorityInFlight;
    }
    if (any(where.allowed, [&](const auto& r) { return *r < slot; })) return Cause::kHigherPriority;
    return Cause::kCapacity;
  }

  Harness& harness_;
  std::vector<Where> where_;
  std::vector<std::optional<std::uint64_t>> running_;  // slots
  std::vector<std::pair<RunKey, Cause>> waiting_;
  std::map<RunKey, std::map<Cause, Nanos>> waited_;
  Instant since_;
};

}  // namespace

TEST_CASE("each part of a wait is what the definition says, on cores of several classes",
          "[exec][attribution][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  testing::DeviceShape shape;
  shape.cores = 1 + static_cast<std::uint32_t>(prng.Below(3));
  shape.more_classes = {{"more", 1 + static_cast<std::uint32_t>(prng.Below(3))}};
  const auto device = testing::DeviceOf(shape);
  // One task a variant: its wait is the request's.
  std::vector<testing::TaskVariant> variants;
  std::vector<Where> where;
  for (std::int64_t v = 0; v < 3; ++v) {
    Task task{100 * (v + 1), {}, kAny, {}, 1, 0};
    if (prng.Below(4) > 0) task.core_class = prng.Below(2) == 0 ? "core" : "more";
    if (!task.core_class.empty() && prng.Below(3) > 0) {
      task.mode = prng.Below(2) == 0 ? kPinned : kPreferred;
      task.cores = {static_cast<std::uint32_t>(
          prng.Below(task.core_class == "core" ? shape.cores : shape.more_classes[0].cores))};
    }
    where.push_back(WhereOf(task, *device));
    variants.push_back({std::string(1, static_cast<char>('a' + v)), 16 * (v + 1), 8, {task}});
  }
  sched::SchedulerOptions options = OneByOne();
  options.max_concurrent_runs = 12;
  options.ageing_interval = Nanos{2000};
  Harness harness(testing::PlanOf(variants), device, options);
  for (int priority = 1; priority <= 3; ++priority) harness.Open(Priority(priority));
  WaitOracle oracle(harness, *device, where);
  std::map<const sched::Run*, sched::RunId> run_of;  // the slot that a run's address stands for
  harness.watch.on_run_started = [&](sched::RunId id, const sched::Run& run) { run_of[&run] = id; };
  std::size_t waits = 0;
  harness.on_ok = [&](const exec::RequestRecord& record) {
    const std::map<Cause, Nanos>& expected = oracle.Of(run_of.at(record.run));
    for (Cause cause : {Cause::kDispatch, Cause::kCoreImbalance, Cause::kLowerPriorityInFlight,
                        Cause::kHigherPriority, Cause::kCapacity}) {
      const auto found = expected.find(cause);
      const Nanos part = found == expected.end() ? Nanos{0} : found->second;
      CAPTURE(record.request->id, CauseName(cause));
      CHECK(record.parts.part(cause) == part);
      if (part > Nanos{0}) ++waits;
    }
  };
  std::vector<HarnessArrival> arrivals;
  for (std::int64_t at = 0; arrivals.size() < 80; at += static_cast<std::int64_t>(prng.Below(80))) {
    arrivals.push_back({at, static_cast<std::uint32_t>(prng.Below(3)),
                        1 + static_cast<std::int64_t>(prng.Below(48)), Nanos{0}});
  }
  harness.Serve(arrivals);
  CHECK(waits > 0);
}

}  // namespace leeway
