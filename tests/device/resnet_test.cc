// The shipped ResNet-50 on the devices that ship: convolutions from the first layer's three
// channels to the last one's 7 × 7 pixels.

#include <memory>
#include <string>

#include "base/file.h"
#include "device/group_figures.h"
#include "device/step_cost.h"
#include "plan/load.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

std::shared_ptr<const plan::Body> ResNet() {
  const auto file = base::FindShipped(base::ShippedKind::kPlan, "resnet50");
  REQUIRE(file.has_value());
  auto body = plan::LoadValidPlan(file->bytes, file->name);
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  return *body;
}

const plan::Variant& VariantOf(const plan::Body& plan, const std::string& name) {
  for (const plan::Variant& variant : plan.entries[0].variants) {
    if (variant.name == name) return variant;
  }
  FAIL("no variant " << name);
  return plan.entries[0].variants[0];
}

// All groups one after another.
Nanos TimeOf(const plan::Body& plan, const std::string& variant, std::int64_t batch,
             const Spec& device) {
  GroupPricer pricer(plan, {batch}, &device);
  const auto figures = pricer.PriceAll(plan.entries[0], VariantOf(plan, variant));
  const PricedTime total = TotalOf(figures);
  INFO(device.name << ", " << variant << ": " << total.reason);
  REQUIRE(total.time.has_value());
  return *total.time;
}

TEST_CASE("resnet50 fused is quicker than operator by operator on every device with a matrix class",
          "[device][models]") {
  const std::string name = GENERATE("onnxim_tpuv4_c4", "tpu_v4", "tpu_v4i", "tt_blackhole_p150",
                                    "ascend910a", "edge_npu");
  const auto plan = ResNet();
  const Spec device = testing::ShippedDevice(name);
  for (const std::int64_t batch : {1, 8}) {
    CAPTURE(name, batch);
    const Nanos fused = TimeOf(*plan, "b8", batch, device);
    const Nanos by_op = TimeOf(*plan, "per_op", batch, device);
    CHECK(fused < by_op);
    // At least the launches of what is fused away: 49 operators behind a convolution, and one
    // behind the product.
    CHECK(by_op - fused >= 50 * device.step_launch);
  }
}

// Bounds that no schedule betters: multiply-adds at the peak of one core, and weights once.
TEST_CASE("a batch of resnet50 takes no less than its multiply-adds and its weights",
          "[device][models]") {
  const auto plan = ResNet();
  const Spec device = testing::Shipped();
  const CoreClass& core = device.classes[0];
  const std::int64_t batch = GENERATE(1, 8, 32);
  double macs = 0, bytes = 0;
  for (const plan::Group& group : VariantOf(*plan, "b32").groups) {
    const auto cost =
        GroupCost(*plan, plan->entries[0], group, std::vector{batch}, 1, core, device);
    INFO(cost.status().ToString());
    REQUIRE(cost.ok());
    macs += static_cast<double>(cost->macs);
    bytes += static_cast<double>(cost->dram_bytes);
  }
  CHECK(macs == static_cast<double>(batch) * 4'089'184'256.0);
  CHECK(bytes >= static_cast<double>(plan->WeightBytes()));
  const double peak = 128. * 128 * static_cast<double>(core.clock_hz) / 1e9;
  const auto time = static_cast<double>(TimeOf(*plan, "b32", batch, device).count());
  CHECK(time > macs / peak);
  // The more images a weight serves, the nearer.
  if (batch == 32) CHECK(time < 2 * macs / peak);
}

}  // namespace
}  // namespace leeway::device
