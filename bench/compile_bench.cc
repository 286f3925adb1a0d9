#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "compile/compiler.h"
#include "compile/work_curve.h"
#include "device/spec.h"
#include "plan/load.h"

namespace leeway::compile {
namespace {

std::shared_ptr<const plan::Body> Llama() {
  const auto file = base::FindShipped(base::ShippedKind::kPlan, "llama2_7b_prefill");
  return plan::LoadValidPlan(file->bytes, file->name).value();
}

std::shared_ptr<const device::Spec> Tpu() {
  const auto file = base::FindShipped(base::ShippedKind::kDevice, "onnxim_tpuv4_c4");
  return std::make_shared<const device::Spec>(device::ParseSpec(file->bytes, file->name).value());
}

// Eight buckets of a 7B prefill by a compiler that knows its mappings, as a retuning experiment
// asks for hundreds of times: each iteration has edges that were never compiled before.
void BM_Compile(benchmark::State& state) {
  Compiler compiler = Compiler::Create(Llama(), Tpu(), {}).value();
  std::int64_t shift = 0;
  std::int64_t core_time_us = 0;
  for (auto _ : state) {
    std::vector<std::int64_t> edges;
    for (std::int64_t edge = 256; edge < 32'768; edge *= 2) edges.push_back(edge + shift);
    edges.push_back(32'768);
    shift = (shift + 1) % 256;
    benchmark::DoNotOptimize(compiler.Compile(edges).value());
    core_time_us = compiler.CoreTime(1024).value().count() / 1000;
  }
  // Virtual, so it must not move between commits unless the compiler's choices did.
  state.counters["core_time_1024_us"] = static_cast<double>(core_time_us);
}
BENCHMARK(BM_Compile)->Unit(benchmark::kMillisecond);

// The same by a compiler that begins: every mapping is made for the first time.
void BM_CompileFirst(benchmark::State& state) {
  const auto model = Llama();
  const auto device = Tpu();
  const std::vector<std::int64_t> edges = {256, 512, 1024, 2048, 4096, 8192, 16'384, 32'768};
  for (auto _ : state) {
    Compiler compiler = Compiler::Create(model, device, {}).value();
    benchmark::DoNotOptimize(compiler.Compile(edges).value());
  }
}
BENCHMARK(BM_CompileFirst)->Unit(benchmark::kMillisecond);

// The work curve of a domain of 32,768 lengths: what an experiment pays once.
void BM_WorkCurve(benchmark::State& state) {
  const auto model = Llama();
  const auto device = Tpu();
  std::int64_t edges = 0;
  for (auto _ : state) {
    Compiler compiler = Compiler::Create(model, device, {}).value();
    benchmark::DoNotOptimize(WorkCurve::Make(compiler, state.range(0)).value());
    edges += compiler.domain().max / state.range(0);
  }
  state.SetItemsProcessed(edges);
}
BENCHMARK(BM_WorkCurve)->ArgName("align")->Arg(1)->Arg(128)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway::compile
