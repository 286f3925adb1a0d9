#include "leeway/simulate.h"

#include <memory>
#include <utility>

#include "api/replay.h"
#include "base/status_macros.h"
#include "exec/simulation.h"
#include "leeway/recording.h"
#include "plan/body.h"

namespace leeway {
inline namespace v0 {

Result<SimResult> Simulate(const Plan& plan, const Device& device, const Traffic& traffic,
                           const SimulateOptions& options) {
  RecordingOptions how{options.seed, options.entry, options.bind, options.above_domain};
  auto recording = std::make_shared<const Recording>(traffic, std::move(how));
  LEEWAY_ASSIGN_OR_RETURN(api::Replay replay, api::Replay::Begin(*plan.body(), *recording));
  exec::SimConfig config;
  config.plan = plan.body();
  config.device = device.spec();
  config.entry = options.entry;
  config.streams = api::StreamsOf(*traffic.body());
  config.serving = options.serving;
  if (options.heat == SimulateOptions::Heat::kOff) config.heat = exec::CoreClocks::Heat::kOff;
  config.progress = options.progress;
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<exec::SimRecord> record,
                          exec::RunSimulation(config, [&] { return replay.Next(); }));
  record->summary.counts.clamped = replay.binding().clamped();
  record->summary.notes = replay.binding().notes();
  return SimResult(std::move(record), std::move(recording));
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
const Recording& SimResult::recording() const { return *recording_; }

}  // namespace v0
}  // namespace leeway
