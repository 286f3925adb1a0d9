// What runs hold, against an oracle that asks of each buffer and each step whether it is needed.

#include "device/live_set.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::TensorKind;
using testing::PlanMaker;

TEST_CASE("what is alive in a step is the sum of the buffers that span it", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 100)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::size_t steps = 1 + prng.Below(12);
  std::vector<Lifetime> buffers;
  for (std::uint64_t n = prng.Below(20); n > 0; --n) {
    const std::size_t begin = prng.Below(steps);
    buffers.push_back(
        {static_cast<double>(prng.Below(1000)), begin, begin + prng.Below(steps - begin)});
  }
  const std::vector<double> alive = LiveBytes(buffers, steps);
  REQUIRE(alive.size() == steps);
  for (std::size_t s = 0; s < steps; ++s) {
    double sum = 0;
    for (const Lifetime& buffer : buffers) {
      if (buffer.begin <= s && s <= buffer.end) sum += buffer.bytes;
    }
    CHECK(alive[s] == sum);
  }
}

bool Names(const std::vector<plan::Index>& tensors, plan::Index tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

// A tensor is there while operator `at` of the group runs: it has been made, or comes from outside,
// and this operator or a later one touches it, or others read it afterwards.
bool Needed(const plan::Entry& entry, const plan::Group& group, plan::Index tensor,
            std::size_t at) {
  bool made = Names(group.reads, tensor), later = Names(group.writes, tensor);
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    const plan::Operator& op = entry.operators[group.ops[i]];
    if (i <= at && Names(op.outputs, tensor)) made = true;
    if (i >= at && (Names(op.inputs, tensor) || Names(op.outputs, tensor))) later = true;
  }
  return made && later;
}

// Operators that read earlier results or inputs at random; some results nobody reads, others leave
// the group.
PlanMaker RandomChain(base::Prng& prng, std::size_t operators) {
  PlanMaker plan;
  std::vector<std::string> made = {"x", "y"};
  const auto size = [&] { return std::to_string(1 + prng.Below(1000)); };
  for (const std::string& name : made) plan.Tensor(name, TensorKind::kInput, size());
  plan.Tensor("w", TensorKind::kWeight, size());
  for (std::size_t i = 0; i < operators; ++i) {
    const std::string name = "t" + std::to_string(i);
    plan.Tensor(name, prng.Below(4) == 0 ? TensorKind::kOutput : TensorKind::kActivation, size());
    std::vector<std::string> inputs = {made[prng.Below(made.size())], "w"};
    if (prng.Below(2) == 0) inputs.push_back(made[prng.Below(made.size())]);
    plan.Vector(name, inputs, name, "1", 1);
    made.push_back(name);
  }
  return plan;
}

TEST_CASE(
    "a group holds its inputs, outputs and workspace, and bursts by what one by one it would not",
    "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 300)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::size_t operators = 1 + prng.Below(8);
  PlanMaker plan = RandomChain(prng, operators);
  std::vector<std::string> inside;
  for (std::size_t i = 0; i < operators; ++i) {
    if (operators == 1 || prng.Below(3) > 0) inside.push_back("t" + std::to_string(i));
  }
  if (inside.empty()) return;
  plan::Group group = plan.Group("g", inside);
  group.workspace_bytes = plan::Expr::Constant(static_cast<std::int64_t>(prng.Below(500)));
  const plan::Body& body = plan.body();
  const auto bytes = [&](plan::Index tensor) {
    const bool counts = body.tensors[tensor].kind != TensorKind::kWeight;
    return counts ? static_cast<double>(body.tensors[tensor].Bytes({})) : 0;
  };
  double peak = static_cast<double>(group.workspace_bytes(std::vector<std::int64_t>{}));
  double one_by_one = 0;
  for (plan::Index t = 0; t < body.tensors.size(); ++t) {
    if (Names(group.reads, t) || Names(group.writes, t)) peak += bytes(t);
  }
  for (std::size_t at = 0; at < group.ops.size(); ++at) {
    double alive = 0;
    for (plan::Index t = 0; t < body.tensors.size(); ++t) {
      if (Needed(plan.entry(), group, t, at)) alive += bytes(t);
    }
    one_by_one = std::max(one_by_one, alive);
  }
  const GroupMemory memory = MemoryOf(body, plan.entry(), group, {});
  CHECK(memory.peak == peak);
  CHECK(memory.burst == peak - one_by_one);
}

TEST_CASE("a wide input and a wide output of a narrow waist burst when they are fused",
          "[device][unit]") {
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "1000");
  plan.Tensor("h", TensorKind::kActivation, "10");
  plan.Tensor("y", TensorKind::kOutput, "900");
  plan.Vector("narrow", {"x"}, "h", "1000", 1);
  plan.Vector("widen", {"h"}, "y", "900", 1);
  const plan::Group waist = plan.Group("waist", {"narrow", "widen"});
  const GroupMemory memory = MemoryOf(plan.body(), plan.entry(), waist, {});
  CHECK(memory.peak == 2 * 1900);
  // One by one 1010 elements, then 910.
  CHECK(memory.burst == 2 * (1900 - 1010));
}

TEST_CASE("a wide inner tensor is memory saved by fusing", "[device][unit]") {
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "10");
  plan.Tensor("h", TensorKind::kActivation, "1000");
  plan.Tensor("y", TensorKind::kOutput, "10");
  plan.Vector("widen", {"x"}, "h", "1000", 1);
  plan.Vector("narrow", {"h"}, "y", "1000", 1);
  const plan::Group group = plan.Group("g", {"widen", "narrow"});
  CHECK(MemoryOf(plan.body(), plan.entry(), group, {}).burst == 2 * (20 - 1010));
}

// The smallest burst that is refused is one byte beyond the budget.
TEST_CASE("fusion is accepted where time is saved and the burst has room", "[device][unit]") {
  CHECK(AcceptsFusion(Nanos(1), 70, 30, 100));
  CHECK_FALSE(AcceptsFusion(Nanos(1), 70, 31, 100));
  CHECK(AcceptsFusion(Nanos(1), 101, -1, 100));
  CHECK_FALSE(AcceptsFusion(Nanos(0), 0, 0, 100));
  CHECK_FALSE(AcceptsFusion(Nanos(-5), 0, -50, 100));
}

TEST_CASE("runs share what weights and state leave of the DRAM", "[device][unit]") {
  PlanMaker plan;
  plan.Dim("n", 1, 100);
  plan.Tensor("w", TensorKind::kWeight, "500");
  plan.Tensor("cache", TensorKind::kState, "n * 10");
  Spec device = testing::TpuV4Like();
  device.dram_capacity_bytes = 10'000;
  CHECK(RunBudget(plan.body(), std::vector<std::int64_t>{50}, device, 4) ==
        (10'000 - 1'000 - 1'000) / 4.);
  device.dram_capacity_bytes = 1'000;
  CHECK(RunBudget(plan.body(), std::vector<std::int64_t>{50}, device, 4) < 0);
}

}  // namespace
}  // namespace leeway::device
