// The seam between the policy and the world it runs in: virtual time, emulation, or the host.
//
// The policy has no thread, no clock and no I/O of its own. A world calls Scheduler::Submit and
// Scheduler::Pump and carries out what the policy asks for here.

#ifndef LEEWAY_SCHED_ENV_H_
#define LEEWAY_SCHED_ENV_H_

#include <cstdint>

#include "base/ids.h"
#include "leeway/time.h"
#include "sched/core_set.h"

namespace leeway::sched {

using RunId = base::Id<struct RunTag>;
using NodeId = base::Id<struct NodeTag>;

// One launch of one shard of one node in one run. The generation tells the run's slot in the pool
// from its earlier tenants, the round a loop body's iterations apart: a completion that comes late
// or twice names a step that no longer exists.
struct StepRef {
  RunId run;
  NodeId node;
  std::uint32_t generation = 0;
  std::uint32_t round = 0;
  std::uint32_t shard = 0;  // last: the only one that differs between shards queued in a row

  friend constexpr bool operator==(const StepRef&, const StepRef&) = default;
};

class Env {
 public:
  virtual ~Env() = default;
  virtual Instant Now() const = 0;
  // Begins `step` on `core`, after those launched there before. Never calls back: the completion
  // goes to Scheduler::Complete(), from any thread, possibly before Launch() returns.
  virtual void Launch(CoreId core, StepRef step) = 0;
  // Pump(core) is wanted at `due`, at once if that is past. Timers may fire late or without need.
  virtual void SetTimer(CoreId core, Instant due) = 0;
  // Makes the cores call Pump() again; remembered for those that are not idle yet.
  virtual void Wake(CoreSet cores) = 0;
  // The run has ended and its requests with it; the run's record is freed after the call.
  virtual void Ended(RunId run) = 0;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_ENV_H_
