// Whether a request is predicted to meet its deadline, from the plan's costs and what is queued.

#include <algorithm>
#include <utility>

#include "sched/scheduler.h"

namespace leeway::sched {
namespace {

double WidthOf(const CostTable& table) {
  // HOST work is on the path and not of the work, so that less than a core may be wanted.
  if (table.soonest_path <= Nanos{0} || table.soonest_work <= Nanos{0}) return 1;
  return static_cast<double>(table.soonest_work.count()) /
         static_cast<double>(table.soonest_path.count());
}

}  // namespace

bool Scheduler::Late(RequestId newest, Nanos deadline) const {
  Forecast forecast(device_.accelerator_count(), options_.max_concurrent_runs, deadline);
  for (const RunLoad& run : LoadsInFlight()) {
    if (!forecast.Add(run)) return true;
  }
  bool late = false;
  batcher_.ForEachExpected([&](const ExpectedBatch& batch) {
    const std::optional<RunLoad> load = LoadOf(batch);
    // What cannot be predicted is let in, and ends as its batch will.
    late = load && !forecast.Add(*load);
    if (batch.newest == newest) {
      late = late || (load && !forecast.LastEndsInTime());
      return false;
    }
    return !late;
  });
  return late;
}

// On a core: HOST work takes none, and what is left of it is not counted.
Nanos Scheduler::PredictedStep(const Run& run, NodeId node) const {
  if (run.graph->nodes()[node.value()].host) return Nanos{0};
  const Nanos launch = run.nodes[node.value()].first ? device_.run_launch : Nanos{0};
  return run.costs->soonest[node.value()] + launch;
}

std::vector<RunLoad> Scheduler::LoadsInFlight() const {
  std::vector<Nanos> left(runs_.size());
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const Run& run = runs_[RunId(r)];
    if (run.state != Run::State::kLive) continue;
    left[r] = run.issued == Instant::Max() ? run.costs->soonest_work + device_.run_launch
                                           : Unlaunched(run, 0);
  }
  const Instant now = env_.Now();
  for (const Core& core : cores_) {
    for (std::size_t i = 0; i < core.in_flight.size(); ++i) {
      const StepRef& step = core.in_flight[i];
      const Nanos whole = PredictedStep(runs_[step.run], step.node);
      const Nanos gone = i == 0 ? now - core.front_since : Nanos{0};
      left[step.run.value()] += std::max(Nanos{0}, whole - gone);
    }
  }
  std::vector<RunLoad> loads;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const Run& run = runs_[RunId(r)];
    if (left[r] > Nanos{0}) loads.push_back({run.urgency, left[r], WidthOf(*run.costs)});
  }
  return loads;
}

Nanos Scheduler::Unlaunched(const Run& run, std::uint32_t frame) const {
  const CostTable& costs = *run.costs;
  const Frame& shape = run.graph->frames()[frame];
  Nanos left = run.frames[frame].rounds_left * costs.frame_work[frame];
  for (std::uint32_t n = shape.first; n < shape.first + shape.count; ++n) {
    const Node& node = run.graph->nodes()[n];
    const NodeState& state = run.nodes[n];
    if (node.call == nullptr) {
      const auto shards = static_cast<std::int64_t>(state.shards_unlaunched);
      left += shards * PredictedStep(run, NodeId(n));
    } else if (state.predecessors_left == 0) {
      left += Unlaunched(run, node.callee);
    } else if (costs.rounds[node.callee] > 0) {
      left += costs.times[node.callee] * costs.frame_work[node.callee];
    }
  }
  return left;
}

std::optional<RunLoad> Scheduler::LoadOf(const ExpectedBatch& batch) const {
  Model& model = *batch.first->model;
  const DimValues dims = model.Batch(batch.first->dims, static_cast<std::int64_t>(batch.members));
  GraphId graph = batch.first->graph;
  if (!graph.valid()) {
    const auto bound = model.Bind(dims);
    if (!bound.ok()) return std::nullopt;
    graph = bound->value_or(model.generic());
  }
  const auto costs = model.Costs(graph, model.Padded(graph, dims));
  if (!costs.ok()) return std::nullopt;
  return RunLoad{batch.first->urgency, (*costs)->soonest_work + device_.run_launch,
                 WidthOf(**costs)};
}

}  // namespace leeway::sched
