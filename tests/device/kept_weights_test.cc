#include "device/kept_weights.h"

#include <string>
#include <vector>

#include "device/step_cost.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::TensorKind;
using testing::PlanMaker;
using Cores = std::vector<CoreIndex>;
using Tensors = std::vector<plan::Index>;

plan::CoreRef Ref(const std::string& core_class, std::optional<std::uint32_t> index = {}) {
  return {.device = {}, .core_class = core_class, .index = index};
}

// Two cores "tensor", which keep a megabyte of weights, and two "plain", which keep none.
Spec Keeping() {
  Spec spec = testing::TpuV4Like();
  spec.classes.push_back(spec.classes[0]);
  spec.classes[0].resident_bytes = 1 << 20;
  spec.classes[1].name = "plain";
  spec.classes[1].first_core = 2;
  return spec;
}

// relu(x · w + bias), of 512 × 256 and 256 × 384 elements of two bytes.
struct Layer {
  PlanMaker plan;
  plan::Index w, bias;
  const plan::Group* group;

  Layer() {
    plan.Tensor("x", TensorKind::kInput, "512 * 256");
    w = plan.Tensor("w", TensorKind::kWeight, "256 * 384");
    bias = plan.Tensor("bias", TensorKind::kWeight, "384");
    plan.Tensor("h", TensorKind::kActivation, "512 * 384");
    plan.Tensor("y", TensorKind::kOutput, "512 * 384");
    plan.Gemm("matmul", {"x", "w", "bias"}, "h", "512", "384", "256");
    plan.Vector("relu", {"h"}, "y", "512 * 384", 1);
    group = &plan.Group("layer", {"matmul", "relu"});
  }
  StepCost Cost(const Spec& device, const Tensors& resident) {
    return GroupCost(plan.body(), plan.entry(), *group, {}, 1, device.classes[0], device, resident)
        .value();
  }
};

constexpr std::int64_t kX = 512 * 256 * 2, kW = 256 * 384 * 2, kBias = 384 * 2, kY = 512 * 384 * 2;

TEST_CASE("a step moves all but the weights that it finds in place", "[device][cost]") {
  Layer layer;
  const Spec device = Keeping();
  CHECK(layer.Cost(device, {}).dram_bytes == kX + kW + kBias + kY);
  CHECK(layer.Cost(device, {layer.w}).dram_bytes == kX + kBias + kY);
  CHECK(layer.Cost(device, {layer.bias}).dram_bytes == kX + kW + kY);
  CHECK(layer.Cost(device, {layer.w, layer.bias}).dram_bytes == kX + kY);
  // What it computes is the same.
  CHECK(layer.Cost(device, {layer.w}).macs == layer.Cost(device, {}).macs);
  CHECK(layer.Cost(device, {layer.w}).compute == layer.Cost(device, {}).compute);
  CHECK(layer.Cost(device, {layer.w}).fill < layer.Cost(device, {}).fill);
}

TEST_CASE("a view of a weight in place is in place", "[device][cost]") {
  Layer layer;
  plan::Tensor& whole = layer.plan.body().tensors.emplace_back();
  whole.name = "all_weights";
  whole.kind = TensorKind::kWeight;
  whole.elements = plan::Expr::Constant(1 << 20);
  const auto all = static_cast<plan::Index>(layer.plan.body().tensors.size() - 1);
  layer.plan.body().tensors[layer.w].alias_of = all;
  CHECK(layer.Cost(Keeping(), {all}).dram_bytes == kX + kBias + kY);
}

TEST_CASE("resident weights take no SRAM from tiles, and what is set aside for them does",
          "[device][cost]") {
  Layer layer;
  Spec device = Keeping();
  const StepCost streaming = layer.Cost(device, {});
  CHECK(layer.Cost(device, {layer.w}).sram_peak_bytes < streaming.sram_peak_bytes);
  // The smallest that still runs as one block is what the step takes at most.
  CoreClass& core = device.classes[0];
  core.sram_bytes = core.resident_bytes + streaming.sram_peak_bytes;
  CHECK(layer.Cost(device, {}).dram_bytes == streaming.dram_bytes);
  core.sram_bytes = core.resident_bytes + 1;
  const auto none =
      GroupCost(layer.plan.body(), layer.plan.entry(), *layer.group, {}, 1, core, device);
  CHECK(none.status().code() == StatusCode::kResourceExhausted);
  CHECK(std::string(none.status().message()).ends_with(" has 1"));
}

TEST_CASE("energy between SRAM and units is the same wherever the weights were", "[device][cost]") {
  Layer layer;
  Spec device = Keeping();
  device.power.sram_watts = 30;
  for (CoreClass& of : device.classes) of.sram_bytes_per_cycle = 1000;
  const double per_byte = device.event_energy().sram_byte;
  const StepCost there = layer.Cost(device, {layer.w}), streamed = layer.Cost(device, {});
  // What streams passes into the SRAM, too.
  CHECK(static_cast<double>(streamed.energy_pj - there.energy_pj) ==
        Approx(per_byte * kW).margin(1));
}

TEST_CASE("weights are kept on the cores named, or on all, that have memory for them",
          "[device][unit]") {
  Layer layer;
  const Spec device = Keeping();
  const auto kept = [&] {
    return KeptWeights(layer.plan.body(), layer.plan.variant(), device).value();
  };
  CHECK(kept().empty());
  layer.plan.variant().residency = {{layer.w, {Ref("tensor", 1)}}, {layer.bias, {}}};
  REQUIRE(kept().size() == 2);
  CHECK(kept()[0].tensors == Tensors{layer.w});
  CHECK(kept()[0].weight.bytes == kW);
  CHECK(kept()[0].cores == Cores{1});
  CHECK(kept()[0].users == Cores{0, 1});
  CHECK(kept()[1].tensors == Tensors{layer.bias});
  CHECK(kept()[1].cores == Cores{0, 1});
  CHECK(FoundOn(kept(), device.classes[0]) == Tensors{layer.w, layer.bias});
  CHECK(FoundOn(kept(), device.classes[1]).empty());
  // Named twice: on both.
  layer.plan.variant().residency = {{layer.w, {Ref("tensor", 1)}}, {layer.w, {Ref("tensor", 0)}}};
  REQUIRE(kept().size() == 1);
  CHECK(kept()[0].cores == Cores{0, 1});
  layer.plan.variant().residency = {{layer.w, {Ref("plain")}}};
  CHECK(kept().empty());
  layer.plan.variant().residency = {{layer.w, {Ref("ghost")}}};
  CHECK(KeptWeights(layer.plan.body(), layer.plan.variant(), device).status().code() ==
        StatusCode::kNotFound);
}

TEST_CASE("two tensors of one content are one weight", "[device][unit]") {
  Layer layer;
  const plan::Index copy = layer.plan.Tensor("copy", TensorKind::kWeight, "256 * 384");
  const std::string content(32, '\7');
  layer.plan.body().tensors[layer.w].content_digest = content;
  layer.plan.body().tensors[copy].content_digest = content;
  layer.plan.variant().residency = {{layer.w, {Ref("tensor", 0)}}, {copy, {Ref("tensor", 1)}}};
  const auto kept = KeptWeights(layer.plan.body(), layer.plan.variant(), Keeping()).value();
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].tensors == Tensors{layer.w, copy});
  CHECK(kept[0].cores == Cores{0, 1});
}

TEST_CASE("a fetch is a latency and whole granules at the slower of port and DRAM",
          "[device][unit]") {
  CoreClass core;
  core.dma_bytes_per_second = 2'000'000'000;
  core.dma_latency = Nanos(100);
  core.dma_granule_bytes = 64;
  const ByteUnits fast = RateUnits(8'000'000'000), slow = RateUnits(1'000'000'000);
  CHECK(FetchAlone(0, core, fast) == Nanos(0));
  CHECK(FetchAlone(128, core, fast) == Nanos(100 + 64));
  CHECK(FetchAlone(129, core, fast) == Nanos(100 + 96));
  CHECK(FetchAlone(129, core, slow) == Nanos(100 + 192));
}

}  // namespace
}  // namespace leeway::device
