// Properties of whole simulations over random small systems. Every failure prints its seed.

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "exec/simulation.h"
#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/random_system.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Classes;
using testing::GraphShape;
using testing::Harness;
using testing::HarnessArrival;
using testing::OpenStreams;
using testing::RandomSystem;
using testing::System;
using testing::TaskGraph;

using Step = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
Step Name(const sched::StepRef& s) {
  return {s.run.value(), s.generation, s.node.value(), s.shard, s.round};
}

}  // namespace

TEST_CASE("every request ends exactly once and the counters' equation holds at every instant",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  const System system = RandomSystem(seed, GraphShape::Bytes::kSome);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);

  std::map<sched::RequestId, int> ends;
  std::map<Outcome, std::uint64_t> by_outcome;
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome outcome,
                                       const sched::Run*) {
    ++ends[request.id];
    ++by_outcome[outcome];
  };
  bool balanced = true;
  harness.after_instant = [&] {
    for (std::uint32_t s = 0; s < system.streams; ++s) {
      const sched::StreamCounters& c = harness.scheduler.counters(sched::StreamId(s));
      balanced = balanced && c.submitted == c.ok + c.rejected + c.expired + c.cancelled + c.failed +
                                                c.in_flight;
    }
  };
  harness.Serve(system.arrivals);

  CHECK(balanced);
  CHECK(harness.scheduler.idle());
  CHECK(harness.scheduler.status().ok());
  CHECK(ends.size() == system.arrivals.size());
  CHECK(std::all_of(ends.begin(), ends.end(), [](const auto& e) { return e.second == 1; }));
  std::uint64_t ok = 0;
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    ok += harness.scheduler.counters(sched::StreamId(s)).ok;
  }
  CHECK(by_outcome[Outcome::kOk] == ok);
}

TEST_CASE("the parts of every OK request add up to its latency, and none is negative",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  const auto depth = GENERATE(1u, 2u, 3u);
  const auto classes = GENERATE(Classes::kOne, Classes::kSeveral);
  CAPTURE(seed, depth, classes == Classes::kSeveral);
  const System system = RandomSystem(seed, GraphShape::Bytes::kSome, depth, classes);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::size_t wrong = 0, negative = 0;
  harness.on_ok = [&](const exec::RequestRecord& record) {
    if (record.parts.total() != record.latency) ++wrong;
    for (Cause cause : {Cause::kBatching, Cause::kHigherPriority, Cause::kLowerPriorityInFlight,
                        Cause::kCapacity, Cause::kDispatch, Cause::kCoreImbalance, Cause::kPlanned,
                        Cause::kLaunch, Cause::kContention}) {
      if (record.parts.part(cause) < Nanos{0}) ++negative;
    }
  };
  harness.Serve(system.arrivals);
  CHECK(wrong == 0);
  CHECK(negative == 0);
  CHECK(harness.attributor().missing() == 0);
  CHECK(harness.attributor().status().ok());
}

TEST_CASE("no core starts a step while one of a smaller slot that may run there is ready",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  const auto classes = GENERATE(Classes::kOne, Classes::kSeveral);
  CAPTURE(seed, classes == Classes::kSeveral);
  const System system = RandomSystem(seed, GraphShape::Bytes::kNone, 1, classes);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::size_t dispatches = 0, violations = 0;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    ++dispatches;
    const std::uint64_t slot = harness.scheduler.run(step.run).slot;
    harness.scheduler.ForEachReady(
        [&](sched::CoreId, sched::LaneId lane, sched::Key key, const sched::StepRef&) {
          if (harness.domains()[lane.domain].allowed.Contains(core) && key.slot() < slot)
            ++violations;
        });
  };
  harness.Serve(system.arrivals);
  CHECK(violations == 0);
  std::uint64_t ok = 0;
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    ok += harness.scheduler.counters(sched::StreamId(s)).ok;
  }
  CHECK((dispatches > 0 || ok == 0));
}

TEST_CASE("no core is idle at the end of an instant while a step that may run there is ready",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  const auto classes = GENERATE(Classes::kOne, Classes::kSeveral);
  CAPTURE(seed, classes == Classes::kSeveral);
  const System system = RandomSystem(seed, GraphShape::Bytes::kSome, 1, classes);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::map<std::uint32_t, int> running;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef&) {
    ++running[core.value()];
  };
  harness.watch.on_retired = [&](sched::CoreId core, const sched::StepRef&) {
    --running[core.value()];
  };
  std::size_t wasted = 0;
  harness.after_instant = [&] {
    harness.scheduler.ForEachReady(
        [&](sched::CoreId, sched::LaneId lane, sched::Key, const sched::StepRef&) {
          harness.domains()[lane.domain].allowed.ForEach([&](sched::CoreId core) {
            if (running[core.value()] == 0) ++wasted;
          });
        });
  };
  harness.Serve(system.arrivals);
  CHECK(wasted == 0);
}

TEST_CASE("each step runs once, after its inputs, and a pinned one on its cores",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  const auto depth = GENERATE(1u, 2u);
  CAPTURE(seed, depth);
  const System system = RandomSystem(seed, GraphShape::Bytes::kSome, depth);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::set<Step> launched, retired;
  std::size_t twice = 0, early = 0, moved = 0;
  // Steps in flight on each core, in order: with a launch depth a step may follow its inputs there.
  std::map<std::uint32_t, std::vector<Step>> in_flight;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    if (!launched.insert(Name(step)).second) ++twice;
    const sched::Run& run = harness.scheduler.run(step.run);
    const sched::Node& node = run.graph->nodes()[step.node.value()];
    if (node.mode == plan::PlacementMode::kPinned &&
        std::find(node.planned.begin(), node.planned.end(), core) == node.planned.end()) {
      ++moved;
    }
    for (std::uint32_t p : run.graph->predecessors(node)) {
      for (std::uint32_t shard = 0; shard < run.costs->shards[p]; ++shard) {
        sched::StepRef input = step;
        input.node = sched::NodeId(p);
        input.shard = shard;
        const auto& ahead = in_flight[core.value()];
        if (retired.count(Name(input)) == 0 &&
            std::find(ahead.begin(), ahead.end(), Name(input)) == ahead.end()) {
          ++early;
        }
      }
    }
    in_flight[core.value()].push_back(Name(step));
  };
  harness.watch.on_retired = [&](sched::CoreId core, const sched::StepRef& step) {
    retired.insert(Name(step));
    auto& ahead = in_flight[core.value()];
    ahead.erase(std::find(ahead.begin(), ahead.end(), Name(step)));
  };
  std::size_t expected = 0;
  harness.watch.on_run_started = [&](sched::RunId, const sched::Run& run) {
    for (std::uint32_t shards : run.costs->shards) expected += shards;
  };
  harness.Serve(system.arrivals);
  CHECK(twice == 0);
  CHECK(early == 0);
  CHECK(moved == 0);
  CHECK(launched == retired);
  CHECK(launched.size() == expected);
  CHECK(harness.scheduler.counters().stray_completions == 0);
}

TEST_CASE("one run of free placement on identical cores keeps Graham's bound", "[exec][bound]") {
  // m·makespan ≤ W + (m − 1)·CP: Graham, "Bounds on multiprocessing timing anomalies", SIAM J.
  // Appl. Math. 17 (1969).
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  base::Prng prng(seed);
  GraphShape shape;
  shape.tasks = 1 + static_cast<std::uint32_t>(prng.Below(60));
  shape.edge_probability = prng.Unit() * 0.3;
  shape.placements = GraphShape::Placements::kAnyOnly;
  const TaskGraph graph = testing::RandomGraph(prng, shape);
  testing::DeviceShape device;
  device.cores = 1 + static_cast<std::uint32_t>(prng.Below(8));
  Harness harness(testing::PlanOf({{"v", testing::kMaxSeq, 32, graph}}), testing::DeviceOf(device));
  harness.Open(Priority(1));
  harness.Serve({HarnessArrival{}});
  const std::int64_t makespan = harness.world.last_finish().count();
  const std::int64_t work = testing::TotalWork(graph), path = testing::CriticalPath(graph);
  CHECK(device.cores * makespan <= work + (device.cores - 1) * path);
  CHECK(makespan >= path);
  CHECK(device.cores * makespan >= work);
}

TEST_CASE("a loop runs its body as often as the call says, one repetition after the other",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  const auto times = GENERATE(0, 1, 2, 7);
  CAPTURE(seed, times);
  base::Prng prng(seed);
  GraphShape shape;
  shape.placements = GraphShape::Placements::kAnyOnly;
  const TaskGraph body = testing::RandomGraph(prng, shape);
  testing::DeviceShape device;
  device.cores = 64;
  Harness harness(testing::LoopPlanOf(body, times), testing::DeviceOf(device));
  harness.Open(Priority(1));
  std::vector<Nanos> latencies;
  harness.on_ok = [&](const exec::RequestRecord& record) {
    latencies.push_back(record.latency);
    CHECK(record.parts.total() == record.latency);
  };
  harness.Serve({HarnessArrival{}});
  // With a core for every task a repetition takes the critical path.
  REQUIRE(latencies.size() == 1);
  CHECK(latencies[0].count() == times * testing::CriticalPath(body));
  CHECK(harness.scheduler.counters().steps == static_cast<std::uint64_t>(times) * body.size());
}

TEST_CASE("a low priority request is served within its bound while urgent ones overload the device",
          "[exec][property]") {
  // After priority × ageing_interval no later request may precede it; it then waits only for work
  // admitted before that.
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  base::Prng prng(seed);
  testing::DeviceShape device;
  device.cores = 1 + static_cast<std::uint32_t>(prng.Below(4));
  const std::int64_t time = 1000;
  const TaskGraph one = {testing::Task{time, {}, plan::PlacementMode::kAny, {}, 1, 0}};
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  options.ageing_interval = Nanos{20 * time};
  Harness harness(testing::PlanOf({{"v", testing::kMaxSeq, 32, one}}), testing::DeviceOf(device),
                  options);
  harness.Open(Priority(1));
  const int low = 2 + static_cast<int>(prng.Below(4));
  harness.Open(Priority(low));
  std::vector<HarnessArrival> arrivals;
  // 110 % of the device, and one bulk request near the start.
  const std::int64_t gap = time * 10 / (11 * device.cores);
  for (std::int64_t at = 0; at < 600 * time; at += gap) {
    arrivals.push_back({at, 0, 1, Nanos{0}});
    if (at / gap == 50) arrivals.push_back({at, 1, 1, Nanos{0}});
  }
  Nanos latency{0};
  harness.on_ok = [&](const exec::RequestRecord& record) {
    if (record.request->stream.value() == 1) latency = record.latency;
  };
  harness.Serve(arrivals);
  REQUIRE(latency > Nanos{0});
  // Later urgent requests go before it for at most `low` intervals; what was admitted by then
  // exceeds what was served by at most a tenth of the time so far, and one step is in flight.
  const std::int64_t until = 50 * gap + low * options.ageing_interval.count();
  CHECK(latency.count() <= low * options.ageing_interval.count() + until / 10 + 3 * time);
}

TEST_CASE("equal inputs give equal bytes, alone and beside another simulation",
          "[exec][determinism]") {
  exec::SimConfig config;
  base::Prng prng(11);
  config.plan =
      testing::PlanOf({{"v", testing::kMaxSeq, 8, testing::RandomGraph(prng, GraphShape{})}});
  config.device = testing::DeviceOf({});
  config.streams = {{"urgent", Priority(1)}, {"bulk", Priority(2)}};
  auto simulate = [&] {
    std::int64_t at = 0;
    std::uint32_t count = 0;
    base::Prng arrivals(5);
    auto next = [&]() -> Result<std::optional<exec::SimArrival>> {
      if (++count > 2000) return std::optional<exec::SimArrival>();
      at += static_cast<std::int64_t>(arrivals.Below(3000));
      exec::SimArrival arrival;
      arrival.at = Instant(Nanos{at});
      arrival.stream = static_cast<std::uint32_t>(arrivals.Below(2));
      arrival.dims = {1 + static_cast<std::int64_t>(arrivals.Below(64)), 1};
      return std::optional(arrival);
    };
    return exec::RunSimulation(config, next).value()->telemetry;
  };
  const std::string first = simulate();
  std::string left, right;
  std::thread a([&] { left = simulate(); }), b([&] { right = simulate(); });
  a.join();
  b.join();
  CHECK(first.size() > 100);
  CHECK(left == first);
  CHECK(right == first);
}

}  // namespace leeway
