// Admission by predicted deadline.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/prng.h"
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
using testing::System;
using testing::Task;
using testing::TaskGraph;

constexpr auto kAny = plan::PlacementMode::kAny;

TaskGraph OneTask(std::int64_t time_ns) { return {Task{time_ns, {}, kAny, {}, 1, 0}}; }

TaskGraph RandomChain(base::Prng& prng) {
  GraphShape shape;
  shape.tasks = 1 + static_cast<std::uint32_t>(prng.Below(6));
  shape.placements = GraphShape::Placements::kAnyOnly;
  shape.edge_probability = 1;
  return testing::RandomGraph(prng, shape);
}

sched::StreamSpec Within(Nanos deadline, int priority = 1) {
  sched::StreamSpec spec;
  spec.priority = Priority(priority);
  spec.admission_deadline = deadline;
  return spec;
}

sched::SchedulerOptions OneByOne() {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  return options;
}

struct Ends {
  std::map<sched::RequestId, Nanos> ok;  // latencies
  explicit Ends(Harness& harness) {
    harness.on_ok = [this](const exec::RequestRecord& record) {
      ok[record.request->id] = record.latency;
    };
  }
  std::size_t Within(Nanos slo) const {
    return static_cast<std::size_t>(
        std::count_if(ok.begin(), ok.end(), [&](const auto& end) { return end.second <= slo; }));
  }
};

}  // namespace

TEST_CASE("what is predicted to end too late is rejected, with a reason that names the bound",
          "[exec][admission]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  Harness harness(testing::PlanOf({{"v", 64, 8, OneTask(100)}}), testing::DeviceOf(shape),
                  OneByOne());
  const sched::StreamId stream = harness.Open(Within(Nanos{299}));
  REQUIRE(harness.Submit({}).ok());
  REQUIRE(harness.Submit({}).ok());
  const auto refused = harness.Submit({});
  CHECK(refused.status().code() == StatusCode::kDeadlineExceeded);
  CHECK(refused.status().message() ==
        "stream \"stream\": the request is predicted to end more than 299 ns after its submit");
  harness.Serve({});
  const sched::StreamCounters& counters = harness.scheduler.counters(stream);
  CHECK(counters.ok == 2);
  CHECK(counters.rejected == 1);
  CHECK(counters.rejected_deadline == 1);
  CHECK(counters.rejected_queue_full == 0);
}

TEST_CASE("a request that makes its deadline by itself is never rejected by an idle device",
          "[exec][admission][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  const auto bytes = GENERATE(GraphShape::Bytes::kNone, GraphShape::Bytes::kSome);
  const auto classes = GENERATE(Classes::kOne, Classes::kSeveral);
  CAPTURE(seed, bytes == GraphShape::Bytes::kSome, classes == Classes::kSeveral);
  const System system = testing::RandomSystem(seed, bytes, 1 + seed % 2, classes);
  HarnessArrival arrival = system.arrivals.front();
  arrival.at_ns = 0;
  arrival.stream = 0;
  Nanos alone{0};
  {
    Harness harness(system.plan, system.device, system.options);
    harness.Open(Priority(1));
    harness.on_ok = [&](const exec::RequestRecord& record) { alone = record.latency; };
    arrival.timeout = Nanos{0};
    harness.Serve({arrival});
    REQUIRE(alone > Nanos{0});
  }
  Harness harness(system.plan, system.device, system.options);
  harness.Open(Within(alone));
  CHECK(harness.Submit(arrival).ok());
}

TEST_CASE("chain runs first come first served are admitted exactly if they end in time",
          "[exec][admission][property]") {
  // The oracle is a queue of as many servers as there are cores.
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  testing::DeviceShape device;
  device.cores = 1 + static_cast<std::uint32_t>(prng.Below(4));
  device.run_launch_ns = static_cast<std::int64_t>(prng.Below(30));
  device.launch_depth = 1 + static_cast<std::uint32_t>(prng.Below(2));
  const TaskGraph small = RandomChain(prng);
  TaskGraph large = small;
  for (Task& task : large) task.time_ns *= 3;
  const std::int64_t lengths[] = {testing::TotalWork(small) + device.run_launch_ns,
                                  testing::TotalWork(large) + device.run_launch_ns};
  const Nanos deadline{lengths[1] + static_cast<std::int64_t>(prng.Below(4 * lengths[1]))};
  Harness harness(testing::PlanOf({{"s", 16, 8, small}, {"t", 64, 8, large}}),
                  testing::DeviceOf(device), OneByOne());
  harness.Open(Within(deadline));
  Ends ends(harness);
  std::vector<HarnessArrival> arrivals;
  std::vector<Instant> free(device.cores);
  std::map<sched::RequestId, Nanos> expected;
  std::int64_t at = 0;
  for (sched::RequestId id = 0; id < 150; ++id) {
    at += static_cast<std::int64_t>(prng.Below(3 * lengths[0] / device.cores + 1));
    const std::size_t variant = prng.Below(2);
    arrivals.push_back({at, 0, variant == 0 ? 8 : 40, Nanos{0}});
    Instant& server = *std::min_element(free.begin(), free.end());
    const Instant end = std::max(server, Instant(Nanos{at})) + Nanos{lengths[variant]};
    if (end - Instant(Nanos{at}) > deadline) continue;
    expected[id] = end - Instant(Nanos{at});
    server = end;
  }
  harness.Serve(arrivals);
  CHECK(ends.ok == expected);
}

TEST_CASE("a request that is let in would be with any later deadline",
          "[exec][admission][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  const System system = testing::RandomSystem(seed, GraphShape::Bytes::kSome, 1, Classes::kSeveral);
  bool before = false;
  for (const std::int64_t deadline : {1, 10, 100, 300, 1000, 3000, 10'000, 30'000, 1'000'000}) {
    Harness harness(system.plan, system.device, system.options);
    testing::OpenStreams(harness, system, seed);
    const sched::StreamId probe = harness.Open(Within(Nanos{deadline}, 1 + seed % 3));
    // The same state, with requests running and waiting.
    for (std::size_t i = 0; i < std::min<std::size_t>(system.arrivals.size(), 20); ++i) {
      (void)harness.Submit(system.arrivals[i]);
      harness.world.PumpWoken();
    }
    const bool admitted = harness.Submit({0, probe.value(), 30, Nanos{0}}).ok();
    CHECK((admitted || !before));
    before = admitted;
  }
  // The longest holds all that was submitted, one after the other.
  CHECK(before);
}

TEST_CASE("an urgent request is not charged for less urgent ones that wait", "[exec][admission]") {
  testing::DeviceShape shape;
  shape.cores = 1;
  Harness harness(testing::PlanOf({{"v", 64, 8, OneTask(100)}}), testing::DeviceOf(shape),
                  OneByOne());
  const sched::StreamId urgent = harness.Open(Within(Nanos{200}));
  const sched::StreamId bulk = harness.Open(Within(Nanos{1000}, 3));
  for (int i = 0; i < 8; ++i) REQUIRE(harness.Submit({0, bulk.value(), 1, Nanos{0}}).ok());
  harness.world.PumpWoken();
  // One of the eight runs; the urgent request goes before the seven.
  CHECK(harness.Submit({0, urgent.value(), 1, Nanos{0}}).ok());
  CHECK_FALSE(harness.Submit({0, urgent.value(), 1, Nanos{0}}).ok());
  // Behind nine others a bulk request takes exactly 1000 ns, and the next one more.
  CHECK(harness.Submit({0, bulk.value(), 1, Nanos{0}}).ok());
  CHECK_FALSE(harness.Submit({0, bulk.value(), 1, Nanos{0}}).ok());
  harness.Serve({});
  CHECK(harness.scheduler.counters(urgent).ok == 1);
  CHECK(harness.scheduler.counters(bulk).ok == 9);
}

TEST_CASE("under twice the load a device keeps its goodput only if it rejects what comes late",
          "[exec][admission]") {
  // One core serves a request in 100 ns, 1,000 come every 50 ns, and 1,000 ns are allowed. Of all
  // in order, request i ends at 100·(i + 1) after coming at 50·i: the first 19 are in time. With
  // admission the core never idles before the last arrival and all it serves is in time.
  testing::DeviceShape shape;
  shape.cores = 1;
  const Nanos slo{1000};
  std::vector<HarnessArrival> arrivals;
  for (int i = 0; i < 1000; ++i) arrivals.push_back({50 * i, 0, 1, Nanos{0}});
  for (const bool predicted : {false, true}) {
    Harness harness(testing::PlanOf({{"v", 64, 8, OneTask(100)}}), testing::DeviceOf(shape),
                    OneByOne());
    harness.Open(Within(predicted ? slo : Nanos{0}));
    Ends ends(harness);
    harness.Serve(arrivals);
    if (!predicted) {
      CHECK(ends.ok.size() == 1000);
      CHECK(ends.Within(slo) == 19);
    } else {
      CHECK(ends.Within(slo) == ends.ok.size());
      CHECK(ends.ok.size() >= 50 * 999 / 100);
    }
  }
}

TEST_CASE("under twice the load of full batches goodput stays near what full batches can serve",
          "[exec][admission]") {
  // A batch of up to four takes 100 ns, eight requests come in that time, in two lengths.
  testing::DeviceShape shape;
  shape.cores = 1;
  const Nanos slo{1500};
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 4;
  std::vector<HarnessArrival> arrivals;
  for (int i = 0; i < 4000; ++i) {
    arrivals.push_back({i * 25 / 2, 0, i % 2 == 0 ? 8 : 40, Nanos{0}});
  }
  const std::int64_t span = arrivals.back().at_ns;
  std::map<bool, std::size_t> good;
  for (const bool predicted : {false, true}) {
    Harness harness(testing::PlanOf({{"s", 16, 8, OneTask(100)}, {"t", 64, 8, OneTask(100)}}),
                    testing::DeviceOf(shape), options);
    harness.Open(Within(predicted ? slo : Nanos{0}));
    Ends ends(harness);
    harness.Serve(arrivals);
    good[predicted] = ends.Within(slo);
  }
  const auto most = static_cast<std::size_t>(4 * (span + slo.count()) / 100);
  CHECK(good[true] <= most);
  CHECK(good[true] >= most * 9 / 10);
  CHECK(good[false] < most / 10);
}

TEST_CASE("what is left of a loop is known whether its repetitions are played or added up",
          "[exec][admission]") {
  // The first request repeats 100 ns a thousand times. The second comes 37 ns into repetition 500
  // and ends 49,963 + 100,000 ns later.
  testing::DeviceShape shape;
  shape.cores = 1;
  exec::SimConfig config;
  config.plan = testing::LoopPlanOf(OneTask(100), 1000);
  config.device = testing::DeviceOf(shape);
  config.streams = {{"stream", Priority(1)}};
  config.serving.queue.predicted_deadline_admission = true;
  config.loops = GENERATE(exec::SimConfig::Loops::kSkip, exec::SimConfig::Loops::kPlay);
  const std::int64_t late = GENERATE(0, 1);
  config.serving.slo = Nanos{49'963 + 100'000 - late};
  const auto served =
      testing::Serve(config, {testing::ArrivalAt(0, 8), testing::ArrivalAt(50'037, 8)}).value();
  const Counts& counts = served.record->summary.counts;
  CHECK(counts.ok == static_cast<std::uint64_t>(2 - late));
  CHECK(counts.within_slo == counts.ok);
  CHECK(counts.rejected_deadline == static_cast<std::uint64_t>(late));
  CHECK(counts.rejected == counts.rejected_deadline);
}

TEST_CASE("admission by deadline needs an SLO", "[exec][admission]") {
  exec::SimConfig config;
  config.plan = testing::PlanOf({{"v", 64, 8, OneTask(100)}});
  config.device = testing::DeviceOf({});
  config.streams = {{"stream", Priority(1)}};
  config.serving.queue.predicted_deadline_admission = true;
  const auto refused = testing::Serve(config, {testing::ArrivalAt(0, 8)});
  CHECK(refused.status().code() == StatusCode::kInvalidArgument);
  CHECK(refused.status().message() == "predicted_deadline_admission needs an slo; it is 0 ns");
}

TEST_CASE("with deadlines every request still ends once, and each reason is counted apart",
          "[exec][admission][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const System system = testing::RandomSystem(seed, GraphShape::Bytes::kSome, 1, Classes::kSeveral);
  sched::SchedulerOptions options = system.options;
  options.fallback = seed % 2 == 0 ? sched::FallbackKind::kReject : sched::FallbackKind::kGeneric;
  Harness harness(system.plan, system.device, options);
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    sched::StreamSpec spec =
        Within(Nanos{1 + static_cast<std::int64_t>(prng.Below(8000))}, static_cast<int>(s) + 1);
    if (s == 1) spec.timeout_action = sched::TimeoutAction::kDelay;
    if (s == 2) spec.max_queue_size = 2;
    harness.Open(spec);
  }
  std::map<sched::RequestId, int> ends;
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome, const sched::Run*) {
    ++ends[request.id];
  };
  harness.Serve(system.arrivals);
  CHECK(ends.size() == system.arrivals.size());
  CHECK(std::all_of(ends.begin(), ends.end(), [](const auto& end) { return end.second == 1; }));
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    const sched::StreamCounters& c = harness.scheduler.counters(sched::StreamId(s));
    CHECK(c.rejected == c.rejected_deadline + c.rejected_no_variant + c.rejected_queue_full);
    CHECK(c.submitted == c.ok + c.rejected + c.expired + c.cancelled + c.failed);
    CHECK(c.in_flight == 0);
  }
  CHECK(harness.scheduler.idle());
}

}  // namespace leeway
