// Recorded arrivals whose callers gave up: RunSimulation from an arrival's cancel to its end.

#include <optional>
#include <vector>

#include "exec/simulation.h"
#include "tests/catch.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Task;

constexpr Nanos kNoCancel = Nanos::max();

struct Call {
  std::int64_t at_ns = 0;
  Nanos cancel_after = kNoCancel;
};

// One core on which every run takes 100 ns.
exec::SimConfig OneCore() {
  testing::DeviceShape shape;
  shape.cores = 1;
  exec::SimConfig config;
  config.plan =
      testing::PlanOf({{"v", 64, 8, {Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}}}});
  config.device = testing::DeviceOf(shape);
  config.streams = {{"callers", Priority(1)}};
  config.serving.batching.max_batch_size = 1;
  return config;
}

struct Replay {
  Counts counts;
  std::vector<std::int64_t> ok_at;  // ends of the OK requests, in order
  std::uint64_t steps = 0;
};

Replay ReplayOf(exec::SimConfig config, const std::vector<Call>& calls,
                const exec::Attributor::OnOk& on_ok = {}) {
  Replay replay;
  config.on_ok = [&](const exec::RequestRecord& record) {
    replay.ok_at.push_back(record.ended.count());
    CHECK(record.parts.total() == record.latency);
    if (on_ok) on_ok(record);
  };
  std::size_t next = 0;
  const auto record = exec::RunSimulation(config, [&]() -> Result<std::optional<exec::SimArrival>> {
    if (next == calls.size()) return std::optional<exec::SimArrival>();
    exec::SimArrival arrival;
    arrival.at = Instant(Nanos{calls[next].at_ns});
    arrival.dims = {8, 1};
    arrival.cancel_after = calls[next++].cancel_after;
    return std::optional(arrival);
  });
  REQUIRE(record.ok());
  replay.counts = (*record)->summary.counts;
  replay.steps = (*record)->summary.steps;
  // Every one ended, once.
  CHECK(replay.counts.submitted == calls.size());
  CHECK(replay.counts.in_flight == 0);
  CHECK(replay.counts.ok + replay.counts.cancelled == calls.size());
  CHECK(replay.counts.ok == replay.ok_at.size());
  CHECK((*record)->summary.attribution_missing == 0);
  return replay;
}

}  // namespace

TEST_CASE("a request cancelled while it waits leaves the queue and never runs", "[exec][cancel]") {
  const Replay replay = ReplayOf(OneCore(), {{0, kNoCancel}, {10, Nanos{50}}, {20, kNoCancel}});
  CHECK(replay.counts.cancelled == 1);
  CHECK(replay.steps == 2);
  // The third takes its place.
  CHECK(replay.ok_at == std::vector<std::int64_t>{100, 200});
}

TEST_CASE("a request cancelled while its batch is open leaves it to the others", "[exec][cancel]") {
  exec::SimConfig config = OneCore();
  config.serving.batching.max_batch_size = 3;
  config.serving.batching.max_queue_delay = Nanos{500};
  // Three would have filled the batch at 30; the oldest that is left waits out its delay.
  const Replay replay = ReplayOf(config, {{0, Nanos{20}}, {10, kNoCancel}, {30, kNoCancel}});
  CHECK(replay.counts.cancelled == 1);
  CHECK(replay.steps == 1);
  CHECK(replay.ok_at == std::vector<std::int64_t>{610, 610});
}

TEST_CASE("a request cancelled while it runs ends as cancelled with its step, which is not undone",
          "[exec][cancel]") {
  const Replay replay = ReplayOf(OneCore(), {{0, Nanos{40}}, {10, kNoCancel}});
  CHECK(replay.counts.cancelled == 1);
  CHECK(replay.steps == 2);
  // Steps are not preempted: the second begins when the first has ended.
  CHECK(replay.ok_at == std::vector<std::int64_t>{200});
}

TEST_CASE("a cancelled request of a batch that others wait for does not end them",
          "[exec][cancel]") {
  exec::SimConfig config = OneCore();
  config.serving.batching.max_batch_size = 2;
  config.serving.batching.max_queue_delay = Nanos{500};
  const Replay replay = ReplayOf(config, {{0, Nanos{50}}, {10, kNoCancel}});
  CHECK(replay.counts.cancelled == 1);
  CHECK(replay.steps == 1);
  CHECK(replay.ok_at == std::vector<std::int64_t>{110});
}

TEST_CASE("a run of several steps that nobody waits for any more launches no further one",
          "[exec][cancel]") {
  exec::SimConfig config = OneCore();
  const Task step{100, {}, plan::PlacementMode::kAny, {}, 1, 0};
  Task second = step, third = step;
  second.after = {0};
  third.after = {1};
  config.plan = testing::PlanOf({{"v", 64, 8, {step, second, third}}});
  const Replay replay = ReplayOf(config, {{0, Nanos{150}}, {10, kNoCancel}});
  CHECK(replay.counts.cancelled == 1);
  CHECK(replay.steps == 2 + 3);
  CHECK(replay.ok_at == std::vector<std::int64_t>{500});
}

TEST_CASE("a cancel that comes at the end or later changes nothing", "[exec][cancel]") {
  const Nanos after = GENERATE(Nanos{101}, Nanos{5000}, kNoCancel - Nanos{1});
  CAPTURE(after.count());
  const Replay replay = ReplayOf(OneCore(), {{0, after}, {200, kNoCancel}});
  CHECK(replay.counts.cancelled == 0);
  CHECK(replay.ok_at == std::vector<std::int64_t>{100, 300});
}

TEST_CASE("a cancel far beyond the end of a request does not hold the simulation up",
          "[exec][cancel]") {
  // A year, which is beyond the end of virtual time.
  const Nanos year = std::chrono::hours(24 * 365);
  CHECK(ReplayOf(OneCore(), {{0, year}}).counts.ok == 1);
  // Of a run without steps, too, which ends while it is submitted.
  exec::SimConfig empty = OneCore();
  empty.plan = testing::LoopPlanOf({Task{}}, 0);
  CHECK(ReplayOf(empty, {{0, year}}).ok_at == std::vector<std::int64_t>{0});
}

TEST_CASE("a cancel in the instant of the arrival or of the end is one end, not two",
          "[exec][cancel]") {
  const Nanos after = GENERATE(Nanos{0}, Nanos{100});
  CAPTURE(after.count());
  const Replay replay = ReplayOf(OneCore(), {{0, after}, {10, kNoCancel}});
  CHECK(replay.counts.ok + replay.counts.cancelled == 2);
  CHECK(replay.counts.ok >= 1);
}

TEST_CASE("random cancels end every request once, as cancelled exactly if it had not ended yet",
          "[exec][cancel][property]") {
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  base::Prng prng(seed);
  exec::SimConfig config = OneCore();
  config.serving.batching.max_batch_size = 1 + static_cast<int>(prng.Below(4));
  config.serving.batching.max_queue_delay = Nanos{static_cast<std::int64_t>(prng.Below(200))};
  std::vector<Call> calls;
  std::int64_t at = 0;
  for (int i = 0; i < 60; ++i) {
    at += static_cast<std::int64_t>(prng.Below(120));
    const bool cancels = prng.Below(2) == 0;
    calls.push_back({at, cancels ? Nanos{static_cast<std::int64_t>(prng.Below(600))} : kNoCancel});
  }
  std::uint64_t late = 0;
  const Replay replay = ReplayOf(config, calls, [&](const exec::RequestRecord& record) {
    // `user` counts the arrivals from 1.
    if (record.latency > calls[record.request->user - 1].cancel_after) ++late;
  });
  CHECK(late == 0);
  CHECK(replay.counts.cancelled > 0);
}

}  // namespace leeway
