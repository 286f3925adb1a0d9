// Loops whose repetitions are added up, against the same loops played through.

#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/exec/served.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using exec::SimConfig;
using testing::Served;

struct Trial {
  SimConfig config;
  std::vector<exec::SimArrival> arrivals;
};

// A loop over a random body; requests that come while it runs, and some that give up.
Trial RandomTrial(std::uint64_t seed) {
  base::Prng prng(seed);
  Trial trial;
  testing::DeviceShape device;
  device.cores = 1 + static_cast<std::uint32_t>(prng.Below(4));
  device.launch_depth = 1 + static_cast<std::uint32_t>(prng.Below(2));
  device.step_launch_ns = static_cast<std::int64_t>(prng.Below(10));
  device.run_launch_ns = static_cast<std::int64_t>(prng.Below(20));
  trial.config.device = testing::DeviceOf(device);
  testing::GraphShape shape;
  shape.tasks = 1 + static_cast<std::uint32_t>(prng.Below(6));
  shape.cores = device.cores;
  shape.bytes =
      prng.Below(2) == 0 ? testing::GraphShape::Bytes::kNone : testing::GraphShape::Bytes::kSome;
  const testing::TaskGraph body = testing::RandomGraph(prng, shape);
  const auto times = static_cast<std::int64_t>(prng.Below(40));
  trial.config.plan = testing::LoopPlanOf(body, times);
  trial.config.streams = {{"urgent", Priority(1)}, {"bulk", Priority(2)}};
  trial.config.serving.max_concurrent_runs = static_cast<int>(prng.Below(4));
  // From seldom to always busy.
  const std::int64_t lone = 1 + testing::TotalWork(body) * (times + 1);
  const auto gap = static_cast<std::uint64_t>(1 + lone * static_cast<std::int64_t>(prng.Below(4)));
  std::int64_t at = 0;
  for (int i = 0; i < 25; ++i) {
    at += static_cast<std::int64_t>(prng.Below(gap));
    exec::SimArrival arrival =
        testing::ArrivalAt(at, 1 + static_cast<std::int64_t>(prng.Below(testing::kMaxSeq)),
                           static_cast<std::uint32_t>(prng.Below(2)));
    if (prng.Below(5) == 0) {
      arrival.cancel_after = Nanos{static_cast<std::int64_t>(prng.Below(gap))};
    }
    trial.arrivals.push_back(std::move(arrival));
  }
  return trial;
}

testing::Task TaskTaking(std::int64_t ns) {
  testing::Task task;
  task.time_ns = ns;
  return task;
}

Served ServedBy(Trial trial, SimConfig::Loops loops, SimConfig::Detail detail) {
  trial.config.loops = loops;
  trial.config.detail = detail;
  return testing::Serve(trial.config, trial.arrivals).value();
}

}  // namespace

TEST_CASE("adding up repetitions changes nothing that a simulation tells", "[exec][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  const Trial trial = RandomTrial(seed);
  const Served played = ServedBy(trial, SimConfig::Loops::kPlay, SimConfig::Detail::kAttributed);
  const Served skipped = ServedBy(trial, SimConfig::Loops::kSkip, SimConfig::Detail::kAttributed);
  REQUIRE(skipped.ok.size() == played.ok.size());
  for (std::size_t i = 0; i < played.ok.size(); ++i) {
    CHECK(skipped.ok[i].request == played.ok[i].request);
    CHECK(skipped.ok[i].at == played.ok[i].at);
    for (std::size_t c = 0; c < kCauseCount; ++c) {
      CAPTURE(CauseName(static_cast<Cause>(c)));
      CHECK(skipped.ok[i].parts.parts[c].count() == played.ok[i].parts.parts[c].count());
    }
  }
  // Counters, core use, histograms and attribution are all in the snapshot.
  CHECK(skipped.record->telemetry_digest == played.record->telemetry_digest);
  CHECK(skipped.record->summary.steps == played.record->summary.steps);
  CHECK(skipped.record->summary.makespan == played.record->summary.makespan);
}

TEST_CASE("nor does it under the other policies", "[exec][policies][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  const auto policy = GENERATE(Policy::kFifo, Policy::kLifoSteal, Policy::kWfq);
  CAPTURE(seed, PolicyName(policy));
  Trial trial = RandomTrial(seed);
  trial.config.serving.policy = policy;
  const Served played = ServedBy(trial, SimConfig::Loops::kPlay, SimConfig::Detail::kAttributed);
  const Served skipped = ServedBy(trial, SimConfig::Loops::kSkip, SimConfig::Detail::kAttributed);
  CHECK(skipped.ok == played.ok);
  CHECK(skipped.record->telemetry_digest == played.record->telemetry_digest);
}

TEST_CASE("a replay for latencies alone tells the latencies of an attributed one",
          "[exec][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  const Trial trial = RandomTrial(seed);
  const Served full = ServedBy(trial, SimConfig::Loops::kPlay, SimConfig::Detail::kAttributed);
  const Served bare = ServedBy(trial, SimConfig::Loops::kSkip, SimConfig::Detail::kLatencies);
  REQUIRE(bare.ok.size() == full.ok.size());
  for (std::size_t i = 0; i < full.ok.size(); ++i) {
    CHECK(bare.ok[i].request == full.ok[i].request);
    CHECK(bare.ok[i].latency == full.ok[i].latency);
  }
  const SimSummary& a = bare.record->summary;
  const SimSummary& b = full.record->summary;
  CHECK(a.counts.ok == b.counts.ok);
  CHECK(a.counts.cancelled == b.counts.cancelled);
  CHECK(a.runs == b.runs);
  CHECK(a.steps == b.steps);
  CHECK(a.makespan == b.makespan);
  for (std::size_t c = 0; c < b.cores.size(); ++c) CHECK(a.cores[c].busy == b.cores[c].busy);
}

TEST_CASE("a lone loop of a billion repetitions is refused by time or steps, not by patience",
          "[exec][bounds]") {
  SimConfig config;
  config.device = testing::DeviceOf({});
  // 2^26 steps of 2^20 ns are within the bounds of both: 2^46 ns.
  const std::int64_t times = std::int64_t{1} << 26;
  config.plan = testing::LoopPlanOf({TaskTaking(1 << 20)}, times);
  config.streams = {{"s", Priority(1)}};
  const Served served = testing::Serve(config, {testing::ArrivalAt(0, 1)}).value();
  REQUIRE(served.ok.size() == 1);
  CHECK(served.ok[0].latency == Nanos{times << 20});
  config.plan = testing::LoopPlanOf({TaskTaking(std::int64_t{1} << 40)}, times);
  CHECK_FALSE(testing::Serve(config, {testing::ArrivalAt(0, 1)}).ok());
}

}  // namespace leeway
