// Laws that every simulation keeps, whatever it serves. A harness checks them over each run:
//  - Little's law, exact in integers: the number of requests in the system, integrated over time,
//    is the sum of the times that they spent there.
//  - Work is conserved: at the end of an instant no core is idle while a step that may run there is
//    ready and not held; each core runs one step at a time, and the time that cores run is that of
//    the steps.
//  - The slot invariant, at every dispatch: no core starts a step while a more urgent one that
//    may run there is ready and not held. What a core launches behind a running step it does not
//    start yet: there a step that some idle core may start is left to that one.
//  - Of a stream that preserves ordering no OK response is told before all earlier requests of the
//    stream have ended, and at the end of an instant none is held that could be told.
// A step is held from a core only if it prefers others, may run on cores of several classes, is
// queued at a busy core, and would not end sooner on the one that it is held from. When it would
// end is worked out here from what was launched where and when.
//
// Threading: one thread at a time.

#ifndef LEEWAY_TESTS_EXEC_LAWS_H_
#define LEEWAY_TESTS_EXEC_LAWS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exec/simulated_world.h"
#include "sched/scheduler.h"

namespace leeway::testing {

class Laws {
 public:
  // All outlive it.
  using Moving = std::function<Nanos(const sched::Run&, sched::NodeId, sched::CoreId)>;
  Laws(const exec::SimulatedWorld& world, const sched::Scheduler& scheduler,
       const sched::DomainTable& domains, const device::Spec& device, Moving moving)
      : world_(world),
        scheduler_(scheduler),
        domains_(domains),
        device_(device),
        moving_(std::move(moving)),
        launched_(device.core_count()),
        running_(device.core_count(), 0) {}

  // Before the policy learns of it.
  void Submitted(sched::StreamId stream) {
    Pass();
    ++in_system_;
    live_[stream].insert(submitted_++);
  }
  void ResponseHeld(const sched::Request& request) {
    held_responses_[request.stream].insert(request.id);
  }
  void RequestEnded(const sched::Request& request, Outcome outcome) {
    Pass();
    --in_system_;
    sojourns_ += world_.Now() - request.admitted;
    std::set<sched::RequestId>& live = live_[request.stream];
    const bool ordered = scheduler_.streams()[request.stream.value()].preserve_ordering;
    if (ordered && outcome == Outcome::kOk && *live.begin() < request.id) {
      Break("a response overtook an earlier one of its stream");
    }
    live.erase(request.id);
    held_responses_[request.stream].erase(request.id);
  }

  void Launched(sched::CoreId core, const sched::StepRef& step) {
    InFlight& here = launched_[core.value()];
    const std::uint64_t urgency = scheduler_.run(step.run).urgency;
    ForEachWaiting([&](const Waiting& waiting) {
      if (!waiting.allowed.Contains(core) || waiting.key.urgency() >= urgency) return;
      if (!here.steps.empty() && AnyIdle(waiting.allowed)) return;
      if (!HeldFrom(core, waiting)) Break("a more urgent step was ready");
    });
    if (here.steps.empty()) here.front_since = world_.Now();
    here.steps.push_back(step);
  }
  void Retired(sched::CoreId core, const sched::StepRef& step) {
    InFlight& here = launched_[core.value()];
    std::erase(here.steps, step);
    here.front_since = world_.Now();
  }
  void Started(sched::CoreId core) {
    Pass();
    if (running_[core.value()]++ > 0) Break("a core runs two steps at once");
  }
  void Finished(sched::CoreId core, Nanos duration) {
    Pass();
    --running_[core.value()];
    durations_ += duration;
  }

  void InstantEnded() {
    for (const auto& [stream, held] : held_responses_) {
      if (held.empty() || *held.begin() != *live_[stream].begin()) continue;
      Break("a response is held behind none");
    }
    ForEachWaiting([&](const Waiting& waiting) {
      waiting.allowed.ForEach([&](sched::CoreId core) {
        if (!Idle(core)) return;
        if (HeldFrom(core, waiting)) {
          ++held_;
          return;
        }
        Break("a core is idle while a step that may run there is ready");
      });
    });
  }

  // How often a core was idle at the end of an instant beside a step that was held from it.
  std::uint64_t held() const { return held_; }

  // Once everything has been served: the first law that was broken, or nothing.
  std::string Broken() {
    Pass();
    if (in_system_ != 0) Break("a request has not ended");
    if (request_time_ != sojourns_) Break("Little's law does not hold");
    Nanos busy{0};
    for (const exec::CoreUse& use : world_.use()) busy += use.busy;
    if (core_time_ != durations_ || busy != durations_) {
      Break("the cores' busy time is not that of the steps");
    }
    return broken_;
  }

 private:
  // Integrates up to now.
  void Pass() {
    const Nanos passed = world_.Now() - last_;
    last_ = world_.Now();
    request_time_ += in_system_ * passed;
    for (int running : running_) core_time_ += running * passed;
  }

  struct InFlight {
    std::vector<sched::StepRef> steps;
    Instant front_since;  // when the first of them became the first
  };
  struct Waiting {
    const sched::CoreSet& allowed;
    bool weighed, preferred;
    sched::CoreId queue;
    sched::Key key;
    const sched::StepRef& step;
  };

  // Calls visit(Waiting) for each ready step of a run that still lives.
  template <typename Visit>
  void ForEachWaiting(Visit visit) const {
    scheduler_.ForEachReady(
        [&](sched::CoreId queue, sched::LaneId lane, sched::Key key, const sched::StepRef& step) {
          const sched::Run& run = scheduler_.run(step.run);
          if (run.state != sched::Run::State::kLive || run.generation != step.generation) return;
          const sched::Domain& domain = domains_[lane.domain];
          visit(Waiting{domain.allowed, domain.weighed, lane.affinity == sched::Affinity::kPlanned,
                        queue, key, step});
        });
  }

  bool Idle(sched::CoreId core) const { return launched_[core.value()].steps.empty(); }
  bool AnyIdle(const sched::CoreSet& cores) const {
    bool any = false;
    cores.ForEach([&](sched::CoreId core) { any = any || Idle(core); });
    return any;
  }

  bool HeldFrom(sched::CoreId core, const Waiting& waiting) const {
    return waiting.weighed && waiting.preferred && waiting.queue != core && !Idle(waiting.queue) &&
           EndOn(core, waiting.step) >= EndOn(waiting.queue, waiting.step);
  }
  // Of what is in flight one nanosecond at least is left.
  Instant EndOn(sched::CoreId core, const sched::StepRef& step) const {
    if (Idle(core)) return world_.Now() + TimeOn(core, step);
    Instant free = launched_[core.value()].front_since;
    for (const sched::StepRef& s : launched_[core.value()].steps) free += TimeOn(core, s);
    return std::max(free, world_.Now() + Nanos{1}) + TimeOn(core, step);
  }
  Nanos TimeOn(sched::CoreId core, const sched::StepRef& step) const {
    const sched::Run& run = scheduler_.run(step.run);
    Nanos time = run.costs->expected(step.node, device_.ClassOf(core.value()));
    if (run.nodes[step.node.value()].first) time += device_.run_launch;
    return moving_ ? time + moving_(run, step.node, core) : time;
  }

  void Break(const char* law) {
    if (broken_.empty()) {
      broken_ = std::string(law) + " at " + std::to_string(world_.Now().count()) + " ns";
    }
  }

  const exec::SimulatedWorld& world_;
  const sched::Scheduler& scheduler_;
  const sched::DomainTable& domains_;
  const device::Spec& device_;
  Moving moving_;
  std::vector<InFlight> launched_;  // by core
  std::vector<int> running_;
  std::int64_t in_system_ = 0;
  sched::RequestId submitted_ = 0;
  std::map<sched::StreamId, std::set<sched::RequestId>> live_, held_responses_;
  std::uint64_t held_ = 0;
  Instant last_;
  Nanos request_time_{0}, sojourns_{0}, core_time_{0}, durations_{0};
  std::string broken_;
};

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_LAWS_H_
