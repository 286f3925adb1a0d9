// What convolutions, matrix-vector products and single kinds of operators cost.

#include <string>
#include <vector>

#include "base/prng.h"
#include "device/step_detail.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::TensorKind;
using testing::CostOfOperator;
using testing::PlanMaker;

TEST_CASE("a convolution is its im2col product and reads its image, not the expanded matrix",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("image", TensorKind::kInput, "224 * 224 * 3");
  plan.Tensor("filters", TensorKind::kWeight, "64 * 7 * 7 * 3");
  plan.Tensor("out", TensorKind::kOutput, "112 * 112 * 64");
  plan::Conv conv;
  conv.n = plan.Size("1");
  conv.h = conv.w = plan.Size("224");
  conv.c = plan.Size("3");
  conv.filters = plan.Size("64");
  conv.kernel_h = conv.kernel_w = plan.Size("7");
  conv.stride_h = conv.stride_w = 2;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 3;
  plan.Op("conv1", {"image", "filters"}, {"out"}, conv);
  const StepCost cost = CostOfOperator(plan, "conv1", {}, device);
  // M = 112², N = 64, K = 147: two folds.
  CHECK(cost.macs == 12'544 * 64 * 147);
  CHECK(cost.compute.count() >= 255 + 2 * 12'544 + 254);
  CHECK(cost.compute.count() <= 255 + 2 * (12'544 + 128) + 254);
  const std::int64_t once = 2 * (224 * 224 * 3 + 64 * 147 + 12'544 * 64);
  CHECK(cost.dram_bytes >= once);
  CHECK(cost.dram_bytes <= once + 2 * 3 * 5 * 224 * 7);  // halo of at most 4 blocks
}

plan::Conv ConvOf(const PlanMaker& plan, std::int64_t side, std::int64_t channels,
                  std::int64_t filters, std::int64_t kernel) {
  const auto size = [&](std::int64_t of) { return plan.Size(std::to_string(of)); };
  plan::Conv conv;
  conv.n = size(1);
  conv.h = conv.w = size(side);
  conv.c = size(channels);
  conv.filters = size(filters);
  conv.kernel_h = conv.kernel_w = size(kernel);
  return conv;
}

// Positions of a window along a side, one by one.
std::int64_t Positions(std::int64_t padded, std::int64_t kernel, std::int64_t stride,
                       std::int64_t dilation) {
  std::int64_t count = 0;
  for (std::int64_t at = 0; at + (kernel - 1) * dilation < padded; at += stride) ++count;
  return count;
}

TEST_CASE(
    "a convolution does the multiply-adds of each window's position, whatever its strides, "
    "dilations, paddings and groups",
    "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 60)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto draw = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(low + prng.Below(high - low + 1));
  };
  Spec device = testing::Shipped();
  device.classes[0].conv_lowering =
      prng.Below(2) == 0 ? ConvLowering::kIm2col : ConvLowering::kPerTap;
  const std::int64_t groups = draw(1, 4);
  const std::int64_t channels = groups * draw(1, 9), filters = groups * draw(1, 40);
  const std::int64_t side = draw(9, 40), kernel = draw(1, 3);
  PlanMaker plan;
  plan.Tensor("image", TensorKind::kInput, std::to_string(side * side * channels));
  plan.Tensor("filters", TensorKind::kWeight, "1");
  plan.Tensor("out", TensorKind::kOutput, "1");
  plan::Conv conv = ConvOf(plan, side, channels, filters, kernel);
  conv.groups = static_cast<std::uint32_t>(groups);
  conv.stride_h = draw(1, 3), conv.stride_w = draw(1, 3);
  conv.dilation_h = draw(1, 3), conv.dilation_w = draw(1, 3);
  conv.pad_top = draw(0, 3), conv.pad_bottom = draw(0, 3);
  conv.pad_left = draw(0, 3), conv.pad_right = draw(0, 3);
  plan.Op("conv", {"image", "filters"}, {"out"}, conv);
  const std::int64_t rows =
      Positions(side + conv.pad_top + conv.pad_bottom, kernel, conv.stride_h, conv.dilation_h);
  const std::int64_t cols =
      Positions(side + conv.pad_left + conv.pad_right, kernel, conv.stride_w, conv.dilation_w);
  const StepCost cost = CostOfOperator(plan, "conv", {}, device);
  CHECK(cost.macs == rows * cols * filters * kernel * kernel * channels / groups);
  // Image, filters and results move at least once.
  const std::int64_t once =
      2 * (side * side * channels + filters * kernel * kernel * channels / groups +
           rows * cols * filters);
  CHECK(cost.dram_bytes >= once);
}

TEST_CASE("tap by tap a convolution streams its pixels once for each position of the window",
          "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("image", TensorKind::kInput, "56 * 56 * 64");
  plan.Tensor("filters", TensorKind::kWeight, "64 * 9 * 64");
  plan.Tensor("out", TensorKind::kOutput, "54 * 54 * 64");
  plan.Op("conv", {"image", "filters"}, {"out"}, ConvOf(plan, 56, 64, 64, 3));
  const StepCost columns = CostOfOperator(plan, "conv", {}, device);
  device.classes[0].conv_lowering = ConvLowering::kPerTap;
  const StepCost taps = CostOfOperator(plan, "conv", {}, device);
  // A window of 9 · 64 fills 4.5 arrays' rows; a tap of 64 half of one's.
  CHECK(columns.compute.count() == 255 + 5 * 54 * 54 + 254);
  CHECK(taps.compute.count() == 255 + 9 * 54 * 54 + 254);
  CHECK(taps.dram_bytes == columns.dram_bytes);
}

TEST_CASE("a depthwise convolution leaves a systolic array idle, and the reason says so",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("image", TensorKind::kInput, "56 * 56 * 128");
  plan.Tensor("filters", TensorKind::kWeight, "128 * 9");
  plan.Tensor("out", TensorKind::kOutput, "54 * 54 * 128");
  plan::Conv conv = ConvOf(plan, 56, 128, 128, 3);
  conv.groups = 128;
  plan.Op("depthwise", {"image", "filters"}, {"out"}, conv);
  plan.Op("dense", {"image", "filters"}, {"out"}, ConvOf(plan, 56, 128, 128, 3));
  const auto detail = OperatorDetail(plan.body(), plan.entry(), plan.Find("depthwise"), {}, 1,
                                     device.classes[0], device);
  REQUIRE(detail.ok());
  // A fold for each channel: 9 of 128 rows and 1 of 128 columns.
  CHECK(detail->cost.compute.count() == 255 + 128 * 54 * 54 + 254);
  CHECK(detail->cost.bound == Bound::kCompute);
  CHECK(Utilization(*detail, device.classes[0]) == Approx(9.0 / (128 * 128)).epsilon(0.01));
  const std::string reason = ReasonOf(*detail, device.classes[0], device, 1);
  CAPTURE(reason);
  CHECK(reason.find("a systolic array is bad at it (128 instances of depth 9 and width 1)") !=
        std::string::npos);
  // It does 1/128 of the dense one's work in more time.
  const StepCost dense = CostOfOperator(plan, "dense", {}, device);
  CHECK(dense.macs == 128 * detail->cost.macs);
  CHECK(dense.compute < detail->cost.compute);
}

TEST_CASE(
    "a matrix-vector product is not costed like a product: its weights load longer than its row "
    "streams",
    "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "4096");
  plan.Tensor("w", TensorKind::kWeight, "4096 * 4096");
  plan.Tensor("y", TensorKind::kOutput, "4096");
  plan.Gemm("matmul", {"x", "w"}, "y", "1", "4096", "4096");
  // A DRAM and a port that never limit.
  device.dram_bytes_per_second = device.classes[0].dma_bytes_per_second = 1'000'000'000'000'000;
  const auto detail = OperatorDetail(plan.body(), plan.entry(), plan.Find("matmul"), {}, 1,
                                     device.classes[0], device);
  REQUIRE(detail.ok());
  CHECK(detail->cost.compute.count() == 255 + 32 * 32 * 128 + 254);
  CHECK(detail->cost.bound == Bound::kCompute);
  const std::string reason = ReasonOf(*detail, device.classes[0], device, 1);
  CHECK(reason.find("each fold occupies an array for 128 cycles, 1 of them streaming") !=
        std::string::npos);
}

TEST_CASE("a vector unit's own count of operations stands for the plan's, by kind of operator",
          "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "1000000");
  plan.Tensor("y", TensorKind::kOutput, "1000000");
  plan.Vector("exp", {"x"}, "y", "1000000", 15);
  plan.Vector("add", {"x"}, "y", "1000000", 1);
  device.classes[0].op_counts = {{"exp", 35}};
  CHECK(CostOfOperator(plan, "exp", {}, device).vector_ops == 35'000'000);
  CHECK(CostOfOperator(plan, "add", {}, device).vector_ops == 1'000'000);
}

}  // namespace
}  // namespace leeway::device
