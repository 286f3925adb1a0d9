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
#include "tests/exec/served.h"
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

TEST_CASE("no core starts a step while a more urgent one that may run there is ready",
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
    const std::uint64_t urgency = harness.scheduler.run(step.run).urgency;
    harness.scheduler.ForEachReady(
        [&](sched::CoreId, sched::LaneId lane, sched::Key key, const sched::StepRef&) {
          if (harness.domains()[lane.domain].allowed.Contains(core) && key.urgency() < urgency)
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

namespace {

// Low requests among urgent ones that alone are 110 % of what the device can do.
struct Overload {
  testing::DeviceShape device;
  TaskGraph urgent, low;
  sched::SchedulerOptions options;
  int low_priority = 2;
  std::vector<HarnessArrival> arrivals;
};

// A fork and a join of up to five branches.
TaskGraph ForkJoin(base::Prng& prng, std::size_t branches) {
  auto time = [&] { return 1 + static_cast<std::int64_t>(prng.Below(1000)); };
  TaskGraph graph(branches + 2);
  for (std::size_t i = 0; i < graph.size(); ++i) graph[i].time_ns = time();
  for (std::uint32_t i = 1; i <= branches; ++i) {
    graph[i].after = {0};
    graph.back().after.push_back(i);
  }
  return graph;
}

Overload RandomOverload(std::uint64_t seed) {
  base::Prng prng(seed);
  Overload load;
  load.device.cores = 1 + static_cast<std::uint32_t>(prng.Below(4));
  load.device.launch_depth = 1 + static_cast<std::uint32_t>(prng.Below(2));
  const std::size_t branches = 1 + prng.Below(5);
  load.urgent = ForkJoin(prng, branches);
  load.low = ForkJoin(prng, branches);
  // As many runs as there may be, or just enough to keep the cores busy, so that batches fill.
  const bool batches = prng.Below(2) == 0;
  const std::int64_t batch = batches ? 1 + static_cast<std::int64_t>(prng.Below(4)) : 1;
  load.options.batching.max_batch_size = static_cast<std::uint32_t>(batch);
  load.options.batching.max_queue_delay = Nanos{static_cast<std::int64_t>(prng.Below(2000))};
  load.options.max_concurrent_runs =
      batches ? 2 * load.device.cores + static_cast<std::uint32_t>(prng.Below(8)) : 100'000;
  const std::int64_t work = testing::TotalWork(load.urgent);
  const std::int64_t ageing = work * (2 + static_cast<std::int64_t>(prng.Below(10)));
  load.options.ageing_interval = Nanos{ageing};
  load.low_priority = 2 + static_cast<int>(prng.Below(4));
  // A batch takes as long as one request: 110 % even if all batches are full.
  const std::int64_t gap = std::max<std::int64_t>(1, work * 10 / (11 * load.device.cores * batch));
  const std::int64_t end = 2 * (load.low_priority + 3) * ageing;
  std::int64_t next_low = ageing / 2;
  for (std::int64_t at = 0; at < end; at += gap) {
    load.arrivals.push_back({at, 0, 1, Nanos{0}});
    if (at < next_low || at > end / 3) continue;
    load.arrivals.push_back({at, 1, 48, Nanos{0}});
    next_low = at + 1 + static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(ageing)));
  }
  return load;
}

struct TracedStep {
  std::uint32_t node = 0;
  std::int64_t began = 0, ended = 0;
};

struct TracedRun {
  std::vector<sched::Request> members;
  std::int64_t began = 0, ended = 0;
  std::vector<TracedStep> steps;
  std::int64_t first_admitted() const { return members.front().admitted.count(); }
};

std::vector<TracedRun> TraceOf(const Overload& load) {
  std::vector<TracedRun> runs;
  Harness harness(testing::PlanOf({{"s", 16, 32, load.urgent}, {"t", 48, 32, load.low}}),
                  testing::DeviceOf(load.device), load.options);
  harness.Open(Priority(1));
  harness.Open(Priority(load.low_priority));
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> numbers;
  auto now = [&] { return harness.world.Now().count(); };
  harness.watch.on_run_started = [&](sched::RunId id, const sched::Run& run) {
    numbers[{id.value(), run.generation}] = runs.size();
    runs.push_back({run.members, now(), now(), {}});
  };
  harness.watch.on_finished = [&](sched::CoreId, const sched::StepRef& step, Nanos took) {
    TracedRun& run = runs[numbers.at({step.run.value(), step.generation})];
    run.steps.push_back({step.node.value(), now() - took.count(), now()});
    run.ended = now();
  };
  harness.Serve(load.arrivals);
  return runs;
}

// m · (end − t0) is at most this; see the test.
std::int64_t StarvationBound(const Overload& load, const std::vector<TracedRun>& runs,
                             const TracedRun& run, std::int64_t sure, std::int64_t t0) {
  const auto cores = static_cast<std::int64_t>(load.device.cores);
  std::int64_t work = 0, own = 0, longest = 0;
  for (const TracedRun& other : runs) {
    const bool counts = other.first_admitted() < sure || (other.began <= t0 && other.ended >= t0);
    for (const TracedStep& step : other.steps) {
      longest = std::max(longest, step.ended - step.began);
      if (&other == &run) {
        own += step.ended - step.began;
      } else if (counts) {
        work += std::max<std::int64_t>(0, step.ended - std::max(step.began, t0));
      }
    }
  }
  const bool run_slots = load.options.max_concurrent_runs < load.arrivals.size();
  // What the steps of a path, fork, branch and join, wait for in flight.
  const std::int64_t in_flight = 3 * (2 * load.device.launch_depth - 1) * longest;
  return (run_slots ? cores : 1) * work + own +
         cores * (testing::CriticalPath(load.low) + in_flight);
}

}  // namespace

TEST_CASE("a low priority request is served within its bound while urgent ones overload the device",
          "[exec][property]") {
  // A request R of priority p, admitted at a, has slot ⌊a / A⌋ + p − 1. What is admitted from
  // T = (⌊a / A⌋ + p)·A ≤ a + p·A on has a larger slot, whatever its priority. Let B be the runs
  // with a member admitted before T, m the cores, t0 the later of T and the time at which R has
  // waited max_queue_delay.
  //
  // Waiting for a run slot, from t0 on: whatever closes goes before R and is in B. The runs that
  // hold the slots are in B or have been live at t0, and one of them has a step running at each
  // instant. So this lasts at most their work W1 that is left (and no time where there are more run
  // slots than requests).
  //
  // From then to R's end, take the path of R's steps that ends last, each the successor that it
  // released. Either a step of the path runs, in all for at most R's critical path C, or one is
  // queued and all m cores are busy: with R's other steps, with steps of B, or with steps of a
  // larger slot. Of the last none is launched while the step is queued, so that of each core it
  // waits for at most the launch depth d, each of length L at most. Or it is launched ahead and
  // waits for the d − 1 before it, while other cores may be idle. Hence
  // m · waiting ≤ W2 + own + m·n·(2d − 1)·L with n steps on the path and W2 the rest of B's work.
  //
  // In all m · (end − t0) ≤ m·W1 + W2 + own + m·(C + n·(2d − 1)·L), W1 + W2 ≤ W, all of it measured
  // on the trace. Later requests can only add to it by joining a batch of B.
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  const Overload load = RandomOverload(seed);
  const std::vector<TracedRun> runs = TraceOf(load);
  const std::int64_t ageing = load.options.ageing_interval.count();
  std::size_t low = 0, overtaken = 0;
  for (const TracedRun& run : runs) {
    for (const sched::Request& request : run.members) {
      if (request.stream.value() == 0) continue;
      ++low;
      const std::int64_t admitted = request.admitted.count();
      const std::int64_t sure = (admitted / ageing + load.low_priority) * ageing;
      const std::int64_t ripe = admitted + load.options.batching.max_queue_delay.count();
      const std::int64_t t0 = std::max(sure, ripe);
      CHECK(load.device.cores * (run.ended - t0) <= StarvationBound(load, runs, run, sure, t0));
      overtaken += run.ended < runs.back().began;
    }
  }
  // There were some, and they did not just wait for the end of the urgent ones.
  CHECK(low > 0);
  CHECK(overtaken == low);
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

TEST_CASE("any number of simulations beside each other tell what each tells alone",
          "[exec][determinism]") {
  // They share plans and devices, nothing else.
  std::vector<testing::ServedSystem> systems;
  std::vector<std::string> alone;
  auto telemetry = [&](std::size_t i) {
    return testing::Serve(systems[i].config, systems[i].arrivals).value().record->telemetry;
  };
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    systems.push_back(testing::RandomServedSystem(seed));
    alone.push_back(telemetry(seed));
  }
  const std::size_t threads = GENERATE(2u, 5u, 16u);
  CAPTURE(threads);
  std::vector<std::vector<std::string>> beside(threads);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      // Each begins with another one, and meets all of them.
      for (std::size_t i = 0; i < systems.size(); ++i) {
        const testing::ServedSystem& system = systems[(i + t) % systems.size()];
        std::size_t next = 0;
        const auto record =
            exec::RunSimulation(system.config, [&]() -> Result<std::optional<exec::SimArrival>> {
              if (next == system.arrivals.size()) return std::optional<exec::SimArrival>();
              return std::optional(system.arrivals[next++]);
            });
        beside[t].push_back(record.ok() ? (*record)->telemetry : "");
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t i = 0; i < systems.size(); ++i) {
      CHECK(beside[t][i] == alone[(i + t) % systems.size()]);
    }
  }
}

}  // namespace leeway
