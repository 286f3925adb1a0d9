// One core: its completions, and what it takes next.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sched/scheduler.h"

namespace leeway::sched {

void Scheduler::Complete(CoreId core, StepRef step, StepOutcome outcome) {
  LEEWAY_CHECK(core.value() < inboxes_.size());
  inboxes_[core.value()].Put({step, outcome});
}

void Scheduler::Pump(CoreId core) {
  inboxes_[core.value()].Take(completed_);
  for (const Completion& completion : completed_) Retire(core, completion);
  completed_.clear();
  const Instant now = env_.Now();
  if (batch_timer_ <= now) {
    batch_timer_ = Instant::Max();
    CloseBatches();
  }
  if (issue_timer_ <= now) {
    issue_timer_ = Instant::Max();
    IssueRuns();
  }
  Core& self = cores_[core.value()];
  while (self.in_flight.size() < self.launch_depth) {
    StepRef step;
    if (!TakeBest(core, step)) return;
    LaunchStep(core, step);
  }
}

void Scheduler::Retire(CoreId core, const Completion& completion) {
  std::vector<StepRef>& in_flight = cores_[core.value()].in_flight;
  const StepRef& step = completion.step;
  // Late, doubled, or from an earlier tenant of the run: not in flight here.
  const auto found = std::find(in_flight.begin(), in_flight.end(), step);
  if (found == in_flight.end()) {
    ++counters_.stray_completions;
    return;
  }
  in_flight.erase(found);
  room_.Add(core);
  if (in_flight.empty()) {
    idle_.Add(core);
  } else if (watches_fronts_) {
    cores_[core.value()].front_since = env_.Now();
    // The step that has ended may have been late: what was held for this core may end sooner
    // elsewhere now.
    if (weighs_ && cores_[core.value()].ready.size() > 0) env_.Wake(idle_);
  }
  if (observer_) observer_->OnRetired(core, step);
  Run& run = runs_[step.run];
  --run.steps_in_flight;
  if (completion.outcome == StepOutcome::kFailed) run.state = Run::State::kFailed;
  if (run.state == Run::State::kFailed) {
    if (run.steps_in_flight == 0) EndRun(step.run, Outcome::kFailed);
    return;
  }
  if (--run.nodes[step.node.value()].shards_left > 0) return;
  Cascade cascade;
  cascade.run = step.run;
  cascade.near = core;
  cascade.starting = !launches_ && !run.on_device;
  cascade.ended.push_back(step.node);
  Follow(cascade);
}

bool Scheduler::MayTake(CoreId thief, CoreId from, const LaneId& lane) const {
  if (lane.affinity == Affinity::kNone || from == thief) return true;
  // A planned core that is idle has been woken for the step; a busy one would start it later than
  // the thief, for whom nothing has to be moved: tensors are in DRAM.
  return !idle_.Contains(from);
}

void Scheduler::LearnDomains() {
  for (; known_domains_ < domains_.size(); ++known_domains_) {
    const DomainId domain(known_domains_);
    weighs_ = weighs_ || domains_[domain].weighed;
    domains_[domain].allowed.ForEach(
        [&](CoreId core) { cores_[core.value()].domains.push_back(domain); });
  }
}

Scheduler::Best Scheduler::BestChoice(CoreId core) const {
  Best best;
  const bool extra = !cores_[core.value()].in_flight.empty();
  // From the core itself upwards and round. Ties stay at home: a steal must buy urgency or
  // criticality, not only balance.
  stocked_.ForEachFrom(core, [&](CoreId queue) {
    const ReadyQueue& ready = cores_[queue.value()].ready;
    // Nothing that would be taken or missed.
    if (ready.best() >= best.choice.key) return;
    for (DomainId domain : cores_[core.value()].domains) {
      // Nothing is queued behind a running step while another core could start it now.
      if (extra && !(domains_[domain].allowed & idle_).empty()) continue;
      for (Affinity affinity : {Affinity::kNone, Affinity::kPlanned}) {
        const LaneId lane{domain, affinity};
        const Key key = ready.best(lane);
        if (key >= best.choice.key) continue;
        if (queue != core && domains_[domain].weighed) {
          WeighLane(core, queue, lane, best);
        } else if (MayTake(core, queue, lane)) {
          best.choice.Set(queue, lane, key);
        } else {
          best.left_to_idle = std::min(best.left_to_idle, key);
        }
      }
    }
  });
  return best;
}

Scheduler::Best Scheduler::OwnFirst(CoreId core) const {
  Best best;
  const bool extra = !cores_[core.value()].in_flight.empty();
  stocked_.ForEachFrom(core, [&](CoreId queue) {
    // The first queue that has any, its own before all.
    if (best.choice.key.valid() && best.choice.queue != queue) return;
    const ReadyQueue& ready = cores_[queue.value()].ready;
    for (DomainId domain : cores_[core.value()].domains) {
      if (extra && !(domains_[domain].allowed & idle_).empty()) continue;
      for (Affinity affinity : {Affinity::kNone, Affinity::kPlanned}) {
        const LaneId lane{domain, affinity};
        const Key key = queue == core ? ready.best(lane) : ready.worst(lane);
        if (!key.valid() || !MayTake(core, queue, lane)) continue;
        if (best.choice.key.valid() && (queue == core) == (key >= best.choice.key)) continue;
        best.choice.Set(queue, lane, key);
      }
    }
  });
  return best;
}

bool Scheduler::Take(CoreId core, const Choice& choice, StepRef& step) {
  ReadyQueue& from = cores_[choice.queue.value()].ready;
  if (choice.queue == core) {
    step = from.Pop(choice.lane);
  } else if (choice.one_step) {
    step = choice.step;
    from.Remove(choice.lane, choice.key, step);
    ++counters_.steals;
  } else {
    // A step with a planned core moves alone; others move by half a class, to save coming back.
    std::vector<StepRef> taken;
    if (order_.own_first()) {
      taken.push_back(from.PopWorst(choice.lane));
    } else if (choice.lane.affinity == Affinity::kPlanned) {
      taken.push_back(from.Pop(choice.lane));
    } else {
      taken = from.PopHalf(choice.lane);
    }
    ++counters_.steals;
    step = taken.front();
    for (std::size_t i = 1; i < taken.size(); ++i) Enqueue(core, choice.lane, choice.key, taken[i]);
  }
  if (from.size() == 0) stocked_.Remove(choice.queue);
  return runs_.Live(step) != nullptr;
}

bool Scheduler::TakeBest(CoreId core, StepRef& step) {
  while (true) {
    const Best best = order_.own_first() ? OwnFirst(core) : BestChoice(core);
    const Choice& choice = best.choice;
    // A core never starts a less urgent step than one it leaves to an idle core: that one might
    // take something better yet. It comes back when the other has launched. Urgency rises along
    // such deferrals, so that somebody always launches.
    if (choice.key.valid() && best.left_to_idle.valid() &&
        best.left_to_idle.urgency() < choice.key.urgency()) {
      deferred_.Add(core);
      return false;
    }
    if (!cores_[core.value()].chained.empty()) {
      if (const auto chained = TakeChained(core, choice.key)) {
        step = *chained;
        return true;
      }
    }
    if (!choice.key.valid()) return false;
    // Steps of a run that has failed since are dropped on the way.
    if (Take(core, choice, step)) {
      if (best.held.valid() && best.held.urgency() < choice.key.urgency()) ++counters_.holds;
      return true;
    }
    // Others may have left this core what it has just dropped.
    if (!deferred_.empty()) env_.Wake(std::exchange(deferred_, CoreSet()));
  }
}

bool Scheduler::ChainsOn(const Run& run, NodeId node, CoreId core) const {
  const Node& shape = run.graph->nodes()[node.value()];
  const NodeState& state = run.nodes[node.value()];
  if (shape.call != nullptr || state.released_early || state.predecessors_left == 0 ||
      run.costs->shards[node.value()] != 1 || !domains_[shape.domain].allowed.Contains(core)) {
    return false;
  }
  if (shape.mode == plan::PlacementMode::kPreferred && HomeOf(shape, 0, core) != core) return false;
  for (std::uint32_t p : run.graph->predecessors(shape)) {
    const NodeState& predecessor = run.nodes[p];
    if (run.graph->nodes()[p].call != nullptr || predecessor.shards_unlaunched > 0) return false;
    if (predecessor.shards_left > 0 && predecessor.core != core) return false;
  }
  return true;
}

void Scheduler::OfferChained(CoreId core, const StepRef& launched) {
  const Run& run = runs_[launched.run];
  for (std::uint32_t s : run.graph->successors(run.graph->nodes()[launched.node.value()])) {
    if (!ChainsOn(run, NodeId(s), core)) continue;
    StepRef step = launched;
    step.node = NodeId(s);
    step.shard = 0;
    cores_[core.value()].chained.push_back(step);
  }
}

std::optional<StepRef> Scheduler::TakeChained(CoreId core, Key limit) {
  std::vector<StepRef>& chained = cores_[core.value()].chained;
  auto stale = [&](const StepRef& step) {
    const Run* run = runs_.Live(step);
    return run == nullptr ||
           run->frames[run->graph->nodes()[step.node.value()].frame].round != step.round ||
           !ChainsOn(*run, step.node, core);
  };
  chained.erase(std::remove_if(chained.begin(), chained.end(), stale), chained.end());
  auto key_of = [&](const StepRef& step) {
    const Run& run = runs_[step.run];
    return order_.KeyOf(run.urgency, run.graph->nodes()[step.node.value()].criticality);
  };
  const auto best =
      std::min_element(chained.begin(), chained.end(),
                       [&](const StepRef& a, const StepRef& b) { return key_of(a) < key_of(b); });
  if (best == chained.end() || key_of(*best) > limit) return std::nullopt;
  const StepRef step = *best;
  chained.erase(best);
  runs_[step.run].nodes[step.node.value()].released_early = true;
  return step;
}

void Scheduler::LaunchStep(CoreId core, const StepRef& step) {
  Core& self = cores_[core.value()];
  Run& run = runs_[step.run];
  NodeState& node = run.nodes[step.node.value()];
  node.core = node.shards_unlaunched == run.costs->shards[step.node.value()] || node.core == core
                  ? core
                  : CoreId::None();
  --node.shards_unlaunched;
  ++run.steps_in_flight;
  ++counters_.steps;
  order_.Started(run.urgency);
  self.in_flight.push_back(step);
  if (watches_fronts_ && self.in_flight.size() == 1) self.front_since = env_.Now();
  idle_.Remove(core);
  if (self.in_flight.size() >= self.launch_depth) room_.Remove(core);
  if (self.launch_depth > 1 && node.shards_unlaunched == 0) OfferChained(core, step);
  if (observer_) observer_->OnLaunch(core, step);
  env_.Launch(core, step);
  // The core has just become busy: what is planned here may now start sooner elsewhere.
  if (self.ready.planned() > 0 || (weighs_ && self.ready.size() > 0)) env_.Wake(idle_);
  if (!deferred_.empty()) env_.Wake(std::exchange(deferred_, CoreSet()));
}

}  // namespace leeway::sched
