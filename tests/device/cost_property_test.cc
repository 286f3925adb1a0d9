// Random groups: no size makes a step cheaper, but for what tile_search.h admits.

#include <algorithm>
#include <string>
#include <vector>

#include "base/prng.h"
#include "device/step_cost.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::TensorKind;
using testing::PlanMaker;

// Four dims; every group below uses them in its own way.
PlanMaker WithDims() {
  PlanMaker plan;
  for (const char* dim : {"a", "b", "c", "d"}) plan.Dim(dim, 1, 1 << 16);
  return plan;
}

PlanMaker Gemm() {
  PlanMaker plan = WithDims();
  plan.Tensor("x", TensorKind::kInput, "a * b * d");
  plan.Tensor("w", TensorKind::kWeight, "b * c * d");
  plan.Tensor("y", TensorKind::kOutput, "a * c * d");
  plan.Gemm("matmul", {"x", "w"}, "y", "a", "c", "b", "d");
  plan.Group("gemm", {"matmul"});
  return plan;
}

PlanMaker NormGemmAct() {
  PlanMaker plan = WithDims();
  plan.Tensor("x", TensorKind::kInput, "a * b");
  plan.Tensor("xn", TensorKind::kActivation, "a * b");
  plan.Tensor("w", TensorKind::kWeight, "b * c");
  plan.Tensor("h", TensorKind::kActivation, "a * c");
  plan.Tensor("y", TensorKind::kOutput, "a * c");
  plan.Vector("norm", {"x"}, "xn", "a * b", 6);
  plan.Gemm("matmul", {"xn", "w"}, "h", "a", "c", "b");
  plan.Vector("act", {"h"}, "y", "a * c", 5);
  plan.Group("norm_gemm_act", {"norm", "matmul", "act"});
  return plan;
}

PlanMaker Chain() {
  PlanMaker plan = WithDims();
  plan.Tensor("x", TensorKind::kInput, "a * b");
  plan.Tensor("w1", TensorKind::kWeight, "b * c");
  plan.Tensor("h", TensorKind::kActivation, "a * c");
  plan.Tensor("w2", TensorKind::kWeight, "c * d");
  plan.Tensor("y", TensorKind::kOutput, "a * d");
  plan.Gemm("up", {"x", "w1"}, "h", "a", "c", "b");
  plan.Gemm("down", {"h", "w2"}, "y", "a", "d", "c");
  plan.Group("chain", {"up", "down"});
  return plan;
}

PlanMaker Attention() {
  PlanMaker plan = WithDims();
  plan.Tensor("q", TensorKind::kInput, "a * b * d");
  plan.Tensor("k", TensorKind::kInput, "c * b * d");
  plan.Tensor("v", TensorKind::kInput, "c * b * d");
  plan.Tensor("s", TensorKind::kActivation, "d * a * c");
  plan.Tensor("p", TensorKind::kActivation, "d * a * c");
  plan.Tensor("o", TensorKind::kOutput, "a * b * d");
  plan.Gemm("scores", {"q", "k"}, "s", "a", "c", "b", "d", 0.5);
  plan.Vector("softmax", {"s"}, "p", "d * a * c", 4);
  plan.Gemm("values", {"p", "v"}, "o", "a", "b", "c", "d", 0.5);
  plan.Group("attention", {"scores", "softmax", "values"});
  return plan;
}

PlanMaker Elementwise() {
  PlanMaker plan = WithDims();
  plan.Tensor("x", TensorKind::kInput, "a * b");
  plan.Tensor("h", TensorKind::kActivation, "a * b");
  plan.Tensor("y", TensorKind::kOutput, "a");
  plan.Vector("exp", {"x"}, "h", "a * b", 15);
  plan.Op("sum", {"h"}, {"y"}, plan::Reduce{plan.Size("a * b"), plan.Size("a"), 1});
  plan.Group("elementwise", {"exp", "sum"});
  return plan;
}

Result<StepCost> Cost(PlanMaker& plan, const std::vector<std::int64_t>& dims, std::int64_t shards,
                      const Spec& device) {
  return GroupCost(plan.body(), plan.entry(), plan.variant().groups[0], dims, shards,
                   device.classes[0], device);
}

TEST_CASE("no size makes a step cheaper by more than 1/64", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  CAPTURE(seed);
  std::vector<PlanMaker> plans{Gemm(), NormGemmAct(), Chain(), Attention(), Elementwise()};
  base::Prng prng(seed);
  Spec device = testing::Shipped();
  CoreClass& core = device.classes[0];
  // Small memories make the search work.
  core.sram_bytes = std::int64_t{1} << (17 + prng.Below(9));
  if (prng.Below(2) == 0) core.accumulator_bytes = 0;
  core.arrays = static_cast<std::uint32_t>(1 + prng.Below(4));
  for (PlanMaker& plan : plans) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::int64_t> dims;
      for (int i = 0; i < 4; ++i) {
        const auto bits = prng.Below(i == 3 ? 6 : 12);
        dims.push_back(static_cast<std::int64_t>((1u << bits) + prng.Below(1u << bits)));
      }
      const auto shards = static_cast<std::int64_t>(1 + prng.Below(5));
      const ByteUnits rate = device.dram_rate() / shards;
      auto larger = dims;
      auto& grown = larger[prng.Below(4)];
      grown += 1 + static_cast<std::int64_t>(
                       prng.Below(prng.Below(2) == 0 ? 3 : static_cast<std::uint64_t>(grown)));
      const auto before = Cost(plan, dims, shards, device);
      const auto after = Cost(plan, larger, shards, device);
      CAPTURE(plan.variant().groups[0].name, dims, larger, shards, core.sram_bytes);
      // What does not fit does not fit when larger.
      if (!before.ok()) CHECK_FALSE(after.ok());
      if (!before.ok() || !after.ok()) continue;
      const auto old_ns = static_cast<double>(before->Alone(rate).count());
      const auto new_ns = static_cast<double>(after->Alone(rate).count());
      CHECK(new_ns >= old_ns * 63 / 64 - 3);
      CHECK(before->sram_peak_bytes <= core.sram_bytes);
      CHECK(before->dram_bytes > 0);
    }
  }
}

}  // namespace
}  // namespace leeway::device
