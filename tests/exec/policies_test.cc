// What every policy must keep, and what sets each apart, at every dispatch of random systems.

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/random_system.h"

namespace leeway {
namespace {

using testing::Classes;
using testing::GraphShape;
using testing::Harness;
using testing::OpenStreams;
using testing::RandomSystem;
using testing::System;

System SystemOf(std::uint64_t seed, Policy policy, std::uint32_t depth = 1) {
  System system = RandomSystem(seed, GraphShape::Bytes::kNone, depth, Classes::kSeveral);
  system.options.policy = policy;
  return system;
}

}  // namespace

TEST_CASE("under every policy each request ends once and no core idles while it could work",
          "[exec][policies][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  const auto policy = GENERATE(Policy::kFifo, Policy::kLifoSteal, Policy::kWfq);
  CAPTURE(seed, PolicyName(policy));
  const System system = SystemOf(seed, policy);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::map<sched::RequestId, int> ends;
  std::map<std::uint32_t, int> running;
  std::size_t wasted = 0, wrong = 0;
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome, const sched::Run*) {
    ++ends[request.id];
  };
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef&) {
    ++running[core.value()];
  };
  harness.watch.on_retired = [&](sched::CoreId core, const sched::StepRef&) {
    --running[core.value()];
  };
  harness.on_ok = [&](const exec::RequestRecord& record) {
    if (record.parts.total() != record.latency) ++wrong;
  };
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
  CHECK(wrong == 0);
  CHECK(harness.scheduler.idle());
  CHECK(ends.size() == system.arrivals.size());
  CHECK(std::all_of(ends.begin(), ends.end(), [](const auto& e) { return e.second == 1; }));
}

TEST_CASE("with a launch depth every policy serves all there is", "[exec][policies][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  const auto policy = GENERATE(Policy::kFifo, Policy::kLifoSteal, Policy::kWfq);
  CAPTURE(seed, PolicyName(policy));
  const System system = SystemOf(seed, policy, 3);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::size_t ended = 0;
  harness.watch.on_request_ended = [&](const sched::Request&, Outcome, const sched::Run*) {
    ++ended;
  };
  harness.Serve(system.arrivals);
  CHECK(harness.scheduler.idle());
  CHECK(ended == system.arrivals.size());
}

TEST_CASE("fifo starts no step while one that became ready earlier may run there",
          "[exec][policies][property]") {
  std::size_t late = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const System system = SystemOf(seed, Policy::kFifo);
    Harness harness(system.plan, system.device, system.options);
    OpenStreams(harness, system, seed);
    // When each step was first seen ready: keys must tell the same order.
    using Name = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    const auto name = [](const sched::StepRef& step) {
      return Name{step.run.value(), step.generation, step.node.value(), step.round};
    };
    std::map<Name, std::int64_t> ready_since;
    harness.after_instant = [&] {
      harness.scheduler.ForEachReady(
          [&](sched::CoreId, sched::LaneId, sched::Key, const sched::StepRef& step) {
            ready_since.emplace(name(step), harness.world.Now().count());
          });
    };
    harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
      const auto own = ready_since.find(name(step));
      const std::int64_t since =
          own == ready_since.end() ? harness.world.Now().count() : own->second;
      harness.scheduler.ForEachReady(
          [&](sched::CoreId, sched::LaneId lane, sched::Key, const sched::StepRef& other) {
            const auto waits = ready_since.find(name(other));
            if (waits == ready_since.end()) return;
            if (!harness.domains()[lane.domain].allowed.Contains(core)) return;
            ++compared;
            if (waits->second < since) ++late;
          });
    };
    harness.Serve(system.arrivals);
    CAPTURE(seed);
    CHECK(late == 0);
  }
  CHECK(compared > 1000);
}

TEST_CASE("fifo closes batches in order of arrival, whatever the priorities",
          "[exec][policies][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  System system = SystemOf(seed, Policy::kFifo);
  // All that arrives is due at once, one by one.
  system.options.batching = {};
  system.options.batching.max_batch_size = 1;
  for (auto& arrival : system.arrivals) arrival.timeout = Nanos{0};
  Harness harness(system.plan, system.device, system.options);
  for (std::uint32_t s = 0; s < system.streams; ++s)
    harness.Open(Priority(3 - static_cast<int>(s)));
  std::vector<sched::RequestId> started;
  harness.watch.on_run_started = [&](sched::RunId, const sched::Run& run) {
    for (const sched::Request& member : run.members) started.push_back(member.id);
  };
  harness.Serve(system.arrivals);
  CHECK(started.size() == system.arrivals.size());
  CHECK(std::is_sorted(started.begin(), started.end()));
}

// A deque a core, written apart: push and pop at the back, steal from the front of the next core
// that has any.
TEST_CASE("lifo-steal runs a fork as the classical deques do", "[exec][policies]") {
  // Task 0 forks 1, 2, 3 of which the last readied runs first; 2 cores.
  testing::TaskGraph graph(4);
  graph[0].time_ns = 10;
  for (std::uint32_t i = 1; i < 4; ++i) {
    graph[i].time_ns = 100;
    graph[i].after = {0};
  }
  testing::DeviceShape shape;
  shape.cores = 2;
  sched::SchedulerOptions options;
  options.policy = Policy::kLifoSteal;
  Harness harness(testing::PlanOf({{"v", 64, 8, graph}}), testing::DeviceOf(shape), options);
  harness.Open(Priority(1));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launched;  // core, node
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    launched.emplace_back(core.value(), step.node.value());
  };
  harness.Serve({{0, 0, 1, Nanos{0}}});
  REQUIRE(launched.size() == 4);
  const std::uint32_t forker = launched[0].first;
  CHECK(launched[0].second == 0);
  // Its own newest, and the thief the oldest; then what is left.
  const std::set<std::pair<std::uint32_t, std::uint32_t>> then(launched.begin() + 1,
                                                               launched.begin() + 3);
  CHECK(then == std::set<std::pair<std::uint32_t, std::uint32_t>>{{forker, 3}, {1 - forker, 1}});
  CHECK(launched[3].second == 2);
  CHECK(harness.scheduler.counters().steals >= 1);
}

TEST_CASE("wfq starts no step while one of a smaller start tag may run there",
          "[exec][policies][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  const System system = SystemOf(seed, Policy::kWfq);
  Harness harness(system.plan, system.device, system.options);
  OpenStreams(harness, system, seed);
  std::size_t violations = 0;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    const std::uint64_t tag = harness.scheduler.run(step.run).urgency;
    harness.scheduler.ForEachReady(
        [&](sched::CoreId, sched::LaneId lane, sched::Key key, const sched::StepRef&) {
          if (harness.domains()[lane.domain].allowed.Contains(core) && key.urgency() < tag) {
            ++violations;
          }
        });
  };
  harness.Serve(system.arrivals);
  CHECK(violations == 0);
}

}  // namespace leeway
