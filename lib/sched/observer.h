// What the policy does, told as it happens: for attribution, and for tests that check invariants at
// every dispatch.
//
// Threading: called on the thread that runs the policy, which must not be re-entered from here.

#ifndef LEEWAY_SCHED_OBSERVER_H_
#define LEEWAY_SCHED_OBSERVER_H_

#include "leeway/types.h"
#include "sched/run_pool.h"

namespace leeway::sched {

class Observer {
 public:
  virtual ~Observer() = default;
  // The batch has closed and its run begins.
  virtual void OnRunStarted(RunId, const Run&) {}
  // The inputs of a node have ended; `by` is the one whose end released it, or none for a frame's
  // first nodes. A step of it may have been launched before (launch depth), and never comes here if
  // its run fails first. Calls come too.
  virtual void OnReady(RunId, const Run&, NodeId, NodeId /*by*/) {}
  // A step is about to be launched on a core.
  virtual void OnLaunch(CoreId, const StepRef&) {}
  // A step has ended and left its core.
  virtual void OnRetired(CoreId, const StepRef&) {}
  // The last node of one repetition of a frame has ended.
  virtual void OnRoundEnded(RunId, const Run&, std::uint32_t /*frame*/, NodeId /*last*/) {}
  // The work of a request is done, and an earlier one of its stream has not ended: its response is
  // held, and its end told when its turn comes, or its caller cancels.
  virtual void OnResponseHeld(const Request&, const Run&) {}
  // A request has ended. `run` is null if it was never batched, or if it was held until now.
  virtual void OnRequestEnded(const Request&, Outcome, const Run* /*run*/) {}
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_OBSERVER_H_
