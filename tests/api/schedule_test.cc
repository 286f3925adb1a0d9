#include "leeway/schedule.h"

#include <map>
#include <string>
#include <vector>

#include "base/prng.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/simulate.h"
#include "tests/catch.h"
#include "tests/support/check_schedule.h"
#include "tests/support/known_graphs.h"

namespace leeway {
namespace {

void CheckSchedule(const TaskGraph& graph, const TaskSchedule& schedule, std::uint32_t cores) {
  std::vector<Nanos> start;
  std::vector<std::uint32_t> core;
  for (const TaskSchedule::Placed& placed : schedule.placed) {
    start.push_back(placed.start);
    core.push_back(placed.core);
  }
  CHECK(schedule.makespan == testing::CheckPlaced(graph, start, core, cores));
  CHECK(schedule.lower_bound <= schedule.makespan);
}

// Work is conserved: a ready task never waits for an idle core. So the longest path is running or
// all m cores are busy: m·makespan ≤ W + (m − 1)·CP (Graham 1969).
void CheckGraham(const TaskGraph& graph, const TaskSchedule& online, std::uint32_t cores) {
  std::int64_t work = 0;
  for (const Task& task : graph.tasks) work += task.time.count();
  const Nanos path = MakespanBound(graph, 256).value();
  CHECK(cores * online.makespan.count() <= work + (cores - 1) * path.count());
}

TaskGraph GraphOf(std::uint64_t seed, base::Prng& prng, std::uint32_t tasks) {
  switch (seed % 4) {
    case 0:
      return testing::RandomOrder(prng, tasks, 0.05);
    case 1:
      return testing::Layered(prng, tasks);
    case 2:
      return testing::ForkJoin(prng, 1 + tasks / 20, 1 + tasks % 20);
    default:
      return testing::SeriesParallel(prng, tasks);
  }
}

}  // namespace

TEST_CASE("online and planned schedules are valid and within their bounds",
          "[api][schedule][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto tasks = 1 + static_cast<std::uint32_t>(prng.Below(200));
  const TaskGraph graph = GraphOf(seed, prng, tasks);
  ScheduleOptions options;
  options.cores = 1 + static_cast<std::uint32_t>(prng.Below(16));
  const TaskSchedule online = Schedule(graph, options).value();
  CheckSchedule(graph, online, options.cores);
  options.optimize = true;
  options.budget = 100;
  const TaskSchedule planned = Schedule(graph, options).value();
  CheckSchedule(graph, planned, options.cores);
  CHECK(online.lower_bound == planned.lower_bound);
  CHECK(planned.lower_bound == MakespanBound(graph, options.cores).value());
  CheckGraham(graph, online, options.cores);
}

TEST_CASE("schedules of every policy are valid, and none is beyond Graham's bound",
          "[api][schedule][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  const auto policy = GENERATE(Policy::kFifo, Policy::kLifoSteal, Policy::kWfq);
  CAPTURE(seed, PolicyName(policy));
  base::Prng prng(seed);
  const auto tasks = 1 + static_cast<std::uint32_t>(prng.Below(200));
  const TaskGraph graph =
      seed % 2 == 0 ? testing::RandomOrder(prng, tasks, 0.05) : testing::Layered(prng, tasks);
  ScheduleOptions options;
  options.cores = 1 + static_cast<std::uint32_t>(prng.Below(16));
  options.policy = policy;
  const TaskSchedule schedule = Schedule(graph, options).value();
  CheckSchedule(graph, schedule, options.cores);
  std::int64_t work = 0;
  for (const Task& task : graph.tasks) work += task.time.count();
  const Nanos path = MakespanBound(graph, 256).value();
  CHECK(options.cores * schedule.makespan.count() <= work + (options.cores - 1) * path.count());
}

TEST_CASE(
    "on graphs of known optimum the default is nearer than fifo and lifo-steal, and wfq, which "
    "has one stream to be fair to, is the default",
    "[api][schedule]") {
  std::map<Policy, double> makespan;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    base::Prng prng(seed);
    const TaskGraph graph = testing::CutFromIdeal(prng, 100, 8, 2, 100'000);
    for (const Policy policy : kPolicies) {
      ScheduleOptions options;
      options.cores = 8;
      options.policy = policy;
      makespan[policy] += static_cast<double>(Schedule(graph, options).value().makespan.count());
    }
  }
  CHECK(makespan[Policy::kLeeway] < makespan[Policy::kFifo]);
  CHECK(makespan[Policy::kLeeway] < makespan[Policy::kLifoSteal]);
  CHECK(makespan[Policy::kLeeway] == makespan[Policy::kWfq]);
}

TEST_CASE("on graphs of known optimum the policy stays near it, and near a central queue",
          "[api][schedule]") {
  // Larger sizes are in the documents' table.
  for (const auto& [tasks, cores] :
       {std::pair(50u, 2u), std::pair(100u, 4u), std::pair(300u, 8u)}) {
    double online = 0, planned = 0;
    int graphs = 0;
    for (const double edges : {1.0, 2.0, 4.0, 8.0}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        base::Prng prng(seed * 100 + tasks);
        constexpr std::int64_t kLength = 100'000;
        const TaskGraph graph = testing::CutFromIdeal(prng, tasks, cores, edges, kLength);
        ScheduleOptions options;
        options.cores = cores;
        const TaskSchedule now = Schedule(graph, options).value();
        options.optimize = true;
        options.budget = 600;
        const TaskSchedule ahead = Schedule(graph, options).value();
        CHECK(ahead.lower_bound == Nanos{kLength});
        CheckGraham(graph, now, cores);
        online += static_cast<double>(now.makespan.count()) / kLength - 1;
        planned += static_cast<double>(ahead.makespan.count()) / kLength - 1;
        ++graphs;
      }
    }
    CAPTURE(tasks, cores, online / graphs, planned / graphs);
    CHECK(online / graphs <= 0.02);
    CHECK(planned / graphs <= 0.003);
  }
}

TEST_CASE("options and graphs out of bounds are refused", "[api][schedule]") {
  const TaskGraph one = {{{"a", Nanos{5}, {}}}};
  for (const std::uint32_t cores : {0u, 257u}) {
    ScheduleOptions options;
    options.cores = cores;
    CHECK(Schedule(one, options).status().code() == StatusCode::kInvalidArgument);
    CHECK(MakespanBound(one, cores).status().code() == StatusCode::kInvalidArgument);
  }
  CHECK(Schedule({}, {}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Schedule(one, {}).value().makespan == Nanos{5});
}

TEST_CASE("a plan's run as tasks holds every step and all of its work", "[api][schedule]") {
  const Plan plan = Plan::Load("llama2_7b_prefill").value();
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const TaskGraph graph = TaskGraphOf(plan, device).value();
  // 32 layers, and embedding and head beside them.
  CHECK(graph.tasks.size() > 32 * 4);
  ScheduleOptions options;
  options.cores = 4;
  const TaskSchedule schedule = Schedule(graph, options).value();
  CheckSchedule(graph, schedule, 4);
  options.cores = 1;
  std::int64_t work = 0;
  for (const Task& task : graph.tasks) work += task.time.count();
  CHECK(Schedule(graph, options).value().makespan.count() == work);
}

}  // namespace leeway
