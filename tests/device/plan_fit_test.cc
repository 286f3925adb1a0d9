#include "device/plan_fit.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "device/largest_dims.h"
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

TEST_CASE("ANY without cores goes to the class that has every unit its work needs",
          "[device][unit]") {
  struct Case {
    std::vector<std::string> ops;
    std::vector<CoreIndex> cores;  // of Mixed(): two with both units, three with lanes, one array
  };
  const auto c = GENERATE(values<Case>({
      {{"matmul"}, {0, 1, 5}},
      {{"relu"}, {0, 1, 2, 3, 4}},
      {{"sum"}, {0, 1, 2, 3, 4}},
      {{"move"}, {0, 1, 2, 3, 4, 5}},
      {{"matmul", "relu"}, {0, 1}},
      {{"matmul", "move"}, {0, 1}},  // what is moved inside a group passes through the lanes
      {{"relu", "sum"}, {0, 1, 2, 3, 4}},
  }));
  Spec device = Mixed();
  device.classes.push_back(device.classes[0]);
  device.classes[2].name = "array";
  device.classes[2].count = 1;
  device.classes[2].first_core = 5;
  device.classes[2].vector_lanes = 0;
  PlanMaker plan = Small();
  plan.Tensor("r", TensorKind::kOutput, "rows");
  plan.Tensor("m", TensorKind::kOutput, "rows * batch * 256");
  plan.Op("sum", {"h"}, {"r"}, plan::Reduce{plan.Size("rows * 256"), plan.Size("rows"), 1});
  plan.Op("move", {"h"}, {"m"}, plan::Move{plan.Size("rows * batch * 256"), std::nullopt});
  const plan::Group& group = plan.Group("g", c.ops);
  CAPTURE(c.ops);
  const auto resolved = ResolveGroup(plan.entry(), group, device);
  REQUIRE(resolved.ok());
  CHECK(resolved->allowed == c.cores);
  // Where it may go it can be costed, and where it may not it cannot.
  for (CoreIndex core = 0; core < device.core_count(); ++core) {
    const bool allowed = std::count(c.cores.begin(), c.cores.end(), core) > 0;
    const auto cost = GroupCost(plan.body(), plan.entry(), group, std::vector<std::int64_t>{64, 1},
                                1, device.classes[device.ClassOf(core)], device);
    CAPTURE(core);
    CHECK(cost.ok() == allowed);
  }
}

TEST_CASE("a plan whose work no core can do is refused with the group's name and path",
          "[device][unit]") {
  struct Case {
    std::string op, message;
  };
  const auto c = GENERATE(values<Case>({
      {"matmul", "group \"lonely\": device \"mixed\" has no core with a matrix unit"},
      {"relu", "group \"lonely\": device \"mixed\" has no core with a vector unit"},
  }));
  CAPTURE(c.op);
  Spec device = Mixed();
  const bool matrix = c.op == "matmul";
  for (CoreClass& core : device.classes) {
    if (matrix) core.arrays = core.array_rows = core.array_cols = 0;
    if (!matrix) core.vector_lanes = 0;
  }
  PlanMaker plan = Small();
  plan.Group("lonely", {c.op});
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].path == "entries[0].variants[0].fusion_groups[0].placement");
  CHECK(findings[0].message == c.message);
}

TEST_CASE("a placement on a class without the unit is refused with the group's and class's names",
          "[device][unit]") {
  PlanMaker plan = Small();
  plan.Group("astray", {"matmul"}).placement = {PlacementMode::kAny, {Ref("vector")}};
  const std::vector<Finding> findings = CheckFit(plan.body(), Mixed(), 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "entries[0].variants[0].fusion_groups[0]");
  CHECK(findings[0].message.find("group \"astray\": core class \"vector\" has no array") == 0);
}

// As Mixed, and core 5, which only moves data.
Spec WithMover() {
  Spec device = Mixed();
  device.classes.push_back(device.classes[1]);
  CoreClass& mover = device.classes.back();
  mover.name = "mover";
  mover.vector_lanes = 0;
  mover.count = 1;
  mover.first_core = 5;
  return device;
}

// A group of one operator of this work, between x and y.
PlanMaker OneOf(plan::Work work) {
  PlanMaker plan = Small();
  plan.Tensor("z", TensorKind::kOutput, "rows");
  plan.Op("op", {"x"}, {"z"}, std::move(work));
  plan.Group("g", {"op"});
  return plan;
}

TEST_CASE("moves go to cores that only move data too, and nothing else does", "[device][unit]") {
  const Spec device = WithMover();
  const plan::Expr size = plan::Expr::Constant(1000);
  const auto allowed = [&](plan::Work work) {
    PlanMaker plan = OneOf(std::move(work));
    return ResolveGroup(plan.entry(), plan.variant().groups[0], device)->allowed;
  };
  using Cores = std::vector<CoreIndex>;
  CHECK(allowed(plan::Move{size, std::nullopt}) == Cores{0, 1, 2, 3, 4, 5});
  CHECK(allowed(plan::Custom{size, size}) == Cores{0, 1, 2, 3, 4});
  CHECK(allowed(plan::Vector{size, 0}) == Cores{0, 1, 2, 3, 4});
  CHECK(allowed(std::monostate()) == Cores{0, 1, 2, 3, 4});
}

TEST_CASE("work on a class that only moves data is found, a move there fits", "[device][unit]") {
  const Spec device = WithMover();
  const plan::Expr size = plan::Expr::Constant(1000);
  const auto found = [&](plan::Work work, PlacementMode mode) {
    PlanMaker plan = OneOf(std::move(work));
    plan.variant().groups[0].placement = {mode, {Ref("mover")}};
    return CheckFit(plan.body(), device, 1);
  };
  for (const PlacementMode mode :
       {PlacementMode::kAny, PlacementMode::kPreferred, PlacementMode::kPinned}) {
    CHECK(found(plan::Move{size, std::nullopt}, mode).empty());
    const std::vector<Finding> findings = found(plan::Custom{size, size}, mode);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].path == "entries[0].variants[0].fusion_groups[0].placement");
    CHECK(findings[0].message == "group \"g\": core class \"mover\" only moves data");
  }
}

TEST_CASE("what was measured somewhere is not costed on a core that only moves data",
          "[device][unit]") {
  PlanMaker plan = OneOf(std::monostate());
  plan::Group& group = plan.variant().groups[0];
  group.profile.emplace_back();
  group.profile[0].dims = {1, 1};
  group.profile[0].p50_ns = 100;
  const Spec device = WithMover();
  const auto on = [&](std::size_t core_class) {
    return GroupCost(plan.body(), plan.entry(), group, std::vector<std::int64_t>{64, 1}, 1,
                     device.classes[core_class], device);
  };
  CHECK(on(0)->compute == Nanos(100));
  CHECK(on(2).status().code() == StatusCode::kUnimplemented);
  CHECK(on(2).status().message() == "group \"g\": core class \"mover\" only moves data");
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

TEST_CASE("the largest dims are those that constraints leave, multiples too",
          "[device][property]") {
  // Against every point of the envelope.
  base::Prng prng(3);
  for (int i = 0; i < 200; ++i) {
    plan::Variant variant;
    const auto size = [&] { return static_cast<std::int64_t>(1 + prng.Below(60)); };
    variant.envelope.resize(2);
    for (plan::Range& range : variant.envelope) range.min = 1, range.max = 1 + size();
    const std::int64_t most = size() * size(),
                       multiple = 1 + static_cast<std::int64_t>(prng.Below(9));
    PlanMaker plan = Small();  // rows and batch
    variant.constraints.push_back({plan.Size("rows * batch"), 1, most, multiple});
    std::int64_t largest = 0;
    for (std::int64_t rows = 1; rows <= variant.envelope[0].max; ++rows) {
      for (std::int64_t batch = 1; batch <= variant.envelope[1].max; ++batch) {
        const std::vector<std::int64_t> dims = {rows, batch};
        if (plan::Covers(variant, dims)) largest = std::max(largest, rows * batch);
      }
    }
    CAPTURE(i, variant.envelope[0].max, variant.envelope[1].max, most, multiple, largest);
    std::int64_t found = 0;
    for (const std::vector<std::int64_t>& dims : LargestDims(variant)) {
      CHECK(plan::Covers(variant, dims));
      found = std::max(found, dims[0] * dims[1]);
    }
    CHECK(found <= largest);
    // Along one dim by itself nothing larger is covered.
    for (const std::vector<std::int64_t>& dims : LargestDims(variant)) {
      if (dims[1] != 1) continue;
      std::int64_t rows = variant.envelope[0].max;
      while (rows > 0 && !plan::Covers(variant, std::vector<std::int64_t>{rows, 1})) --rows;
      CHECK(dims[0] == rows);
    }
  }
}

TEST_CASE("a profile that says more SRAM than a core has is a warning at its point",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  const std::int64_t sram = device.classes[0].sram_bytes;
  PlanMaker plan = Small();
  plan.Group("matmul", {"matmul"});
  plan.Group("relu", {"relu"});
  const std::vector<std::int64_t> dims(plan.body().dims.size(), 1);
  plan.variant().groups[0].profile = {{dims, 10, 20, 0, sram}, {dims, 10, 20, 0, sram + 1}};
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kWarning);
  CHECK(findings[0].path ==
        "entries[0].variants[0].fusion_groups[0].profile.points[1].sram_peak_bytes");
  CHECK(findings[0].message == std::to_string(sram + 1) + " bytes exceed the " +
                                   std::to_string(sram) + " bytes of SRAM of core class " +
                                   "\"matrix\", on which group \"matmul\" may run");
}

TEST_CASE("a plan that was compiled for another device is a warning", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Small();
  plan.Group("matmul", {"matmul"});
  plan.Group("relu", {"relu"});
  plan.body().target_device = std::string(device.digest.bytes.begin(), device.digest.bytes.end());
  CHECK(CheckFit(plan.body(), device, 1).empty());
  plan.body().target_device = std::string(32, 'a');
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kWarning);
  CHECK(findings[0].path == "header.target_device");
  CHECK(findings[0].message ==
        "the plan was compiled for another device than "
        "\"onnxim_tpuv4_c4\", whose digest is " +
            device.digest.ToHex());
}

TEST_CASE("all findings are counted beyond those that are kept", "[device][unit]") {
  PlanMaker plan = Small();
  plan::Group& group = plan.Group("matmul", {"matmul"});
  group.placement = {PlacementMode::kPinned, {}};
  for (int i = 0; i < 1500; ++i) group.placement.cores.push_back(Ref("ghost"));
  plan::Findings findings;
  findings.Error(plan::Path("header"), "before");
  CheckFit(plan.body(), testing::Shipped(), 1, findings);
  const CheckResult result = findings.Take();
  CHECK(result.total == 1501);
  CHECK(result.findings.size() == CheckResult::kMaxFindings);
  CHECK(result.findings[0].message == "before");
  CHECK_FALSE(result.ok);
}

TEST_CASE("weights that stay on a core fit its SRAM together", "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan = Small();
  plan.Group("matmul", {"matmul"});
  plan.Group("relu", {"relu"});
  const plan::Index w = plan.Tensor("w", TensorKind::kWeight, "256 * 256");
  const plan::Index v = plan.Tensor("v", TensorKind::kWeight, "16777216 - 65536");
  plan.variant().residency = {{w, {Ref("matrix", 1)}}, {v, {Ref("matrix")}}};
  // Of two bytes an element: exactly the 32 MiB of core 1.
  CHECK(CheckFit(plan.body(), device, 1).empty());
  plan.variant().residency.push_back({plan.Tensor("u", TensorKind::kWeight, "1"), {}});
  std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "entries[0].variants[0].residency");
  CHECK(findings[0].message.find("weights of 33554434 bytes stay on core ") == 0);
  CHECK(findings[0].message.find("which has 33554432 bytes of SRAM") != std::string::npos);
  plan.variant().residency = {{w, {Ref("matrix", 9)}}};
  findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "entries[0].variants[0].residency[0].cores[0]");
}

TEST_CASE("an operator that the fallback could not run is found, though its group runs",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Small();
  plan.Tensor("z", TensorKind::kOutput, "rows");
  // 2^51 elements where all dims are largest, twice what a device runs in a step.
  plan.Vector("huge", {"x"}, "z", "rows * batch * 68719476736", 1);
  plan::Group& group = plan.Group("stated", {"huge"});
  group.work = plan::GroupWork{plan.Size("8"), plan.Size("8"), plan.Size("8"), plan.Size("0")};
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "entries[0].operators[2]");
  CHECK(findings[0].message.find("by itself: operator \"huge\": ") == 0);
  CHECK(findings[0].message.find("at rows = 4096, batch = 8") != std::string::npos);
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
