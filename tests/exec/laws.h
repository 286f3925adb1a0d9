// Laws that every simulation keeps, whatever it serves. A harness checks them over each run:
//  - Little's law, exact in integers: the number of requests in the system, integrated over time,
//    is the sum of the times that they spent there.
//  - Work is conserved: at the end of an instant no core is idle while a step that may run there is
//    ready; each core runs one step at a time, and the time that cores run is that of the steps.
//  - The slot invariant, at every dispatch: no core starts a step while a more urgent one that
//    may run there is ready. What a core launches behind a running step it does not start yet:
//    there a step that some idle core may start is left to that one.
//
// Threading: one thread at a time.

#ifndef LEEWAY_TESTS_EXEC_LAWS_H_
#define LEEWAY_TESTS_EXEC_LAWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "exec/simulated_world.h"
#include "sched/scheduler.h"

namespace leeway::testing {

class Laws {
 public:
  // All outlive it.
  Laws(const exec::SimulatedWorld& world, const sched::Scheduler& scheduler,
       const sched::DomainTable& domains, std::size_t cores)
      : world_(world),
        scheduler_(scheduler),
        domains_(domains),
        launched_(cores, 0),
        running_(cores, 0) {}

  // Before the policy learns of it.
  void Submitted() {
    Pass();
    ++in_system_;
  }
  void RequestEnded(const sched::Request& request) {
    Pass();
    --in_system_;
    sojourns_ += world_.Now() - request.admitted;
  }

  void Launched(sched::CoreId core, const sched::StepRef& step) {
    const std::uint64_t urgency = scheduler_.run(step.run).urgency;
    const bool behind = launched_[core.value()] > 0;
    ForEachWaiting([&](const sched::CoreSet& allowed, sched::Key key) {
      if (!allowed.Contains(core) || key.urgency() >= urgency) return;
      if (!behind || !AnyIdle(allowed)) Break("a more urgent step was ready");
    });
    ++launched_[core.value()];
  }
  void Retired(sched::CoreId core) { --launched_[core.value()]; }
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
    ForEachWaiting([&](const sched::CoreSet& allowed, sched::Key) {
      if (AnyIdle(allowed)) Break("a core is idle while a step that may run there is ready");
    });
  }

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

  // Calls visit(allowed cores, key) for each ready step of a run that still lives.
  template <typename Visit>
  void ForEachWaiting(Visit visit) const {
    scheduler_.ForEachReady(
        [&](sched::CoreId, sched::LaneId lane, sched::Key key, const sched::StepRef& step) {
          const sched::Run& run = scheduler_.run(step.run);
          if (run.state != sched::Run::State::kLive || run.generation != step.generation) return;
          visit(domains_[lane.domain].allowed, key);
        });
  }

  bool AnyIdle(const sched::CoreSet& cores) const {
    bool any = false;
    cores.ForEach([&](sched::CoreId core) { any = any || launched_[core.value()] == 0; });
    return any;
  }

  void Break(const char* law) {
    if (broken_.empty()) {
      broken_ = std::string(law) + " at " + std::to_string(world_.Now().count()) + " ns";
    }
  }

  const exec::SimulatedWorld& world_;
  const sched::Scheduler& scheduler_;
  const sched::DomainTable& domains_;
  std::vector<int> launched_, running_;  // by core
  std::int64_t in_system_ = 0;
  Instant last_;
  Nanos request_time_{0}, sojourns_{0}, core_time_{0}, durations_{0};
  std::string broken_;
};

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_LAWS_H_
