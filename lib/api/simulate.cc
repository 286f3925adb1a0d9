#include "leeway/simulate.h"

#include <memory>
#include <optional>
#include <utility>

#include "api/dim_binding.h"
#include "base/status_macros.h"
#include "exec/simulation.h"
#include "plan/body.h"
#include "traffic/body.h"

namespace leeway {
inline namespace v0 {

Result<SimResult> Simulate(const Plan& plan, const Device& device, const Traffic& traffic,
                           const SimulateOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(
      api::DimBinding binding,
      api::DimBinding::Make(*plan.body(), traffic.body()->dim_names(), options.bind));
  LEEWAY_ASSIGN_OR_RETURN(std::unique_ptr<traffic::Reader> reader,
                          traffic.body()->NewReader(options.seed));
  exec::SimConfig config;
  config.plan = plan.body();
  config.device = device.spec();
  config.entry = options.entry;
  for (const traffic::StreamInfo& stream : traffic.body()->streams()) {
    config.streams.push_back({stream.name, Priority(stream.priority_level)});
  }
  if (config.streams.empty()) config.streams.push_back({"default", Priority(1)});
  config.serving = options.serving;
  config.progress = options.progress;
  auto next = [&]() -> Result<std::optional<exec::SimArrival>> {
    LEEWAY_ASSIGN_OR_RETURN(const std::optional<traffic::Arrival> arrival, reader->Next());
    if (!arrival) return std::optional<exec::SimArrival>();
    exec::SimArrival out;
    out.at = arrival->at;
    out.stream = arrival->stream;
    if (arrival->deadline != Nanos::max()) out.timeout = arrival->deadline;
    out.cancel_after = arrival->cancel_after;
    LEEWAY_ASSIGN_OR_RETURN(out.dims, binding.Apply(*arrival, options.above_domain));
    return std::optional(std::move(out));
  };
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<exec::SimRecord> record,
                          exec::RunSimulation(config, next));
  record->summary.counts.clamped = binding.clamped();
  record->summary.notes = binding.notes();
  return SimResult(std::move(record));
}

const SimSummary& SimResult::summary() const { return record_->summary; }

LatencyStats SimResult::latency(std::string_view stream) const {
  for (const StreamSummary& summary : record_->summary.streams) {
    if (summary.name == stream) return summary.latency;
  }
  return LatencyStats();
}

namespace {

MeanAttribution MeanOf(const telemetry::TailProfile& profile, double q) {
  const telemetry::TailProfile::Tail tail = profile.TailFrom(q);
  return MeanAttribution(tail.count, tail.mean());
}

}  // namespace

MeanAttribution SimResult::tail_mean(double q) const { return MeanOf(record_->all, q); }

MeanAttribution SimResult::tail_mean(double q, std::string_view stream) const {
  for (std::size_t s = 0; s < record_->by_stream.size(); ++s) {
    if (record_->summary.streams[s].name == stream) return MeanOf(record_->by_stream[s], q);
  }
  return MeanAttribution(0, Attribution());
}

const std::string& SimResult::telemetry() const { return record_->telemetry; }
const std::string& SimResult::telemetry_digest() const { return record_->telemetry_digest; }

}  // namespace v0
}  // namespace leeway
