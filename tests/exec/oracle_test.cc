// The engine against a simulator that shares no code with it: the same schedule, to the nanosecond.

#include "tests/exec/oracle.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/host.h"
#include "exec/simulation.h"
#include "sched/model.h"
#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/random_system.h"
#include "tests/exec/served.h"
#include "tests/support/child_cost.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace leeway {
namespace {

using testing::Harness;
using testing::HarnessArrival;
using testing::OracleEnd;
using testing::OracleResult;
using testing::OracleStep;
using testing::ServedSystem;

const std::uint64_t kSystems = testing::IsSanitized() ? 1000 : 10000;

// The tables of a model of the oracle's own.
class Tables {
 public:
  explicit Tables(const exec::SimConfig& config)
      : config_(config),
        model_(sched::Model::Create(config.plan, config.device, config.entry, config.serving.phi,
                                    domains_)
                   .value()) {}

  testing::OracleCosts costs() {
    return {[this](std::size_t graph, const std::vector<std::int64_t>& dims) {
              return model_
                  ->Costs(sched::GraphId(graph), sched::DimValues(dims.begin(), dims.end()))
                  .value();
            },
            [this](std::size_t graph) {
              const sched::RunGraph& shape = model_->graph(sched::GraphId(graph));
              std::vector<std::int64_t> dims;
              for (std::size_t d = 0; d < config_.plan->dims.size(); ++d) {
                dims.push_back(shape.variant() ? shape.variant()->envelope[d].opt
                                               : config_.plan->dims[d].min);
              }
              return sched::MakeCostTable(*config_.plan, *config_.device, domains_, shape, dims)
                  .value();
            }};
  }

 private:
  const exec::SimConfig& config_;
  sched::DomainTable domains_;
  std::unique_ptr<sched::Model> model_;
};

OracleResult ByOracle(const ServedSystem& system) {
  Tables tables(system.config);
  return testing::ServeByOracle(system.config, system.arrivals, tables.costs());
}

sched::SchedulerOptions OptionsOf(const ServingOptions& serving) {
  sched::SchedulerOptions options;
  const BatchingOptions& batching = serving.batching;
  options.batching.max_batch_size = static_cast<std::uint32_t>(batching.max_batch_size);
  options.batching.preferred_batch_size.assign(batching.preferred_batch_size.begin(),
                                               batching.preferred_batch_size.end());
  options.batching.max_queue_delay = batching.max_queue_delay;
  if (batching.formation == BatchingOptions::Formation::kFirstCome) {
    options.batching.formation = sched::BatchPolicy::Formation::kFirstCome;
  }
  options.max_concurrent_runs = static_cast<std::uint32_t>(serving.max_concurrent_runs);
  options.ageing_interval = serving.ageing_interval;
  if (serving.fallback == Fallback::kReject) options.fallback = sched::FallbackKind::kReject;
  return options;
}

OracleResult ByEngine(const ServedSystem& system) {
  const ServingOptions& serving = system.config.serving;
  Harness harness(system.config.plan, system.config.device, OptionsOf(serving), serving.phi);
  for (const exec::SimStream& stream : system.config.streams) {
    sched::StreamSpec spec;
    spec.priority = stream.priority;
    spec.max_queue_size = static_cast<std::uint32_t>(serving.queue.max_queue_size);
    spec.timeout = serving.queue.default_timeout;
    spec.allow_timeout_override = serving.queue.allow_timeout_override;
    spec.preserve_ordering = stream.preserve_ordering.value_or(false);
    if (serving.queue.timeout_action == TimeoutAction::kDelay) {
      spec.timeout_action = sched::TimeoutAction::kDelay;
    }
    harness.Open(std::move(spec));
  }
  OracleResult result;
  result.ends.resize(system.arrivals.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> runs;
  harness.watch.on_run_started = [&](sched::RunId id, const sched::Run& run) {
    runs[{id.value(), run.generation}] = result.runs++;
  };
  harness.watch.on_finished = [&](sched::CoreId core, const sched::StepRef& step, Nanos took) {
    const std::int64_t now = harness.world.Now().count();
    result.steps.push_back({runs.at({step.run.value(), step.generation}), step.node.value(),
                            step.shard, step.round, core.value(), now - took.count(), now});
  };
  harness.watch.on_response_held = [&](const sched::Request&) { ++result.held_responses; };
  harness.watch.on_request_ended = [&](const sched::Request& request, Outcome outcome,
                                       const sched::Run*) {
    result.ends[request.id] = {harness.world.Now().count(), outcome};
  };
  std::vector<HarnessArrival> arrivals;
  for (const exec::SimArrival& from : system.arrivals) {
    arrivals.push_back(
        {from.at.count(), from.stream, from.dims[0], from.timeout, from.cancel_after});
  }
  harness.Serve(arrivals);
  result.steals = harness.scheduler.counters().steals;
  result.holds = harness.scheduler.counters().holds;
  for (std::size_t s = 0; s < system.config.streams.size(); ++s) {
    result.fallbacks += harness.scheduler.counters(sched::StreamId(s)).fallback;
  }
  return result;
}

ServedSystem SystemOf(std::uint64_t seed) {
  ServedSystem system = testing::RandomServedSystem(seed);
  exec::SimConfig& config = system.config;
  config.serving.queue.allow_timeout_override = seed % 4 != 0;
  for (std::size_t s = 0; s < config.streams.size(); ++s) {
    config.streams[s].preserve_ordering = (seed / 8 + s) % 3 == 0;
  }
  if (seed % 2 == 0) config.plan = testing::AcrossClasses(*config.plan, *config.device, seed);
  if (seed % 5 == 0) {
    config.plan = testing::WithHostWork(*config.plan, seed);
    testing::OwnDevice(config).host_processors = 1 + static_cast<std::uint32_t>(seed / 5 % 3);
    config.device = device::WithHostFor(*config.plan, config.device);
  }
  return system;
}

// A whole simulation, with its own loop around the policy and repetitions that are added up.
void CheckSimulation(const ServedSystem& system, const OracleResult& expected) {
  const testing::Served served = testing::Serve(system.config, system.arrivals).value();
  std::vector<OracleEnd> ok(system.arrivals.size());
  for (const testing::Served::Ended& ended : served.ok) {
    ok[ended.request - 1] = {ended.at.count(), Outcome::kOk};
  }
  std::map<Outcome, std::size_t> outcomes;
  bool alike = true;
  for (std::size_t r = 0; r < ok.size(); ++r) {
    ++outcomes[expected.ends[r].outcome];
    if (expected.ends[r].outcome == Outcome::kOk || ok[r].outcome == Outcome::kOk) {
      alike = alike && ok[r] == expected.ends[r];
    }
  }
  REQUIRE(alike);
  std::vector<CoreSummary> cores = served.record->summary.cores;
  const std::vector<CoreSummary>& hosts = served.record->summary.hosts;
  cores.insert(cores.end(), hosts.begin(), hosts.end());
  std::vector<std::int64_t> busy(cores.size());
  for (const OracleStep& step : expected.steps) busy[step.core] += step.ended - step.began;
  const SimSummary& summary = served.record->summary;
  for (std::size_t c = 0; c < busy.size(); ++c) REQUIRE(cores[c].busy.count() == busy[c]);
  REQUIRE(summary.counts.ok == outcomes[Outcome::kOk]);
  REQUIRE(summary.counts.rejected == outcomes[Outcome::kRejected]);
  REQUIRE(summary.counts.expired == outcomes[Outcome::kExpired]);
  REQUIRE(summary.counts.cancelled == outcomes[Outcome::kCancelled]);
  REQUIRE(summary.counts.fallback == expected.fallbacks);
  REQUIRE(summary.runs == expected.runs);
  REQUIRE(summary.steps == expected.steps.size());
  REQUIRE(summary.steals == expected.steals);
  REQUIRE(summary.holds == expected.holds);
  REQUIRE(summary.attribution_missing == 0);
}

}  // namespace

TEST_CASE("the engine's schedule is the brute-force simulator's, step by step",
          "[exec][property][oracle]") {
  std::size_t steps = 0, steals = 0, holds = 0, fallbacks = 0, held_responses = 0;
  std::size_t on_host = 0;
  std::map<Outcome, std::size_t> outcomes;
  for (std::uint64_t seed = 0; seed < kSystems; ++seed) {
    CAPTURE(seed);
    const ServedSystem system = SystemOf(seed);
    OracleResult expected = ByOracle(system), engine = ByEngine(system);
    REQUIRE(engine.ends == expected.ends);
    // Which of those that end at one instant is told of first shows nowhere else.
    std::sort(engine.steps.begin(), engine.steps.end());
    std::sort(expected.steps.begin(), expected.steps.end());
    REQUIRE(engine.steps == expected.steps);
    REQUIRE(engine.runs == expected.runs);
    REQUIRE(engine.steals == expected.steals);
    REQUIRE(engine.holds == expected.holds);
    REQUIRE(engine.fallbacks == expected.fallbacks);
    REQUIRE(engine.held_responses == expected.held_responses);
    CheckSimulation(system, expected);
    const std::size_t cores = system.config.device->accelerator_count();
    for (const OracleStep& step : engine.steps) on_host += step.core >= cores;
    steps += engine.steps.size();
    steals += engine.steals;
    holds += engine.holds;
    fallbacks += engine.fallbacks;
    held_responses += engine.held_responses;
    for (const OracleEnd& end : engine.ends) ++outcomes[end.outcome];
  }
  // What was compared is not empty in any of its parts.
  CHECK(steps > kSystems * 20);
  CHECK(steals > kSystems);
  CHECK(holds > kSystems / 100);
  CHECK(fallbacks > kSystems / 10);
  CHECK(held_responses > kSystems / 10);
  CHECK(on_host > kSystems / 2);
  for (Outcome outcome :
       {Outcome::kOk, Outcome::kRejected, Outcome::kExpired, Outcome::kCancelled}) {
    CHECK(outcomes[outcome] > kSystems / 10);
  }
}

}  // namespace leeway
