// What a compiler engineer writes in a test: describe a plan, serve half an hour of traffic with it
// on a simulated device, check where the tail's latency went and whether the plan has drifted, let the
// compiler act on what is advised, and judge its answer on the other half hour.

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/device.h"
#include "leeway/drift.h"
#include "leeway/evaluate.h"
#include "leeway/plan.h"
#include "leeway/plan_builder.h"
#include "leeway/retune.h"
#include "leeway/sim_result.h"
#include "leeway/simulate.h"
#include "leeway/time.h"
#include "leeway/traffic.h"

using namespace leeway;  // NOLINT: a short program

namespace {

// A projection and its activation, fused into one kernel that is compiled for each edge of "seq".
Result<Plan> ToyPlan(const std::vector<std::int64_t>& edges) {
  PlanBuilder b("toy", Producer{"mycc", "1.4"});
  auto seq = b.Dim("seq", {1, 4096}, BatchRule::kMax);
  auto n = b.Dim("batch", {1, 32}, BatchRule::kSum);
  auto e = b.Entry("main");
  auto x = e.Input("x", DType::kBf16, {n, seq, 768});
  auto w = e.Weight("w", DType::kInt8, {768, 768});
  auto h = e.Op("mm", Gemm{n * seq, 768, 768}, {x, w}).Annotate("mlir.loc", "a.mlir:7");
  auto y = e.Op("gelu", Vector{n * seq * 768, 12}, {h});
  for (const std::int64_t edge : edges) {
    const std::string name = "s" + std::to_string(edge);
    e.Variant(name).Envelope(seq, 1, edge, edge).Group("ffn", {h, y}).Kernel("ffn_" + name)
        .Prefer("matrix:0").Predict({{"seq", edge}, {"batch", 1}}, 80ns * edge);
  }
  return std::move(b).Build();
}

// Takes the edges that the request ends with; a real one would look at each action.
class ToyCompiler : public Compiler {
 public:
  Result<RetuneResponse> Compile(const RetuneRequest& request,
                                 const CompileContext& context) override {
    if (context.cancelled && context.cancelled()) return Status(StatusCode::kCancelled, "asked to");
    Result<Plan> plan = ToyPlan(request.dim("seq")->edges_after);
    if (!plan.ok()) return plan.status();
    RetuneResponse response{.plan = *plan};
    for (std::size_t i = 0; i < request.actions.size(); ++i) response.accepted.push_back(i);
    return response;
  }
};

bool Holds(bool check, const char* what) {
  std::printf("%-6s %s\n", check ? "ok" : "FAILED", what);
  return check;
}

double Micros(Nanos duration) { return static_cast<double>(duration.count()) / 1e3; }

}  // namespace

int main() {
  const Result<Plan> plan = ToyPlan({512, 2048, 4096});
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());  // every finding, with its path
    return 1;
  }
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const Traffic traffic = Traffic::Open("chat_1h").value();
  const SimResult r = Simulate(*plan, device, traffic.First(30min), {.seed = 7}).value();

  std::printf("%llu requests, p99 %.1f us, of the tail's mean padding is %.1f us\n",
              static_cast<unsigned long long>(r.summary().counts.submitted),
              Micros(r.latency("urgent").p99), Micros(r.tail_mean(0.99).part(Cause::kPadding)));
  bool ok = Holds(r.latency("urgent").p99 < 5ms, "p99 of urgent requests below 5 ms");
  ok &= Holds(r.tail_mean(0.99).part(Cause::kPadding) < 1ms, "padding in the tail below 1 ms");

  const DriftReport drift = DetectDrift(*plan, r.telemetry()).value();
  std::printf("the buckets cost %.1f %% more than the best three would\n",
              100 * drift.dim("seq")->regret);
  ok &= Holds(drift.drifted, "the plan has drifted from its traffic");

  const RetuneRequest ask = Advise(*plan, device, r.recording(), {.max_actions = 3}).value();
  for (const RetuneAction& action : ask.actions) {
    std::printf("%s %lld -> %lld: %s\n", RetuneActionName(action.kind),
                static_cast<long long>(action.from), static_cast<long long>(action.to),
                action.evidence.text.c_str());
  }
  ToyCompiler my_compiler;
  const RetuneResponse answer = my_compiler.Compile(ask, {}).value();
  ok &= Holds(!ask.actions.empty() && answer.declined.empty(), "every action asked for is done");

  // p99 is a request of 4,096 tokens before and after; what better buckets buy is the mean.
  const Guardrails guardrails = {.max_p99_change = 0.01, .max_stream_change = 0.01};
  const Evaluation judged = Evaluate(*plan, answer.plan, device, traffic.Last(30min), guardrails,
                                     {.seed = 8, .primary = Metric::kMean})
                                .value();
  std::printf("%s: %s\n", VerdictName(judged.verdict), judged.reason.c_str());
  ok &= Holds(judged.verdict == Verdict::kBetter, "the new plan is better on traffic held out");
  return ok ? 0 : 1;
}
