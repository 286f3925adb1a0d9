#include "tests/retune/support/loop_inputs.h"

#include <string>
#include <utility>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/plan_builder.h"
#include "traffic/generated_body.h"
#include "traffic/recorded_body.h"

namespace leeway::retune::testing {

std::shared_ptr<const traffic::Body> DrawnHours(const std::vector<Hour>& hours,
                                                std::uint64_t requests) {
  traffic::GeneratedTraffic traffic;
  traffic.requests = requests;
  traffic.window = 1h;
  traffic.windows = hours.size();
  traffic.dim = "seq";
  traffic.positions = {0, 1};
  for (std::uint32_t w = 0; w < hours.size(); ++w) {
    if (hours[w].rate > 0) {
      traffic.cells.push_back({w, 0, hours[w].rate, {hours[w].low, hours[w].high}});
    }
  }
  return traffic::MakeGenerated("hours", {}, {{"calls", 1}}, std::move(traffic), 0);
}

std::shared_ptr<const traffic::Body> Recorded(const std::vector<Call>& calls) {
  traffic::RecordedArrivals arrivals;
  arrivals.dim_names = {"seq"};
  for (const Call& call : calls) {
    arrivals.at_ns.push_back(static_cast<std::int64_t>(call.at_s * 1e9));
    arrivals.streams.push_back(0);
    arrivals.dims.push_back(call.length);
  }
  return traffic::MakeRecorded("calls", {}, {{"calls", 1}}, std::move(arrivals));
}

Plan ToyModel() {
  PlanBuilder builder("toy", Producer{"test", "1"});
  const Size seq = builder.Dim("seq", {1, 4096}, BatchRule::kMax);
  const Size batch = builder.Dim("batch", {1, 8}, BatchRule::kCount);
  const EntryRef main = builder.Entry("main");
  const TensorRef x = main.Input("x", DType::kBf16, {batch, seq, 1024});
  const TensorRef w = main.Weight("w", DType::kBf16, {1024, 1024});
  const OpRef product = main.Op("product", Gemm{batch * seq, 1024, 1024}, {x, w});
  main.Op("activation", Vector{batch * seq * 1024, 4}, {product});
  return std::move(builder).Build().value();
}

compile::Compiler ToyCompiler() {
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  return compile::Compiler::Create(ToyModel().body(), device.spec(), {}).value();
}

LoopSource::Options SourceOptions() {
  LoopSource::Options options;
  options.name = "seq";
  options.min = 1;
  options.max = 4096;
  options.window = 1h;
  options.seed = 7;
  return options;
}

}  // namespace leeway::retune::testing
