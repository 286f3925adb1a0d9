#include "device/plan_fit.h"

#include <string>

#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::PlacementMode;
using plan::TensorKind;
using testing::PlanMaker;

plan::CoreRef Ref(const std::string& core_class, std::optional<std::uint32_t> index = {}) {
  return {.device = {}, .core_class = core_class, .index = index};
}

// Two matrix cores, then three that have a vector unit only.
Spec Mixed() {
  Spec spec = testing::Shipped();
  spec.name = "mixed";
  spec.classes[0].count = 2;
  spec.classes.push_back(spec.classes[0]);
  CoreClass& vector = spec.classes[1];
  vector.name = "vector";
  vector.arrays = vector.array_rows = vector.array_cols = 0;
  vector.count = 3;
  vector.first_core = 2;
  return spec;
}

// y = f(x · w) over rows; one group.
PlanMaker Small() {
  PlanMaker plan;
  plan.Dim("rows", 1, 4096).Dim("batch", 1, 8);
  plan.Tensor("x", TensorKind::kInput, "rows * batch * 256");
  plan.Tensor("w", TensorKind::kWeight, "256 * 256");
  plan.Tensor("h", TensorKind::kActivation, "rows * batch * 256");
  plan.Tensor("y", TensorKind::kOutput, "rows * batch * 256");
  plan.Gemm("matmul", {"x", "w"}, "h", "rows * batch", "256", "256");
  plan.Vector("relu", {"h"}, "y", "rows * batch * 256", 1);
  return plan;
}

TEST_CASE("ANY without cores goes where the work can run", "[device][unit]") {
  const Spec device = Mixed();
  PlanMaker plan = Small();
  plan.Group("matmul", {"matmul"});
  plan.Group("relu", {"relu"});
  const auto matmul = ResolveGroup(plan.entry(), plan.variant().groups[0], device);
  const auto relu = ResolveGroup(plan.entry(), plan.variant().groups[1], device);
  CHECK(matmul->allowed == std::vector<CoreIndex>{0, 1});
  CHECK(relu->allowed == std::vector<CoreIndex>{0, 1, 2, 3, 4});
  CHECK(relu->planned.empty());
}

TEST_CASE("PREFERRED may go to every core of the classes named, PINNED to the cores named",
          "[device][unit]") {
  const Spec device = Mixed();
  plan::Placement placement{PlacementMode::kPreferred, {Ref("vector", 2), Ref("vector", 0)}};
  auto resolved = ResolvePlacement(placement, device);
  CHECK(resolved->planned == std::vector<CoreIndex>{4, 2});
  CHECK(resolved->allowed == std::vector<CoreIndex>{2, 3, 4});
  placement.mode = PlacementMode::kPinned;
  resolved = ResolvePlacement(placement, device);
  CHECK(resolved->planned == std::vector<CoreIndex>{4, 2});
  CHECK(resolved->allowed == std::vector<CoreIndex>{2, 4});
  placement.cores = {Ref("", 1)};
  CHECK(ResolvePlacement(placement, device)->allowed == std::vector<CoreIndex>{1});
  placement.cores = {Ref("matrix")};
  CHECK(ResolvePlacement(placement, device)->allowed == std::vector<CoreIndex>{0, 1});
  placement.cores = {};
  CHECK(ResolvePlacement(placement, device).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("a placement that does not exist is found at its path", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Small();
  plan.Group("matmul", {"matmul"});
  plan::Group& relu = plan.Group("relu", {"relu"});
  relu.placement = {PlacementMode::kPinned, {Ref("matrix", 3), Ref("matrx"), Ref("matrix", 4)}};
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].path == "entries[0].variants[0].fusion_groups[1].placement.cores[1]");
  CHECK(findings[0].message ==
        "device \"onnxim_tpuv4_c4\" has no core class \"matrx\"; it has: matrix");
  CHECK(findings[1].message ==
        "device \"onnxim_tpuv4_c4\" has no core 4 of class \"matrix\"; it has 4");
  relu.placement.cores = {{.device = 1, .core_class = "matrix", .index = {}}};
  CHECK(CheckFit(plan.body(), device, 1)[0].message ==
        "device \"onnxim_tpuv4_c4\" is device 0, and there is no device 1");
}

TEST_CASE("a group that no tile of the SRAM holds is found where the variant is largest",
          "[device][unit]") {
  Spec device = testing::Shipped();
  device.classes[0].sram_bytes = 1 << 18;
  PlanMaker plan = Small();
  plan.Dim("width", 1, 65'536);
  plan.Tensor("z", TensorKind::kOutput, "rows * width");
  plan.Tensor("wz", TensorKind::kWeight, "256 * 65536");
  plan.Tensor("r", TensorKind::kOutput, "rows");
  plan.Gemm("wide", {"x", "wz"}, "z", "rows", "width", "256");
  plan.Op("sum", {"z"}, {"r"}, plan::Reduce{plan.Size("rows * width"), plan.Size("rows"), 1});
  plan.Group("wide_sum", {"wide", "sum"});
  std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "entries[0].variants[0].fusion_groups[0]");
  CHECK(findings[0].message.find("no tile fits") != std::string::npos);
  CHECK(findings[0].message.find("at rows = 4096, batch = 8, width = 65536") != std::string::npos);
  // A constraint cuts the corner off: what is left fits.
  plan.variant().constraints.push_back({plan.Size("width"), 1, 1024, 1});
  CHECK(CheckFit(plan.body(), device, 1).empty());
}

TEST_CASE("DRAM holds weights, state and each concurrent run's live activations",
          "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan = Small();
  plan.Tensor("cache", TensorKind::kState, "1000");
  plan.Group("matmul", {"matmul"});
  plan.Group("relu", {"relu"});
  // At the peak, x (or y) and h.
  const std::int64_t run = 2 * 4096 * 8 * 256 * 2;
  const std::int64_t fixed = 256 * 256 * 2 + 2000;
  device.dram_capacity_bytes = fixed + 3 * run;
  CHECK(CheckFit(plan.body(), device, 3).empty());
  device.dram_capacity_bytes -= 1;
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 3);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "entries[0].variants[0]");
  CHECK(findings[0].message ==
        "needs 100796368 bytes of DRAM at rows = 4096, batch = 8 (weights "
        "131072, state 2000, 3 concurrent runs of 33554432), device "
        "\"onnxim_tpuv4_c4\" has 100796367");
}

}  // namespace
}  // namespace leeway::device
