#include "leeway/simulate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/replay.h"
#include "base/status_macros.h"
#include "exec/simulation.h"
#include "leeway/recording.h"
#include "plan/body.h"

namespace leeway {
inline namespace v0 {

namespace {

Status Override(const StreamOptions& how, const QueueOptions& of_all,
                std::vector<exec::SimStream>& streams) {
  const auto stream = std::find_if(streams.begin(), streams.end(),
                                   [&](const exec::SimStream& s) { return s.name == how.name; });
  if (stream == streams.end()) {
    std::string names;
    for (const exec::SimStream& s : streams) names += (names.empty() ? "" : ", ") + s.name;
    return base::InvalidArgument(
        absl::StrCat("stream \"", how.name, "\" is not in the traffic, which has ", names));
  }
  if (how.weight < 0 || how.weight > StreamOptions::kMaxWeight) {
    return base::InvalidArgument(absl::StrCat("stream \"", how.name, "\": weight is ", how.weight,
                                              "; between 1 and ", StreamOptions::kMaxWeight,
                                              ", or 0 for the priority's"));
  }
  if (how.priority) stream->priority = *how.priority;
  stream->weight = static_cast<std::uint32_t>(how.weight);
  stream->preserve_ordering = how.preserve_ordering;
  QueueOptions queue = of_all;
  queue.max_queue_size = how.max_queue_size.value_or(queue.max_queue_size);
  queue.default_timeout = how.default_timeout.value_or(queue.default_timeout);
  queue.timeout_action = how.timeout_action.value_or(queue.timeout_action);
  queue.allow_timeout_override = how.allow_timeout_override.value_or(queue.allow_timeout_override);
  stream->queue = queue;
  return Status();
}

}  // namespace

Result<SimResult> Simulate(const Plan& plan, const Device& device, const Traffic& traffic,
                           const SimulateOptions& options) {
  RecordingOptions how{options.seed, options.entry, options.bind, options.above_domain};
  auto recording = std::make_shared<const Recording>(traffic, std::move(how));
  LEEWAY_ASSIGN_OR_RETURN(api::Replay replay, api::Replay::Begin(*plan.body(), *recording));
  exec::SimConfig config;
  config.plan = plan.body();
  config.device = device.spec();
  config.entry = options.entry;
  config.streams = api::StreamsOf(*traffic.body(), options.serving.batching);
  for (const StreamOptions& stream : options.streams) {
    LEEWAY_RETURN_IF_ERROR(Override(stream, options.serving.queue, config.streams));
  }
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
