// Which steps become ready, and where they are queued.

#include <algorithm>

#include "base/check.h"
#include "sched/scheduler.h"

namespace leeway::sched {

void Scheduler::StartFrame(Cascade& cascade, std::uint32_t frame) {
  Run& run = runs_[cascade.run];
  const std::int64_t times = run.costs->times[frame];
  // However often it would repeat, a body that launches nothing is over at once.
  if (times <= 0 || run.costs->frame_steps[frame] == 0) {
    if (frame == 0) {
      cascade.run_over = true;
    } else {
      cascade.ended.push_back(NodeId(run.graph->frames()[frame].parent));
    }
    return;
  }
  run.frames[frame].rounds_left = times;
  StartRound(cascade, frame);
}

void Scheduler::StartRound(Cascade& cascade, std::uint32_t frame) {
  Run& run = runs_[cascade.run];
  const Frame& shape = run.graph->frames()[frame];
  FrameState& state = run.frames[frame];
  last_round_ = {cascade.run, run.generation, frame, last_round_.number + 1};
  --state.rounds_left;
  ++state.round;
  state.nodes_left = shape.count;
  for (std::uint32_t n = shape.first; n < shape.first + shape.count; ++n) {
    run.nodes[n] = NodeState();
    run.nodes[n].predecessors_left = run.graph->nodes()[n].predecessor_count;
    run.nodes[n].shards_left = run.costs->shards[n];
    run.nodes[n].shards_unlaunched = run.costs->shards[n];
  }
  for (std::uint32_t n = shape.first; n < shape.first + shape.count; ++n) {
    if (run.graph->nodes()[n].predecessor_count == 0) Release(cascade, NodeId(n), NodeId::None());
  }
}

void Scheduler::Release(Cascade& cascade, NodeId node, NodeId by) {
  Run& run = runs_[cascade.run];
  const Node& shape = run.graph->nodes()[node.value()];
  run.nodes[node.value()].first = cascade.starting && !shape.host;
  if (shape.call == nullptr && !shape.host) run.on_device = true;
  if (observer_) observer_->OnReady(cascade.run, run, node, by);
  if (run.nodes[node.value()].released_early) return;
  if (shape.call != nullptr) return StartFrame(cascade, shape.callee);
  PushShards(cascade, node);
}

void Scheduler::PushShards(const Cascade& cascade, NodeId node) {
  const Run& run = runs_[cascade.run];
  const Node& shape = run.graph->nodes()[node.value()];
  const Key key = order_.KeyOf(run.urgency, shape.criticality);
  const LaneId lane{shape.domain, shape.mode == plan::PlacementMode::kPreferred ? Affinity::kPlanned
                                                                                : Affinity::kNone};
  StepRef step;
  step.run = cascade.run;
  step.node = node;
  step.generation = run.generation;
  step.round = run.frames[shape.frame].round;
  for (step.shard = 0; step.shard < run.costs->shards[node.value()]; ++step.shard) {
    CoreId home = HomeOf(shape, step.shard, cascade.near);
    if (domains_[shape.domain].weighed) home = SoonestFor(run, node, home);
    Enqueue(home, lane, key, step);
  }
  order_.Readied();
  // With a launch depth a busy core may still have room for what no idle one can start.
  const CoreSet& allowed = domains_[shape.domain].allowed;
  const CoreSet idle = allowed & idle_;
  env_.Wake(idle.empty() ? allowed & room_ : idle);
}

CoreId Scheduler::HomeOf(const Node& node, std::uint32_t shard, CoreId near) const {
  if (!node.planned.empty()) return node.planned[shard % node.planned.size()];
  const CoreSet& allowed = domains_[node.domain].allowed;
  // The first shard stays where its input was made; the others would only have to be stolen.
  if ((shard == 0 || order_.own_first()) && near.valid() && allowed.Contains(near)) return near;
  CoreId home;
  std::size_t least = 0;
  allowed.ForEach([&](CoreId core) {
    const Core& state = cores_[core.value()];
    const std::size_t load = state.ready.size() + state.in_flight.size();
    if (home.valid() && load >= least) return;
    home = core;
    least = load;
  });
  LEEWAY_CHECK(home.valid());
  return home;
}

void Scheduler::Follow(Cascade& cascade) {
  while (!cascade.ended.empty()) {
    const NodeId node = cascade.ended.back();
    cascade.ended.pop_back();
    TellSuccessors(cascade, node);
    Run& run = runs_[cascade.run];
    const std::uint32_t frame = run.graph->nodes()[node.value()].frame;
    if (--run.frames[frame].nodes_left == 0) EndRound(cascade, frame, node);
  }
  if (cascade.run_over) EndRun(cascade.run, Outcome::kOk);
}

void Scheduler::TellSuccessors(Cascade& cascade, NodeId node) {
  Run& run = runs_[cascade.run];
  for (std::uint32_t s : run.graph->successors(run.graph->nodes()[node.value()])) {
    if (--run.nodes[s].predecessors_left == 0) Release(cascade, NodeId(s), node);
  }
}

void Scheduler::EndRound(Cascade& cascade, std::uint32_t frame, NodeId last) {
  Run& run = runs_[cascade.run];
  if (observer_) observer_->OnRoundEnded(cascade.run, run, frame, last);
  if (run.frames[frame].rounds_left > 0) return StartRound(cascade, frame);
  if (frame == 0) {
    cascade.run_over = true;
  } else {
    cascade.ended.push_back(NodeId(run.graph->frames()[frame].parent));
  }
}

bool Scheduler::alone() const {
  if (runs_.live() != 1 || batcher_.waiting() > 0 || !deferred_.empty()) return false;
  return std::all_of(cores_.begin(), cores_.end(), [](const Core& core) {
    return core.ready.size() == 0 && core.chained.empty();
  });
}

std::int64_t Scheduler::rounds_left(const Round& round) const {
  const Run& run = runs_[round.run];
  const bool live = run.state == Run::State::kLive && run.generation == round.generation;
  return live ? run.frames[round.frame].rounds_left : 0;
}

void Scheduler::Repeat(const Round& round, std::int64_t rounds, Nanos period,
                       const Counters& before) {
  for (Core& core : cores_) core.front_since += rounds * period;
  // The number of the repetition stays: steps in flight are known by it.
  runs_[round.run].frames[round.frame].rounds_left -= rounds;
  const auto times = static_cast<std::uint64_t>(rounds);
  counters_.steps += times * (counters_.steps - before.steps);
  counters_.steals += times * (counters_.steals - before.steals);
}

}  // namespace leeway::sched
