// Passes over repetitions of a loop that nothing else can disturb.
//
// While one run is all there is, each repetition of its innermost loop finds the device as the one
// before it did: what follows from equal states are equal states. Once two repetitions in a row
// have begun alike with nothing coming in between, those that end before something comes in are
// added up instead of being played through. Results are the same to the nanosecond.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_ROUND_SKIPPER_H_
#define LEEWAY_EXEC_ROUND_SKIPPER_H_

#include <cstdint>
#include <optional>

#include "exec/attributor.h"
#include "exec/simulated_world.h"
#include "sched/scheduler.h"

namespace leeway::exec {

class RoundSkipper {
 public:
  // `attributor` may be null.
  RoundSkipper(sched::Scheduler& scheduler, SimulatedWorld& world, Attributor* attributor)
      : scheduler_(scheduler), world_(world), attributor_(attributor) {}

  // Something came in: a request, a cancel, a plan.
  void Disturb() { before_.reset(); }
  // Whether a repetition has begun since OnRound() was last called.
  bool due() const { return scheduler_.last_round().number != seen_; }
  // After the policy has acted on an instant in which a repetition began; `next` is when something
  // next comes in, or time ends.
  void OnRound(Instant next);

 private:
  // How a repetition began.
  struct Mark {
    sched::Scheduler::Round round;
    Instant at;
    SimulatedWorld::Mark world;
    sched::Counters counters;
    std::optional<Attributor::Mark> attribution;
  };

  Mark Take() const;

  sched::Scheduler& scheduler_;
  SimulatedWorld& world_;
  Attributor* attributor_;
  std::uint64_t seen_ = 0;
  std::optional<Mark> before_;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_ROUND_SKIPPER_H_
