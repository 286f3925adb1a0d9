// Where a step would be finished soonest, on cores that take different times for it.
//
// Only in weighed domains: elsewhere a step takes equally long on every core it may run on and
// nothing has to be moved, so that whoever is free first finishes it first.

#include <algorithm>

#include "sched/scheduler.h"

namespace leeway::sched {

Nanos Scheduler::TimeOn(CoreId core, const Run& run, NodeId node) const {
  Nanos time = run.costs->expected(node, cores_[core.value()].core_class);
  if (run.nodes[node.value()].first) time += device_.run_launch;
  if (options_.moving) time += options_.moving(run, node, core);
  return time;
}

Nanos Scheduler::BusyFor(CoreId core) const {
  const Core& state = cores_[core.value()];
  if (state.in_flight.empty()) return Nanos{0};
  Nanos left = state.front_since - env_.Now();
  for (const StepRef& step : state.in_flight) left += TimeOn(core, runs_[step.run], step.node);
  // What has outlasted its time has not ended: it is somewhat later than now.
  return std::max(Nanos{1}, left);
}

Nanos Scheduler::FinishOn(CoreId core, const Run& run, NodeId node) const {
  return BusyFor(core) + TimeOn(core, run, node);
}

bool Scheduler::FinishesSooner(CoreId thief, CoreId from, Affinity affinity,
                               const StepRef& step) const {
  // A free step is left to no busy core: the device never idles for one.
  if (affinity == Affinity::kNone && !idle_.Contains(from)) return true;
  const Run* run = runs_.Live(step);
  // Of a run that has failed since: taken to be dropped.
  if (run == nullptr) return true;
  return FinishOn(thief, *run, step.node) < FinishOn(from, *run, step.node);
}

void Scheduler::WeighLane(CoreId thief, CoreId from, const LaneId& lane, Best& best) const {
  Key& left = idle_.Contains(from) ? best.left_to_idle : best.held;
  // A step that stays does not keep those behind it from moving.
  cores_[from.value()].ready.FindBest(lane, [&](Key key, const StepRef& step) {
    if (key >= best.choice.key) return true;
    if (FinishesSooner(thief, from, lane.affinity, step)) {
      best.choice.Set(from, lane, key);
      best.choice.one_step = true;
      best.choice.step = step;
      return true;
    }
    left = std::min(left, key);
    return false;
  });
}

CoreId Scheduler::SoonestFor(const Run& run, NodeId node, CoreId home) const {
  CoreId best = home;
  Nanos soonest = FinishOn(home, run, node);
  domains_[run.graph->nodes()[node.value()].domain].allowed.ForEach([&](CoreId core) {
    const Nanos finish = FinishOn(core, run, node);
    if (finish >= soonest) return;
    best = core;
    soonest = finish;
  });
  return best;
}

}  // namespace leeway::sched
