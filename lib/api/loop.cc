#include "leeway/loop.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/dim_binding.h"
#include "api/replay.h"
#include "base/status_macros.h"
#include "compile/compiler.h"
#include "device/reality.h"
#include "exec/simulation.h"
#include "plan/body.h"
#include "retune/loop_experiment.h"
#include "retune/plan_buckets.h"
#include "sched/run_pool.h"
#include "traffic/body.h"

namespace leeway {
inline namespace v0 {
namespace {

// The simulator, as the experiment asks for it.
class Simulator {
 public:
  Simulator(const Device& device, const Traffic& traffic, std::shared_ptr<const plan::Body> model,
            plan::Index dim, const LoopOptions& options)
      : device_(device.spec()),
        model_(std::move(model)),
        dim_(dim),
        options_(options),
        streams_(api::StreamsOf(*traffic.body(), BatchingOptions())) {
    if (options.reality.kind == LoopReality::Kind::kNoise) {
      reality_ = std::make_shared<const device::Reality>(device::RealityNoise{
          options.reality.seed, options.reality.per_operator, options.reality.per_size});
    }
  }

  Result<retune::ReplayOutcome> operator()(const retune::ReplayRequest& request) const;

 private:
  exec::SimConfig ConfigOf(const retune::ReplayRequest& request) const;

  std::shared_ptr<const device::Spec> device_;
  std::shared_ptr<const plan::Body> model_;
  plan::Index dim_;
  const LoopOptions& options_;
  std::vector<exec::SimStream> streams_;
  std::shared_ptr<const device::Reality> reality_;
};

exec::SimConfig Simulator::ConfigOf(const retune::ReplayRequest& request) const {
  exec::SimConfig config;
  config.plan = request.plans.front().plan;
  for (std::size_t p = 1; p < request.plans.size(); ++p) {
    config.swaps.push_back({request.plans[p].from, request.plans[p].plan});
  }
  config.device = device_;
  config.reality = reality_;
  config.entry = options_.entry;
  config.streams = streams_;
  config.serving.phi = options_.compile.phi;
  if (request.formation == retune::ReplayRequest::Formation::kFirstCome) {
    config.serving.batching.formation = BatchingOptions::Formation::kFirstCome;
  }
  const bool attributed = request.detail == retune::ReplayRequest::Detail::kAttributed;
  config.detail =
      attributed ? exec::SimConfig::Detail::kAttributed : exec::SimConfig::Detail::kLatencies;
  config.census = request.census;
  return config;
}

Result<retune::ReplayOutcome> Simulator::operator()(const retune::ReplayRequest& request) const {
  retune::ReplayOutcome outcome;
  outcome.latencies.assign(request.requests.size(), Nanos::max());
  outcome.padded.assign(request.requests.size(), 0);
  const bool attributed = request.detail == retune::ReplayRequest::Detail::kAttributed;
  exec::SimConfig config = ConfigOf(request);
  std::uint64_t late = 0;
  bool cancelled = false;
  config.on_ok = [&](const exec::RequestRecord& record) {
    // Requests are numbered from 1 in order of arrival.
    const std::size_t index = record.request->user - 1;
    outcome.latencies[index] = record.latency;
    const sched::Run& run = *record.run;
    if (run.graph->variant() != nullptr) outcome.padded[index] = run.costs->dims[dim_];
    if (attributed && !request.window_of.empty()) {
      const std::size_t window = request.window_of[index];
      if (window >= outcome.tails.size()) outcome.tails.resize(window + 1);
      outcome.tails[window].Record(record.latency, record.parts);
    }
    if (record.latency > request.late_after) ++late;
  };
  Progress told;
  config.progress = [&](const Progress& progress) {
    if (late > request.late_limit) return false;
    if (request.progress &&
        !request.progress(progress.requests - told.requests, progress.steps - told.steps)) {
      cancelled = true;
      return false;
    }
    told = progress;
    return true;
  };
  std::size_t next = 0;
  auto arrivals = [&]() -> Result<std::optional<exec::SimArrival>> {
    if (next == request.requests.size()) return std::optional<exec::SimArrival>();
    const retune::LoopRequest& from = request.requests[next++];
    exec::SimArrival arrival;
    arrival.at = from.at;
    arrival.stream = from.stream;
    for (const plan::Dim& dim : model_->dims) arrival.dims.push_back(dim.min);
    arrival.dims[dim_] = from.length;
    return std::optional(std::move(arrival));
  };
  Result<std::shared_ptr<exec::SimRecord>> record = exec::RunSimulation(config, arrivals);
  if (!record.ok()) {
    const bool stopped = record.status().code() == StatusCode::kCancelled && !cancelled;
    if (!stopped) return record.status();
    outcome.stopped = true;
    return outcome;
  }
  if (request.progress) {
    request.progress((*record)->summary.counts.submitted - told.requests,
                     (*record)->summary.steps - told.steps);
  }
  outcome.summary = std::move((*record)->summary);
  outcome.executed = std::move((*record)->executed);
  outcome.telemetry = std::move((*record)->telemetry);
  outcome.telemetry_digest = std::move((*record)->telemetry_digest);
  return outcome;
}

}  // namespace

Result<LoopResult> RunLoop(const Plan& model, const Device& device, const Traffic& traffic,
                           const LoopOptions& options) {
  if (const auto dims = retune::LengthDims(*model.body()); dims.size() > 1) {
    return base::Unimplemented(
        "the loop adapts one dim, the model has " + std::to_string(dims.size()) +
        " that batches are padded in: \"" + model.body()->dims[dims[0]].name + "\", \"" +
        model.body()->dims[dims[1]].name + (dims.size() > 2 ? "\", …" : "\""));
  }
  compile::CompilerOptions compile;
  compile.entry = options.entry;
  LEEWAY_ASSIGN_OR_RETURN(compile::Compiler compiler,
                          compile::Compiler::Create(model.body(), device.spec(), compile));
  LEEWAY_ASSIGN_OR_RETURN(
      const api::DimBinding binding,
      api::DimBinding::Make(*model.body(), traffic.body()->dim_names(), options.bind));
  retune::ExperimentInput input;
  input.model = model.body();
  input.device = device.spec();
  input.traffic = traffic.body();
  LEEWAY_ASSIGN_OR_RETURN(input.traffic_dim, binding.SourceOf(compiler.dim()));
  input.options = &options;
  const Simulator simulator(device, traffic, model.body(), compiler.dim(), options);
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<retune::LoopRecord> record,
                          retune::RunExperiment(input, compiler, std::cref(simulator)));
  for (const std::string& note : binding.notes()) record->summary.notes.push_back(note);
  return LoopResult(std::move(record));
}

}  // namespace v0
}  // namespace leeway
