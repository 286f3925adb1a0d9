#include "sched/cost_table.h"

#include "sched/model.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"
#include "tests/support/task_graphs.h"

namespace leeway::sched {
namespace {

using device::testing::PlanMaker;
using leeway::testing::Task;
using leeway::testing::TaskGraph;

constexpr std::int64_t kMaxSteps = static_cast<std::int64_t>(CostTable::kMaxSteps);

TaskGraph Tasks(std::size_t count) {
  return TaskGraph(count, Task{1, {}, plan::PlacementMode::kAny, {}, 1, 0});
}

Status StatusOf(std::shared_ptr<const plan::Body> plan) {
  DomainTable domains;
  return Model::Create(std::move(plan), leeway::testing::DeviceOf({}), "", 1, domains).status();
}

}  // namespace

TEST_CASE("a run of 2^26 steps is the longest there is", "[sched][bound]") {
  STATIC_REQUIRE(CostTable::kMaxSteps == std::uint64_t{1} << 26);
  CHECK(StatusOf(leeway::testing::LoopPlanOf(Tasks(1), kMaxSteps)).ok());
  CHECK(StatusOf(leeway::testing::LoopPlanOf(Tasks(4), kMaxSteps / 4)).ok());
  const std::pair<std::size_t, std::int64_t> too_long =
      GENERATE(std::pair<std::size_t, std::int64_t>{1, kMaxSteps + 1},
               std::pair<std::size_t, std::int64_t>{4, kMaxSteps / 4 + 1},
               std::pair<std::size_t, std::int64_t>{3, std::int64_t{1} << 62});
  CAPTURE(too_long.first, too_long.second);
  const Status status =
      StatusOf(leeway::testing::LoopPlanOf(Tasks(too_long.first), too_long.second));
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK(status.message() == "entry \"main\": a run launches more than 67108864 steps");
}

TEST_CASE("shards are steps, and a body that launches none may repeat for ever", "[sched][bound]") {
  TaskGraph sharded = Tasks(1);
  sharded[0].shards = 2;
  CHECK(StatusOf(leeway::testing::LoopPlanOf(sharded, kMaxSteps / 2)).ok());
  CHECK_FALSE(StatusOf(leeway::testing::LoopPlanOf(sharded, kMaxSteps / 2 + 1)).ok());
  CHECK(StatusOf(leeway::testing::LoopPlanOf(Tasks(0), std::int64_t{1} << 62)).ok());
}

TEST_CASE("work that needs a unit is placed and costed on the classes that have it",
          "[sched][placement]") {
  // Class 0 has lanes only, class 1 has an array beside them.
  leeway::testing::DeviceShape shape;
  shape.cores = 2;
  shape.more_classes = {{"matrix", 1}};
  auto device = std::make_shared<device::Spec>(*leeway::testing::DeviceOf(shape));
  device->classes[1].arrays = 1;
  device->classes[1].array_rows = device->classes[1].array_cols = 16;
  PlanMaker maker;
  maker.Dim("rows", 1, 64);
  maker.Tensor("x", plan::TensorKind::kInput, "rows * 32");
  maker.Tensor("w", plan::TensorKind::kWeight, "32 * 32");
  maker.Tensor("h", plan::TensorKind::kActivation, "rows * 32");
  maker.Tensor("y", plan::TensorKind::kOutput, "rows * 32");
  maker.Gemm("matmul", {"x", "w"}, "h", "rows", "32", "32");
  maker.Vector("relu", {"h"}, "y", "rows * 32", 1);
  maker.Group("matmul", {"matmul"});
  maker.Group("relu", {"relu"}).predecessors = {0};
  DomainTable domains;
  auto model =
      Model::Create(std::make_shared<const plan::Body>(maker.body()), device, "", 1, domains);
  REQUIRE(model.ok());
  // In the variant and, operator by operator, in the generic graph.
  for (const GraphId graph : {GraphId(0), (*model)->generic()}) {
    CAPTURE(graph.value());
    const auto table = (*model)->Costs(graph, {64}).value();
    const auto allowed = [&](std::uint32_t node) {
      return domains[(*model)->graph(graph).nodes()[node].domain].allowed;
    };
    CoreSet matrix, all;
    matrix.Add(CoreId(2));
    for (std::size_t core = 0; core < 3; ++core) all.Add(CoreId(core));
    CHECK(allowed(0) == matrix);
    CHECK(allowed(1) == all);
    CHECK(table->first_class[0] == 1);
    CHECK(table->cost(NodeId(0), 0).macs == 0);
    CHECK(table->cost(NodeId(0), 1).macs == 64 * 32 * 32);
    CHECK(table->alone_first(0) == table->alone[1]);
    CHECK(table->alone_first(0) > Nanos{0});
    for (std::size_t c = 0; c < 2; ++c) CHECK(table->cost(NodeId(1), c).vector_ops == 64 * 32);
  }
}

}  // namespace leeway::sched
