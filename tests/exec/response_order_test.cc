// preserve_ordering: OK responses of a stream in the order of its submits, and nothing else about a
// run changed.

#include "sched/response_order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/random_system.h"
#include "tests/exec/served.h"

namespace leeway {
namespace {

using testing::GraphShape;
using testing::Harness;
using testing::HarnessArrival;
using testing::System;

struct Ended {
  Instant admitted, at;
  std::uint32_t stream = 0;
  Outcome outcome = Outcome::kFailed;
  Attribution parts;
};

struct Log {
  std::map<sched::RequestId, Ended> ends;
  std::map<sched::RequestId, Instant> held;
  std::vector<std::tuple<Instant, std::uint32_t, std::uint32_t, std::uint32_t>> launches;
  bool parts_add_up = true;
};

Log ServeSystem(const System& system, bool ordered) {
  Harness harness(system.plan, system.device, system.options);
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    sched::StreamSpec spec;
    spec.priority = Priority(static_cast<int>(s) + 1);
    spec.preserve_ordering = ordered;
    if (s == 1) spec.timeout_action = sched::TimeoutAction::kDelay;
    harness.Open(std::move(spec));
  }
  Log log;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
    log.launches.emplace_back(harness.world.Now(), core.value(), step.node.value(), step.shard);
  };
  harness.watch.on_response_held = [&](const sched::Request& request) {
    log.held[request.id] = harness.world.Now();
  };
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome outcome,
                                       const sched::Run*) {
    log.ends[request.id] = {
        request.admitted, harness.world.Now(), request.stream.value(), outcome, {}};
  };
  harness.on_ok = [&](const exec::RequestRecord& record) {
    Ended& ended = log.ends.at(record.request->id);
    ended.parts = record.parts;
    log.parts_add_up = log.parts_add_up && record.parts.total() == record.latency &&
                       record.latency == ended.at - ended.admitted;
  };
  harness.Serve(system.arrivals);
  CHECK(harness.scheduler.idle());
  CHECK(harness.attributor().missing() == 0);
  return log;
}

// Two cores; seqs up to 16 take 100 ns, longer ones 1000 ns.
System ShortAndLong() {
  System system;
  testing::DeviceShape device;
  device.cores = 2;
  system.device = testing::DeviceOf(device);
  const auto one = [](std::int64_t time_ns) {
    testing::Task task;
    task.time_ns = time_ns;
    return testing::TaskGraph{task};
  };
  system.plan = testing::PlanOf({{"s", 16, 2, one(100)}, {"t", 48, 2, one(1000)}});
  system.options.batching.max_batch_size = 1;
  system.streams = 1;
  return system;
}

constexpr std::int64_t kShort = 8, kLong = 40;

exec::SimConfig Ordered(const System& system) {
  exec::SimConfig config;
  config.plan = system.plan;
  config.device = system.device;
  config.streams = {{"stream", Priority(1)}};
  config.serving.batching.max_batch_size = 1;
  config.serving.batching.preserve_ordering = true;
  return config;
}

}  // namespace

TEST_CASE("ordered responses are those of the same schedule, each at the latest end before it",
          "[exec][property][ordering]") {
  std::size_t held = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const System system = testing::RandomSystem(seed, GraphShape::Bytes::kSome, 1 + seed % 3);
    const Log free = ServeSystem(system, false);
    const Log ordered = ServeSystem(system, true);
    REQUIRE(ordered.launches == free.launches);
    REQUIRE(ordered.parts_add_up);
    REQUIRE(free.held.empty());
    REQUIRE(ordered.ends.size() == free.ends.size());
    std::map<std::uint32_t, Instant> latest;
    for (const auto& [id, done] : free.ends) {
      const Ended& told = ordered.ends.at(id);
      REQUIRE(told.outcome == done.outcome);
      const bool ok = done.outcome == Outcome::kOk;
      Instant& before = latest[done.stream];
      REQUIRE(told.at == (ok ? std::max(done.at, before) : done.at));
      before = std::max(before, told.at);
      if (!ok) continue;
      // What it waited for its turn is a part of its own; the others are as they were.
      Attribution parts = done.parts;
      parts[Cause::kResponseOrder] = told.at - done.at;
      REQUIRE(told.parts == parts);
    }
    held += ordered.held.size();
  }
  CHECK(held > 300);
}

TEST_CASE("a short request behind a long one waits for it, and the wait has its cause",
          "[exec][ordering]") {
  System system = ShortAndLong();
  system.arrivals = {{0, 0, kLong}, {0, 0, kShort}};
  const Log log = ServeSystem(system, true);
  CHECK(log.held.at(1) == Instant(Nanos{100}));
  CHECK(log.ends.at(0).at == Instant(Nanos{1000}));
  CHECK(log.ends.at(1).at == Instant(Nanos{1000}));
  CHECK(log.ends.at(1).parts.part(Cause::kResponseOrder) == Nanos{900});
  CHECK(log.ends.at(1).parts.part(Cause::kPlanned) == Nanos{100});
}

TEST_CASE("streams do not wait for each other", "[exec][ordering]") {
  System system = ShortAndLong();
  system.streams = 2;
  system.arrivals = {{0, 0, kLong}, {0, 1, kShort}};
  const Log log = ServeSystem(system, true);
  CHECK(log.held.empty());
  CHECK(log.ends.at(1).at == Instant(Nanos{100}));
}

TEST_CASE("a request that is cancelled or expires lets those behind it go at once",
          "[exec][ordering]") {
  // The long one waits for a mate that does not come; two short ones are a batch.
  System system = ShortAndLong();
  system.options.batching.max_batch_size = 2;
  system.options.batching.max_queue_delay = Nanos{5000};
  const auto serve = [&](HarnessArrival first) {
    system.arrivals = {first, {0, 0, kShort}, {0, 0, kShort}};
    return ServeSystem(system, true);
  };
  HarnessArrival waiting{0, 0, kLong};
  CHECK(serve(waiting).ends.at(2).at == Instant(Nanos{6000}));
  waiting.cancel_after = Nanos{700};
  const Log cancelled = serve(waiting);
  CHECK(cancelled.ends.at(0).outcome == Outcome::kCancelled);
  CHECK(cancelled.ends.at(1).at == Instant(Nanos{700}));
  CHECK(cancelled.ends.at(2).at == Instant(Nanos{700}));
  waiting.cancel_after = Nanos::max();
  waiting.timeout = Nanos{800};
  const Log expired = serve(waiting);
  CHECK(expired.ends.at(0).outcome == Outcome::kExpired);
  CHECK(expired.ends.at(1).at == Instant(Nanos{800}));
}

TEST_CASE("a held response may be cancelled, and holds nobody then", "[exec][ordering]") {
  System system = ShortAndLong();
  system.arrivals = {{0, 0, kLong}, {0, 0, kShort}, {0, 0, kShort}};
  system.arrivals[1].cancel_after = Nanos{500};
  const Log log = ServeSystem(system, true);
  CHECK(log.held.at(1) == Instant(Nanos{100}));
  CHECK(log.ends.at(1).outcome == Outcome::kCancelled);
  CHECK(log.ends.at(1).at == Instant(Nanos{500}));
  CHECK(log.ends.at(2).outcome == Outcome::kOk);
  CHECK(log.ends.at(2).at == Instant(Nanos{1000}));
}

TEST_CASE("held responses count against max_queue_size, which bounds what is kept",
          "[exec][ordering]") {
  exec::SimConfig config = Ordered(ShortAndLong());
  config.serving.queue.max_queue_size = 3;
  std::vector<exec::SimArrival> arrivals = {testing::ArrivalAt(0, kLong)};
  for (int i = 0; i < 8; ++i) arrivals.push_back(testing::ArrivalAt(i * 110, kShort));
  // From 320 ns on three are held, and what comes is refused: the long one has not ended.
  const testing::Served bounded = testing::Serve(config, arrivals).value();
  CHECK(bounded.record->summary.counts.rejected_queue_full == 5);
  CHECK(bounded.record->summary.counts.ok == 4);
  config.streams[0].preserve_ordering = false;
  const testing::Served free = testing::Serve(config, arrivals).value();
  CHECK(free.record->summary.counts.ok == 9);
}

TEST_CASE("latencies alone are those of the attributed simulation, and the census misses no step",
          "[exec][ordering]") {
  exec::SimConfig config = Ordered(ShortAndLong());
  config.serving.batching.max_batch_size = 2;
  config.census = {Instant()};
  std::vector<exec::SimArrival> arrivals;
  base::Prng prng(3);
  for (int i = 0; i < 200; ++i) {
    arrivals.push_back(testing::ArrivalAt(i * 400, prng.Below(3) == 0 ? kLong : kShort));
    if (i % 7 == 0) arrivals.back().cancel_after = Nanos{600};
  }
  const auto steps = [](const testing::Served& served) {
    std::uint64_t sum = 0;
    for (const telemetry::ExecutedSteps& kind : served.record->executed) sum += kind.steps;
    return sum;
  };
  const testing::Served full = testing::Serve(config, arrivals).value();
  config.detail = exec::SimConfig::Detail::kLatencies;
  const testing::Served bare = testing::Serve(config, arrivals).value();
  CHECK(std::equal(full.ok.begin(), full.ok.end(), bare.ok.begin(), bare.ok.end(),
                   [](const auto& a, const auto& b) {
                     return a.request == b.request && a.at == b.at && a.latency == b.latency;
                   }));
  CHECK(std::is_sorted(full.ok.begin(), full.ok.end(),
                       [](const auto& a, const auto& b) { return a.request < b.request; }));
  CHECK(full.record->summary.counts.cancelled > 0);
  CHECK(steps(full) > 150);
  CHECK(steps(bare) == steps(full));
  // Nor does it count one twice: the schedule is that without the order.
  config.serving.batching.preserve_ordering = false;
  CHECK(steps(testing::Serve(config, arrivals).value()) == steps(full));
}

TEST_CASE("each stream waits by its own words where it has some", "[exec][ordering]") {
  exec::SimConfig config = Ordered(ShortAndLong());
  config.device = testing::DeviceOf({.cores = 1});
  config.streams.push_back({"bounded", Priority(1)});
  config.streams[1].queue = QueueOptions{.max_queue_size = 1};
  std::vector<exec::SimArrival> arrivals;
  for (int i = 0; i < 6; ++i) {
    arrivals.push_back(testing::ArrivalAt(0, kShort, static_cast<std::uint32_t>(i % 2)));
  }
  const testing::Served served = testing::Serve(config, arrivals).value();
  CHECK(served.record->summary.streams[0].counts.ok == 3);
  CHECK(served.record->summary.streams[1].counts.rejected_queue_full == 2);
  config.streams[1].queue->max_queue_size = -1;
  CHECK(testing::Serve(config, arrivals).status().message() ==
        "stream \"bounded\": a queue size or timeout is negative");
}

TEST_CASE("a priority beyond the levels is refused, naming the stream and the bound",
          "[exec][ordering]") {
  exec::SimConfig config = Ordered(ShortAndLong());
  config.streams[0].priority = Priority(5);
  config.serving.batching.priority_levels = 4;
  const auto message = [&] {
    return std::string(testing::Serve(config, {testing::ArrivalAt(0, 1)}).status().message());
  };
  CHECK(message() == "stream \"stream\": priority_level 5 exceeds priority_levels 4");
  config.serving.batching.default_priority_level = 5;
  CHECK(message() == "default_priority_level is 5; between 1 and priority_levels 4");
  config.serving.batching.priority_levels = 64;
  CHECK(message() == "priority_levels is 64; between 1 and 63");
  config.serving.batching.priority_levels = 5;
  CHECK(testing::Serve(config, {testing::ArrivalAt(0, 1)}).ok());
}

}  // namespace leeway
