// What becomes ready in the brute-force simulator, and which core takes it.

#include <algorithm>
#include <functional>

#include "tests/exec/oracle_simulator.h"

namespace leeway::testing::oracle {

void Simulator::StartBody(Cascade& cascade, std::size_t frame) {
  Run& run = runs_[cascade.run];
  const std::size_t caller = run.graph->frames[frame].caller;
  const std::int64_t times =
      caller == kNone ? 1 : run.graph->nodes[caller].call->times(run.costs->dims);
  // What launches nothing takes no time, however often it would repeat.
  std::function<bool(std::size_t)> launches = [&](std::size_t f) {
    const Frame& shape = run.graph->frames[f];
    for (std::size_t n = shape.first; n < shape.first + shape.count; ++n) {
      const Node& node = run.graph->nodes[n];
      if (node.call == nullptr) return true;
      if (node.call->times(run.costs->dims) > 0 && launches(node.body)) return true;
    }
    return false;
  };
  run.frames[frame].rounds_left = times;
  if (times <= 0 || !launches(frame)) {
    run.frames[frame].rounds_left = 0;
    return EndBody(cascade, frame);
  }
  StartRound(cascade, frame);
}

void Simulator::EndBody(Cascade& cascade, std::size_t frame) {
  const std::size_t caller = runs_[cascade.run].graph->frames[frame].caller;
  if (caller == kNone) {
    cascade.over = true;
  } else {
    cascade.ended.push_back(caller);
  }
}

void Simulator::StartRound(Cascade& cascade, std::size_t frame) {
  Run& run = runs_[cascade.run];
  const Frame& shape = run.graph->frames[frame];
  --run.frames[frame].rounds_left;
  ++run.frames[frame].round;
  run.frames[frame].nodes_left = shape.count;
  for (std::size_t n = shape.first; n < shape.first + shape.count; ++n) {
    const Node& node = run.graph->nodes[n];
    NodeState state;
    state.inputs_left = node.before.size();
    const std::int64_t shards = node.shards ? (*node.shards)(run.costs->dims) : 1;
    state.shards_left = state.unlaunched = static_cast<std::size_t>(shards);
    run.nodes[n] = state;
  }
  for (std::size_t n = shape.first; n < shape.first + shape.count; ++n) {
    if (run.graph->nodes[n].before.empty()) Release(cascade, n);
  }
}

void Simulator::Release(Cascade& cascade, std::size_t n) {
  Run& run = runs_[cascade.run];
  const Node& node = run.graph->nodes[n];
  run.nodes[n].first = cascade.starting && !node.host;
  if (!node.host && node.call == nullptr) run.on_device = true;
  if (run.nodes[n].ahead) return;
  if (node.call != nullptr) return StartBody(cascade, node.body);
  for (std::size_t shard = 0; shard < run.nodes[n].unlaunched; ++shard) {
    std::size_t home = HomeOf(node, shard, cascade.near);
    if (node.weighed) home = SoonestFor(run, n, home);
    cores_[home].queue.push_back({cascade.run, n, shard, run.frames[node.frame].round});
  }
  const bool any_idle = AnyIdle(node);
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const bool room = cores_[c].in_flight.size() < cores_[c].depth;
    if (node.allowed[c] && (any_idle ? Idle(c) : room)) asked_.insert(c);
  }
}

// On its planned core; else the first shard where its input was made, the others where least waits.
std::size_t Simulator::HomeOf(const Node& node, std::size_t shard, std::size_t near) const {
  if (!node.planned.empty()) return node.planned[shard % node.planned.size()];
  if (shard == 0 && near != kNone && node.allowed[near]) return near;
  std::size_t home = kNone, least = 0;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const std::size_t load = cores_[c].queue.size() + cores_[c].in_flight.size();
    if (!node.allowed[c] || (home != kNone && load >= least)) continue;
    home = c;
    least = load;
  }
  return home;
}

// Where it would be finished first; ties at home, then on the lowest core.
std::size_t Simulator::SoonestFor(const Run& run, std::size_t n, std::size_t home) const {
  std::size_t best = home;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    if (run.graph->nodes[n].allowed[c] && FinishOn(c, run, n) < FinishOn(best, run, n)) best = c;
  }
  return best;
}

// The node that ended last is followed first.
void Simulator::Follow(Cascade& cascade) {
  while (!cascade.ended.empty()) {
    const std::size_t ended = cascade.ended.back();
    cascade.ended.pop_back();
    Run& run = runs_[cascade.run];
    for (std::size_t s : run.graph->nodes[ended].after) {
      if (--run.nodes[s].inputs_left == 0) Release(cascade, s);
    }
    const std::size_t frame = run.graph->nodes[ended].frame;
    if (--run.frames[frame].nodes_left > 0) continue;
    if (run.frames[frame].rounds_left > 0) {
      StartRound(cascade, frame);
    } else {
      EndBody(cascade, frame);
    }
  }
  if (cascade.over) EndRun(cascade.run);
}

// ---- Cores.

bool Simulator::AnyIdle(const Node& node) const {
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    if (node.allowed[c] && Idle(c)) return true;
  }
  return false;
}

// What a shard takes on the core, launches included.
Time Simulator::TimeOn(std::size_t core, const Run& run, std::size_t node) const {
  const std::size_t at = node * run.costs->classes + cores_[core].of_class;
  const Nanos time = run.costs->costs[at].launch + run.costs->alone[at];
  return (time + (run.nodes[node].first ? config_.device->run_launch : Nanos{0})).count();
}

// From now on: what is in flight there, which has not ended and takes another nanosecond at least,
// then the step itself. What waits in the core's queue does not count.
Time Simulator::FinishOn(std::size_t c, const Run& run, std::size_t node) const {
  const Core& core = cores_[c];
  if (Idle(c)) return TimeOn(c, run, node);
  Time free = core.front_since;
  for (const Step& s : core.in_flight) free += TimeOn(c, runs_[s.run], s.node);
  return std::max(free - now_, Time{1}) + TimeOn(c, run, node);
}

// Whether a core may take a step from the queue of another one.
bool Simulator::MayMove(const Step& step, std::size_t from, std::size_t to) const {
  const Node& node = NodeOf(step);
  // What is planned for an idle core is left to it; where cores differ, a step is left to whoever
  // finishes it no later. A free step is left to no busy core.
  if (!node.weighed) return !node.preferred || !Idle(from);
  if (!node.preferred && !Idle(from)) return true;
  // Of a run that was cancelled: to be dropped.
  if (!Alive(step)) return true;
  const Run& run = runs_[step.run];
  return FinishOn(to, run, step.node) < FinishOn(from, run, step.node);
}

// The best key anywhere; ties at home, then on the next core round the device; of one core's steps
// the domain that was named first, free before preferred, first come.
Simulator::Found Simulator::FindBest(std::size_t core) const {
  Found found;
  auto best = std::tuple(kWorst, kNone, kNone, true);
  for (std::size_t away = 0; away < cores_.size(); ++away) {
    const std::size_t q = (core + away) % cores_.size();
    for (std::size_t i = 0; i < cores_[q].queue.size(); ++i) {
      const Step& step = cores_[q].queue[i];
      const Node& node = NodeOf(step);
      if (!node.allowed[core]) continue;
      // Nothing is launched behind a running step while another core could start it now.
      if (!Idle(core) && AnyIdle(node)) continue;
      if (away > 0 && !MayMove(step, q, core)) {
        Key& left = Idle(q) ? found.left_to_idle : found.held;
        left = std::min(left, KeyOf(step));
        continue;
      }
      const auto rank = std::tuple(KeyOf(step), away, node.domain, node.preferred);
      if (rank >= best) continue;
      best = rank;
      found.queue = q;
      found.index = i;
      found.key = KeyOf(step);
    }
  }
  return found;
}

// Every unfinished input was launched on this in-order core before.
bool Simulator::FollowsOn(const Run& run, std::size_t n, std::size_t core) const {
  const Node& node = run.graph->nodes[n];
  const NodeState& state = run.nodes[n];
  if (node.call != nullptr || state.ahead || state.inputs_left == 0 || state.shards_left != 1 ||
      !node.allowed[core]) {
    return false;
  }
  if (node.preferred && HomeOf(node, 0, core) != core) return false;
  for (std::size_t p : node.before) {
    if (run.graph->nodes[p].call != nullptr || run.nodes[p].unlaunched > 0) return false;
    if (run.nodes[p].shards_left > 0 && run.nodes[p].core != core) return false;
  }
  return true;
}

// Of what may follow here, the index of the best.
std::size_t Simulator::BestNext(std::size_t core) {
  std::vector<Step>& next = cores_[core].next;
  std::erase_if(next, [&](const Step& s) {
    return !Alive(s) || runs_[s.run].frames[NodeOf(s).frame].round != s.round ||
           !FollowsOn(runs_[s.run], s.node, core);
  });
  std::size_t best = kNone;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (best == kNone || KeyOf(next[i]) < KeyOf(next[best])) best = i;
  }
  return best;
}

// Where nobody needs to be asked: whether there is a step, or the rest of a run that has ended,
// that the core would take.
bool Simulator::MayLaunch(std::size_t core) {
  if (!Idle(core)) return false;
  const Found found = FindBest(core);
  return found.queue != kNone && found.left_to_idle.first >= found.key.first;
}

std::optional<Step> Simulator::TakeFound(std::size_t core, const Found& found) {
  std::vector<Step>& from = cores_[found.queue].queue;
  const Step first = from[found.index];
  std::size_t take = 1;
  if (found.queue != core) {
    ++result_.steals;
    auto alike = [&](const Step& s) {
      return KeyOf(s) == found.key && NodeOf(s).domain == NodeOf(first).domain &&
             NodeOf(s).preferred == NodeOf(first).preferred;
    };
    // Half of its class, rounded up; a step with a planned core, or that was weighed, moves alone.
    const auto there = static_cast<std::size_t>(std::count_if(from.begin(), from.end(), alike));
    if (!NodeOf(first).preferred && !NodeOf(first).weighed) take = (there + 1) / 2;
    std::vector<Step> stay, go;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool goes = i >= found.index && alike(from[i]) && go.size() < take;
      (goes ? go : stay).push_back(from[i]);
    }
    from = stay;
    cores_[core].queue.insert(cores_[core].queue.end(), go.begin() + 1, go.end());
  } else {
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(found.index));
  }
  return Alive(first) ? std::optional(first) : std::nullopt;
}

std::optional<Step> Simulator::Take(std::size_t core) {
  while (true) {
    const Found found = FindBest(core);
    // Never a less urgent step than one that is left to an idle core.
    if (found.queue != kNone && found.left_to_idle.first < found.key.first) {
      deferred_.insert(core);
      return std::nullopt;
    }
    if (const std::size_t next = BestNext(core); next != kNone) {
      const Step step = cores_[core].next[next];
      if (KeyOf(step) <= found.key) {
        cores_[core].next.erase(cores_[core].next.begin() + static_cast<std::ptrdiff_t>(next));
        runs_[step.run].nodes[step.node].ahead = true;
        return step;
      }
    }
    if (found.queue == kNone) return std::nullopt;
    if (const auto step = TakeFound(core, found)) {
      result_.holds += found.held.first < found.key.first;
      return step;
    }
    asked_.merge(std::exchange(deferred_, {}));
  }
}

void Simulator::Launch(std::size_t c, const Step& step) {
  Core& core = cores_[c];
  Run& run = runs_[step.run];
  NodeState& node = run.nodes[step.node];
  const bool together = node.core == kNone || node.core == c;
  node.core = together ? c : cores_.size();  // of several cores: none there is
  --node.unlaunched;
  ++run.in_flight;
  core.in_flight.push_back(step);
  if (core.in_flight.size() == 1) core.front_since = now_;
  if (core.depth > 1 && node.unlaunched == 0) {
    for (std::size_t s : NodeOf(step).after) {
      if (FollowsOn(run, s, c)) core.next.push_back({step.run, s, 0, step.round});
    }
  }
  const bool may_leave = std::any_of(core.queue.begin(), core.queue.end(),
                                     [&](const Step& s) { return weighs_ || NodeOf(s).preferred; });
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    if (may_leave && Idle(other)) asked_.insert(other);
  }
  asked_.merge(std::exchange(deferred_, {}));
}

void Simulator::Retire(std::size_t c) {
  Core& core = cores_[c];
  const Step step = core.in_flight.front();
  core.in_flight.erase(core.in_flight.begin());
  core.front_since = now_;
  // The step may have been late: what is held for this core may end sooner elsewhere now.
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    const bool held_here = weighs_ && !Idle(c) && !core.queue.empty();
    if (held_here && Idle(other)) asked_.insert(other);
  }
  core.phase = Core::Phase::kNothing;
  Run& run = runs_[step.run];
  --run.in_flight;
  if (run.failed) {
    if (run.in_flight == 0) EndRun(step.run);
    return;
  }
  if (--run.nodes[step.node].shards_left > 0) return;
  Cascade cascade;
  cascade.run = step.run;
  cascade.near = c;
  cascade.starting = !run.on_device;
  cascade.ended.push_back(step.node);
  Follow(cascade);
}

// A core takes its completion, closes what has become due, launches what it may.
void Simulator::Look(std::size_t c) {
  if (cores_[c].phase == Core::Phase::kDone) Retire(c);
  if (timer_ <= now_) {
    timer_ = kNever;
    CloseDue();
  }
  while (cores_[c].in_flight.size() < cores_[c].depth) {
    const std::optional<Step> step = Take(c);
    if (!step) break;
    Launch(c, *step);
  }
  if (cores_[c].phase == Core::Phase::kNothing && !cores_[c].in_flight.empty()) Begin(c);
}

// The first core that has something to do. Where none launches ahead and no step is held that is
// whoever could; else those that were asked: what may be launched ahead need not be, and what was
// held for a run that is cancelled since is dropped by whoever looks next.
std::size_t Simulator::WhoLooks() {
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const bool done = cores_[c].phase == Core::Phase::kDone;
    const bool timer = c == 0 && timer_ <= now_;
    if (asks_ ? asked_.count(c) > 0 : done || timer || MayLaunch(c)) return c;
  }
  return kNone;
}

}  // namespace leeway::testing::oracle
