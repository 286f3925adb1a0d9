// What a compiler engineer writes in a test: describe a plan, serve an hour of traffic with it on a
// simulated device, and check where the tail's latency went.

#include <cstdio>
#include <utility>

#include "leeway/attribution.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/plan_builder.h"
#include "leeway/sim_result.h"
#include "leeway/simulate.h"
#include "leeway/time.h"
#include "leeway/traffic.h"

using namespace leeway;  // NOLINT: a short program

namespace {

// A projection and its activation, fused into one kernel that was compiled for 512 tokens.
Result<Plan> ToyPlan() {
  PlanBuilder b("toy", Producer{"mycc", "1.4"});
  auto seq = b.Dim("seq", {1, 4096}, BatchRule::kMax);
  auto n = b.Dim("batch", {1, 32}, BatchRule::kSum);
  auto e = b.Entry("main");
  auto x = e.Input("x", DType::kBf16, {n, seq, 768});
  auto w = e.Weight("w", DType::kInt8, {768, 768});
  auto h = e.Op("mm", Gemm{n * seq, 768, 768}, {x, w}).Annotate("mlir.loc", "a.mlir:7");
  auto y = e.Op("gelu", Vector{n * seq * 768, 12}, {h});
  e.Variant("s512").Envelope(seq, 1, 384, 512).Group("ffn", {h, y}).Kernel("ffn_s512")
      .Prefer("matrix:0").Predict({{"seq", 512}, {"batch", 1}}, 41us);
  return std::move(b).Build();
}

bool Holds(bool check, const char* what) {
  std::printf("%-6s %s\n", check ? "ok" : "FAILED", what);
  return check;
}

double Micros(Nanos duration) { return static_cast<double>(duration.count()) / 1e3; }

}  // namespace

int main() {
  const Result<Plan> plan = ToyPlan();
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());  // every finding, with its path
    return 1;
  }
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const Traffic traffic = Traffic::Open("chat_1h").value();
  const SimResult r = Simulate(*plan, device, traffic.First(1h), {.seed = 7}).value();

  std::printf("%llu requests, p99 %.1f us, of the tail's mean padding is %.1f us\n",
              static_cast<unsigned long long>(r.summary().counts.submitted),
              Micros(r.latency("urgent").p99), Micros(r.tail_mean(0.99).part(Cause::kPadding)));
  const bool fast = Holds(r.latency("urgent").p99 < 5ms, "p99 of urgent requests below 5 ms");
  const bool tight = Holds(r.tail_mean(0.99).part(Cause::kPadding) < 1ms,
                           "padding in the tail below 1 ms");
  return fast && tight ? 0 : 1;
}
