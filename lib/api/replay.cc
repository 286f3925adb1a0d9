#include "api/replay.h"

#include <utility>

#include "base/status_macros.h"

namespace leeway::api {

Result<Replay> Replay::Begin(const plan::Body& plan, const Recording& recording) {
  const traffic::Body& traffic = *recording.traffic().body();
  LEEWAY_ASSIGN_OR_RETURN(DimBinding binding,
                          DimBinding::Make(plan, traffic.dim_names(), recording.bind()));
  LEEWAY_ASSIGN_OR_RETURN(std::unique_ptr<traffic::Reader> reader,
                          traffic.NewReader(recording.seed()));
  return Replay(std::move(binding), std::move(reader), recording.above_domain());
}

Result<std::optional<exec::SimArrival>> Replay::Next() {
  LEEWAY_ASSIGN_OR_RETURN(const std::optional<traffic::Arrival> arrival, reader_->Next());
  if (!arrival) return std::optional<exec::SimArrival>();
  exec::SimArrival out;
  out.at = arrival->at;
  out.stream = arrival->stream;
  if (arrival->deadline != Nanos::max()) out.timeout = arrival->deadline;
  out.cancel_after = arrival->cancel_after;
  LEEWAY_ASSIGN_OR_RETURN(out.dims, binding_.Apply(*arrival, above_domain_));
  return std::optional(std::move(out));
}

std::vector<exec::SimStream> StreamsOf(const traffic::Body& traffic,
                                       const BatchingOptions& batching) {
  const int level = batching.default_priority_level;
  std::vector<exec::SimStream> streams;
  for (const traffic::StreamInfo& stream : traffic.streams()) {
    streams.push_back({stream.name, Priority(stream.priority_level.value_or(level))});
  }
  if (streams.empty()) streams.push_back({"default", Priority(level)});
  return streams;
}

}  // namespace leeway::api
