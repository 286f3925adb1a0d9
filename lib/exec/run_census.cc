#include "exec/run_census.h"

#include <algorithm>

#include "base/status_macros.h"
#include "device/reality.h"
#include "sched/model.h"

namespace leeway::exec {
namespace {

bool Rebound(const sched::Run& run) {
  return std::any_of(run.members.begin(), run.members.end(), [&](const sched::Request& member) {
    return member.graph.valid() && member.graph != run.graph_id;
  });
}

}  // namespace

Status RunCensus::Describe(const sched::Run& run, Row& row) {
  sched::Model& model = *run.members.front().model;
  // Of the modelled device, whichever serves.
  LEEWAY_ASSIGN_OR_RETURN(const auto costs, model.Costs(run.graph_id, run.costs->dims));
  const std::vector<std::uint64_t>& keys = model.OpKeys(run.graph_id);
  for (std::uint32_t n = 0; n < run.graph->nodes().size(); ++n) {
    const sched::Node& node = run.graph->nodes()[n];
    telemetry::ExecutedSteps steps;
    if (node.call == nullptr) {
      const device::StepCost& cost = costs->cost(sched::NodeId(n), costs->first_class[n]);
      steps.fallback = node.group == nullptr;
      steps.op_key = keys[n];
      steps.size_quarter = device::SizeQuarter(cost);
      steps.planned = costs->predicted[n];
      steps.launch = cost.launch;
      steps.modelled = cost.launch + costs->alone_first(n);
      steps.steps = static_cast<std::uint64_t>(costs->rounds[node.frame]) * costs->shards[n];
    }
    row.nodes.push_back(steps);
  }
  return Status();
}

Status RunCensus::Add(const sched::Run& run, std::uint32_t plan,
                      std::span<const std::uint32_t> displaced) {
  if (windows_.empty()) return Status();
  const auto after = std::upper_bound(windows_.begin() + 1, windows_.end(), run.started);
  const auto window = static_cast<std::uint32_t>(after - windows_.begin() - 1);
  Row& row = rows_[Key(window, plan, run.graph_id, Rebound(run), run.costs->dims)];
  if (row.runs == 0) LEEWAY_RETURN_IF_ERROR(Describe(run, row));
  ++row.runs;
  for (std::size_t n = 0; n < displaced.size(); ++n) row.nodes[n].displaced += displaced[n];
  return Status();
}

std::vector<telemetry::ExecutedSteps> RunCensus::Steps() const {
  std::vector<telemetry::ExecutedSteps> all;
  for (const auto& [key, row] : rows_) {
    for (telemetry::ExecutedSteps steps : row.nodes) {
      if (steps.steps == 0) continue;
      steps.window = std::get<0>(key);
      steps.plan = std::get<1>(key);
      steps.rebound = std::get<3>(key);
      steps.steps *= row.runs;
      all.push_back(steps);
    }
  }
  return all;
}

}  // namespace leeway::exec
