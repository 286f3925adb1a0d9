#include "exec/simulated_world.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "base/math.h"
#include "device/kept_weights.h"
#include "sched/run_graph.h"

namespace leeway::exec {

using sched::CoreId;
using sched::StepRef;

SimulatedWorld::SimulatedWorld(const device::Spec& device, StepListener* listener,
                               CoreClocks::Heat heat)
    : device_(device),
      listener_(listener),
      link_(device.dram_rate(), device.core_count()),
      cores_(device.core_count()),
      fetched_byte_pj_(device.event_energy().dram_byte + device.event_energy().sram_byte),
      phase_end_(device.core_count()),
      use_(device.core_count()),
      clocks_(CoreClocks::Create(device, heat)) {
  if (device.dram_arbitration == device::Arbitration::kRandomPriority) {
    lots_ = std::make_unique<device::SharedLink>(device.dram_rate(), device.core_count());
  }
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    class_of_.push_back(device.ClassOf(static_cast<device::CoreIndex>(c)));
  }
  if (std::any_of(device.classes.begin(), device.classes.end(),
                  [](const device::CoreClass& of) { return of.resident_bytes > 0; })) {
    for (std::size_t c : class_of_) held_.emplace_back(device.classes[c].resident_bytes);
  }
}

void SimulatedWorld::Launch(CoreId core, StepRef step) {
  Core& state = cores_[core.value()];
  state.launched.push_back(step);
  // Behind another launch the step begins once that one has finished and been retired.
  if (state.launched.size() == 1) Begin(core.value());
}

void SimulatedWorld::SetTimer(CoreId core, Instant due) {
  timers_.push({std::max(due, now_), core.value()});
}

void SimulatedWorld::Ended(sched::RunId run) {
  if (listener_) listener_->OnRunEnded(run);
}

void SimulatedWorld::Begin(std::size_t c) {
  Core& core = cores_[c];
  const StepRef& step = core.launched.front();
  const sched::Run& run = scheduler_->run(step.run);
  core.cost = run.costs->cost(step.node, class_of_[c]);
  // A run's first steps wait for the launch of the run itself.
  if (run.nodes[step.node.value()].first) core.cost.launch += device_.run_launch;
  if (!held_.empty()) UseWeights(c, run, step.node);
  if (clocks_) {
    if (period_end_ == Instant::Max()) period_end_ = clocks_->WakeAt(now_);
    clocks_->Begin(c, core.cost);
  }
  core.began = now_;
  if (core.fetch_bytes > 0) {
    core.phase = Phase::kLaunch;
    phase_end_.Set(c, now_ + core.cost.launch + device_.classes[class_of_[c]].dma_latency);
  } else {
    core.phase = Phase::kHead;
    phase_end_.Set(c, now_ + core.cost.launch + core.cost.fill);
  }
  if (listener_) listener_->OnStarted(CoreId(c), step);
}

std::int64_t SimulatedWorld::MissingBytes(std::size_t c, const sched::Run& run,
                                          sched::NodeId node) const {
  std::int64_t bytes = 0;
  for (const sched::NodeWeight& of : run.graph->weights(run.graph->nodes()[node.value()])) {
    if (!of.users.Contains(CoreId(c))) continue;
    if (!of.kept.Contains(CoreId(c)) || !held_[c].Holds(of.weight.key)) bytes += of.weight.bytes;
  }
  return bytes;
}

Nanos SimulatedWorld::FetchAlone(std::size_t c, std::int64_t bytes) const {
  return device::FetchAlone(bytes, device_.classes[class_of_[c]], device_.dram_rate());
}

Nanos SimulatedWorld::FetchTime(const sched::Run& run, sched::NodeId node, CoreId core) const {
  if (held_.empty()) return Nanos{0};
  const Core& state = cores_[core.value()];
  if (state.phase != Phase::kIdle && state.launched.front().node == node &&
      &scheduler_->run(state.launched.front().run) == &run) {
    return state.fetching;
  }
  return FetchAlone(core.value(), MissingBytes(core.value(), run, node));
}

// What the step finds and what it has to fetch, for good where the core keeps it.
void SimulatedWorld::UseWeights(std::size_t c, const sched::Run& run, sched::NodeId node) {
  Core& core = cores_[c];
  core.fetch_bytes = MissingBytes(c, run, node);
  core.fetching = FetchAlone(c, core.fetch_bytes);
  core.cost.dram_bytes += core.fetch_bytes;
  core.cost.energy_pj +=
      base::RoundToInt64(static_cast<double>(core.fetch_bytes) * fetched_byte_pj_).value_or(0);
  absl::InlinedVector<device::Weight, 8> kept;
  device::WeightUse& use = use_[c].weights;
  for (const sched::NodeWeight& of : run.graph->weights(run.graph->nodes()[node.value()])) {
    if (!of.users.Contains(CoreId(c))) continue;
    if (of.kept.Contains(CoreId(c))) {
      kept.push_back(of.weight);
    } else {
      ++use.misses;
      use.fetched_bytes += of.weight.bytes;
    }
  }
  if (!kept.empty()) use += held_[c].Use(kept);
}

void SimulatedWorld::EnterFetch(std::size_t c) {
  Core& core = cores_[c];
  const device::CoreClass& of = device_.classes[class_of_[c]];
  core.phase = Phase::kFetch;
  phase_end_.Set(c, Instant::Max());
  StartTransfer(c, device::FetchUnits(core.fetch_bytes, of),
                device::RateUnits(of.dma_bytes_per_second), lots_ ? ranks_.Next() : 0);
}

void SimulatedWorld::EnterHead(std::size_t c) {
  cores_[c].phase = Phase::kHead;
  phase_end_.Set(c, now_ + cores_[c].cost.fill);
}

void SimulatedWorld::EnterBody(std::size_t c) {
  Core& core = cores_[c];
  core.phase = Phase::kBody;
  if (clocks_) clocks_->EnterBody(now_, c, core.cost);
  if (core.cost.body_bytes > 0) {
    phase_end_.Set(c, Instant::Max());
    const device::ByteUnits cap = clocks_ ? clocks_->Cap(c, core.cost) : core.cost.cap;
    StartTransfer(c, core.cost.body_bytes, cap, lots_ ? ranks_.Next() : 0);
  } else {
    phase_end_.Set(c, now_ + (clocks_ ? clocks_->Slowed(c, core.cost.compute) : core.cost.compute));
  }
}

void SimulatedWorld::StartTransfer(std::size_t c, device::ByteUnits bytes, device::ByteUnits cap,
                                   std::uint64_t rank) {
  if (lots_) return lots_->Start(now_, c, bytes, cap, {1, rank});
  link_.Start(now_, c, bytes, cap);
}

void SimulatedWorld::EnterTail(std::size_t c) {
  if (clocks_) clocks_->LeaveBody(now_, c, cores_[c].cost);
  cores_[c].phase = Phase::kTail;
  phase_end_.Set(c, now_ + cores_[c].cost.drain);
}

void SimulatedWorld::Finish(std::size_t c) {
  Core& core = cores_[c];
  const StepRef step = core.launched.front();
  core.launched.erase(core.launched.begin());
  core.phase = Phase::kIdle;
  phase_end_.Set(c, Instant::Max());
  const Nanos duration = now_ - core.began;
  use_[c].busy += duration;
  ++use_[c].steps;
  use_[c].dram_bytes += core.cost.dram_bytes;
  use_[c].energy_pj += clocks_ ? clocks_->spent_pj(c) : core.cost.energy_pj;
  last_finish_ = now_;
  if (listener_) {
    const Nanos throttled = clocks_ ? clocks_->slowed(c) : Nanos{0};
    listener_->OnFinished(CoreId(c), step, {duration, throttled, core.fetching});
  }
  scheduler_->Complete(CoreId(c), step);
  woken_.Add(CoreId(c));
}

Instant SimulatedWorld::next_event() {
  Instant next = std::min(next_transfer_end(), phase_end_.first());
  next = std::min(next, period_end_);
  return timers_.empty() ? next : std::min(next, timers_.top().first);
}

void SimulatedWorld::EndPhase(std::size_t c) {
  switch (cores_[c].phase) {
    case Phase::kLaunch:
      return EnterFetch(c);
    case Phase::kHead:
      return EnterBody(c);
    case Phase::kBody:
      return EnterTail(c);
    case Phase::kTail:
      return Finish(c);
    case Phase::kIdle:
    case Phase::kFetch:
      LEEWAY_CHECK(false);
  }
}

void SimulatedWorld::AdvanceTo(Instant at) {
  LEEWAY_CHECK(at >= now_);
  now_ = at;
  while (next_transfer_end() <= now_) {
    const std::size_t c = lots_ ? lots_->next_slot() : link_.next_slot();
    StopTransfer(c);
    if (cores_[c].phase == Phase::kFetch) {
      EnterHead(c);
    } else {
      EnterTail(c);
    }
  }
  // Phases of no length end one after the other; a body with traffic takes a nanosecond at least.
  while (phase_end_.first() <= now_) EndPhase(phase_end_.first_index());
  if (period_end_ <= now_) EndPeriod();
  while (!timers_.empty() && timers_.top().first <= now_) {
    woken_.Add(CoreId(timers_.top().second));
    timers_.pop();
  }
}

// Counts what the bodies have spent, and lets them go on at the clocks that follow.
void SimulatedWorld::EndPeriod() {
  bool busy = false;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const Core& core = cores_[c];
    busy = busy || core.phase != Phase::kIdle;
    if (core.phase != Phase::kBody) continue;
    if (core.cost.body_bytes > 0) {
      const device::ByteUnits left = lots_ ? lots_->Left(now_, c) : link_.Left(now_, c);
      clocks_->Spend(c, core.cost.body_bytes - left, core.cost.body_bytes);
    } else {
      const Nanos left = clocks_->Nominal(c, phase_end_.at(c) - now_);
      const Nanos done = std::max(core.cost.compute - left, Nanos{0});
      clocks_->Spend(c, done.count(), core.cost.compute.count());
    }
  }
  // While nothing runs no instants pass for heat's sake: what cools is caught up with later.
  period_end_ = busy ? now_ + clocks_->period() : Instant::Max();
  if (!clocks_->EndPeriod()) return;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    if (cores_[c].phase == Phase::kBody) Reclock(c);
  }
}

void SimulatedWorld::Reclock(std::size_t c) {
  const device::StepCost& cost = cores_[c].cost;
  if (cost.body_bytes > 0) {
    const std::uint64_t rank = lots_ ? lots_->claim(c).rank : 0;
    const device::ByteUnits left = StopTransfer(c);
    clocks_->Reclock(now_, c, cost);
    StartTransfer(c, left, clocks_->Cap(c, cost), rank);
    return;
  }
  const Nanos left = clocks_->Nominal(c, phase_end_.at(c) - now_);
  clocks_->Reclock(now_, c, cost);
  phase_end_.Set(c, now_ + clocks_->Slowed(c, left));
}

void CoreUse::Repeat(std::int64_t times, const CoreUse& before) {
  busy += times * (busy - before.busy);
  steps += static_cast<std::uint64_t>(times) * (steps - before.steps);
  dram_bytes += times * (dram_bytes - before.dram_bytes);
  energy_pj += times * (energy_pj - before.energy_pj);
  weights.Repeat(times, before.weights);
}

bool SimulatedWorld::Mark::Alike(const Mark& other) const {
  auto alike = [](const Core& a, const Core& b) {
    auto same = [](const sched::StepRef& x, const sched::StepRef& y) {
      return x.run == y.run && x.generation == y.generation && x.node == y.node &&
             x.shard == y.shard;
    };
    return a.phase == b.phase && a.since_began == b.since_began &&
           a.to_phase_end == b.to_phase_end && a.fetching == b.fetching &&
           std::equal(a.launched.begin(), a.launched.end(), b.launched.begin(), b.launched.end(),
                      same);
  };
  return held == other.held &&
         std::equal(cores.begin(), cores.end(), other.cores.begin(), other.cores.end(), alike);
}

bool SimulatedWorld::calm() const {
  return link_.active() == 0 && !lots_ && period_end_ == Instant::Max() &&
         std::all_of(cores_.begin(), cores_.end(),
                     [](const Core& core) { return core.launched.size() <= 1; });
}

SimulatedWorld::Mark SimulatedWorld::TakeMark() const {
  Mark mark;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    Mark::Core core;
    core.launched = cores_[c].launched;
    core.phase = static_cast<std::uint8_t>(cores_[c].phase);
    if (cores_[c].phase != Phase::kIdle) {
      core.since_began = now_ - cores_[c].began;
      core.to_phase_end = phase_end_.at(c) - now_;
      core.fetching = cores_[c].fetching;
    }
    mark.cores.push_back(std::move(core));
  }
  for (const device::ResidentWeights& of : held_) mark.held.push_back(of.Keys());
  mark.use = use_;
  return mark;
}

void SimulatedWorld::Repeat(std::int64_t rounds, Nanos period, const Mark& before) {
  const Nanos on = rounds * period;
  now_ += on;
  last_finish_ += on;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    use_[c].Repeat(rounds, before.use[c]);
    if (cores_[c].phase == Phase::kIdle) continue;
    cores_[c].began += on;
    phase_end_.Set(c, phase_end_.at(c) + on);
  }
}

void SimulatedWorld::PumpWoken() {
  while (!woken_.empty()) {
    const CoreId core = woken_.first();
    woken_.Remove(core);
    scheduler_->Pump(core);
    Core& state = cores_[core.value()];
    if (state.phase == Phase::kIdle && !state.launched.empty()) Begin(core.value());
  }
}

}  // namespace leeway::exec
