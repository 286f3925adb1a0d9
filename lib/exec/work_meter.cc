#include "exec/work_meter.h"

#include <optional>

#include "base/status_macros.h"

namespace leeway::exec {

Result<RequestWork> WorkMeter::Of(std::span<const std::int64_t> submitted) {
  const sched::DimValues dims = model_.Alone(submitted);
  if (const auto it = remembered_.find(dims); it != remembered_.end()) return it->second;
  LEEWAY_ASSIGN_OR_RETURN(const std::optional<sched::GraphId> bound, model_.Bind(dims));
  const sched::GraphId graph = bound.value_or(model_.generic());
  LEEWAY_ASSIGN_OR_RETURN(auto bucket, model_.Costs(graph, model_.Padded(graph, dims)));
  sched::GraphId fused = graph;
  if (!bound) {
    LEEWAY_ASSIGN_OR_RETURN(const auto nearest, model_.Nearest(dims));
    fused = nearest.value_or(graph);
  }
  LEEWAY_ASSIGN_OR_RETURN(auto actual, model_.Costs(fused, dims));
  RequestWork work;
  work.at_bucket = bucket->core_time;
  work.at_dims = actual->core_time;
  if (remembered_.size() >= kMaxRemembered) remembered_.clear();
  remembered_[dims] = work;
  return work;
}

}  // namespace leeway::exec
