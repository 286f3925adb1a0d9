// V5, V7 and V8: single operators against measurements and another simulator.

#include <memory>
#include <utility>

#include "api/model_checks.h"
#include "base/status_macros.h"
#include "device/spec.h"
#include "leeway/cost.h"

namespace leeway::api {
namespace {

OperatorSpec Gemm3(std::int64_t m, std::int64_t n, std::int64_t k) {
  OperatorSpec op;
  op.name = "matmul";
  op.work = Gemm{.m = m, .n = n, .k = k};
  return op;
}

// COST_MODEL's TPU v4 figures: three products whose operands lie in VMEM, hence cycles of
// computation alone, and one from HBM on both cores of the chip.
Result<Checks> TpuV4() {
  constexpr char kSource[] =
      "pallas-tpu-tutorial, TPU v4 at 1050 MHz, measured: chapter02, resident matmuls";
  LEEWAY_ASSIGN_OR_RETURN(const Device device, Device::Load("tpu_v4"));
  struct Resident {
    std::int64_t rows;
    double measured;
    CheckKind kind;
  };
  constexpr Resident kResident[] = {{16, 176, CheckKind::kPlumbing},
                                    {128, 211, CheckKind::kPrediction},
                                    {1024, 435, CheckKind::kPrediction}};
  Checks checks;
  for (const Resident& of : kResident) {
    LEEWAY_ASSIGN_OR_RETURN(const OperatorCost cost, CostOf(device, Gemm3(of.rows, 128, 128)));
    checks.push_back({.name = "V5",
                      .what = "TPU v4, [" + std::to_string(of.rows) + ", 128] · [128, 128] in VMEM",
                      .ours = static_cast<double>(cost.cycles),
                      .reference = of.measured,
                      .unit = "cycles",
                      .tolerance = 0.10,
                      .kind = of.kind,
                      .source = kSource});
  }
  OperatorSpec large = Gemm3(2048, 2048, 2048);
  large.shards = 2;
  LEEWAY_ASSIGN_OR_RETURN(const OperatorCost cost, CostOf(device, large));
  const Nanos time = cost.time() - cost.launch;
  checks.push_back({.name = "V5",
                    .what = "TPU v4, 2048³ bf16 on both cores",
                    .ours = static_cast<double>(time.count()) * 1.05,
                    .reference = 74'739,
                    .unit = "cycles",
                    .tolerance = 0.15,
                    .source = "pallas-tpu-tutorial chapter02/09_large_matmul: XLA, 71.18 µs"});
  return checks;
}

// ONNXim runs a convolution tap by tap. Its own device, by taps; cycles of the DRAM are in.
Result<Checks> OnnxIm() {
  LEEWAY_ASSIGN_OR_RETURN(const Device shipped, Device::Load("onnxim_tpuv4_c4"));
  device::Spec spec = *shipped.spec();
  spec.classes[0].conv_lowering = device::ConvLowering::kPerTap;
  OperatorSpec op;
  op.name = "conv1";
  Conv conv{.n = 1, .h = 224, .w = 224, .c = 3, .filters = 64, .kernel_h = 7, .kernel_w = 7};
  conv.stride = 2;
  conv.padding = 3;
  op.work = std::move(conv);
  LEEWAY_ASSIGN_OR_RETURN(
      const OperatorCost cost,
      CostOf(Device(std::make_shared<const device::Spec>(std::move(spec))), op));
  Checks checks;
  checks.push_back({.name = "V7",
                    .what = "ResNet-18 conv1 by taps, 128² array, one core",
                    .ours = static_cast<double>((cost.time() - cost.launch).count()),
                    .reference = 621'060,
                    .unit = "cycles",
                    .tolerance = 0.03,
                    .source = "ONNXim, systolic_ws_128x128 at 1 GHz"});
  return checks;
}

// Measured by LLMCompass, launch included.
Result<Checks> A100() {
  LEEWAY_ASSIGN_OR_RETURN(const Device device, Device::Load("a100_llmcompass"));
  struct Measured {
    std::int64_t m, side;
    double ns;
    const char* note;
  };
  constexpr Measured kMeasured[] = {
      {8192, 8192, 3'961'400, ""},
      {2048, 12288, 2'358'600, ""},
      {64, 12288, 190'000, ""},
      {8192, 64, 29'600,
       "the launch is 21 of the 29.6 µs, and an input. Of the 8.6 µs left the model explains 3.0, "
       "two "
       "latencies of the DRAM and its bytes; LLMCompass's own roofline gives 22.0 µs in all"}};
  Checks checks;
  for (const Measured& of : kMeasured) {
    LEEWAY_ASSIGN_OR_RETURN(const OperatorCost cost, CostOf(device, Gemm3(of.m, of.side, of.side)));
    checks.push_back(
        {.name = "V8",
         .what = "A100, " + std::to_string(of.m) + " × " + std::to_string(of.side) + "² fp16",
         .ours = static_cast<double>(cost.time().count()),
         .reference = of.ns,
         .unit = "ns",
         .tolerance = 0.15,
         .source = "LLMCompass ae/figure5/ab/real_hardware/matmul_A100.csv",
         .note = of.note});
  }
  return checks;
}

}  // namespace

Result<Checks> OperatorChecks() {
  LEEWAY_ASSIGN_OR_RETURN(Checks all, TpuV4());
  LEEWAY_ASSIGN_OR_RETURN(const Checks onnxim, OnnxIm());
  LEEWAY_ASSIGN_OR_RETURN(const Checks a100, A100());
  all.insert(all.end(), onnxim.begin(), onnxim.end());
  all.insert(all.end(), a100.begin(), a100.end());
  return all;
}

}  // namespace leeway::api
