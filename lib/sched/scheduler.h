// The policy: admission, batching, readiness, placement and stealing. One policy for virtual time,
// emulation and the host; those that it is compared with differ in their Order alone.
//
// A world opens streams, submits requests, and calls Pump(core) when it may have something to do:
// after Env::Wake, after a completion, after a timer.
//
// Order where keys are equal (tests/exec/oracle.h holds the engine to it):
//  - A core's own queue goes before its peers', theirs follow in rising order from the core's index
//    on, round the device. In a queue: domains in the order in which models named them, steps
//    without a planned core before those with one, first in first out.
//  - A step that may follow what is in flight on the core goes before one from a queue.
//  - A ready step is queued on its planned core; without one shard 0 where the last input ended,
//    the others, and a run's first, where least is queued and in flight, at the lowest index.
//  - In a weighed domain it is queued instead where it would end first, ties there, then at the
//    lowest index. A core would end it after what is in flight there, of which a nanosecond at
//    least is left; what is only queued does not count. Who takes one of these from a peer takes
//    it alone, the first of the lane that would end sooner here.
//  - Nodes become ready in the plan's order; calls that launch nothing end once all successors of
//    what released them were told, the last first.
// Who is asked: a ready step wakes the idle cores that may run it or, where there are none, those
// with room for a launch ahead. What stays in a core's queue is offered to the idle cores once more
// when it launches: the steps with a planned core, and all of them where a domain is weighed; there
// also when the core goes on to a step of its launch queue, since the one before may have been
// late. What idle cores leave is not offered to busy ones again, and a step that may follow its
// inputs is offered once, to the core on which the last of them was launched, where none of them is
// a call. So a launch ahead may be missed, but never one on an idle core. Steps of a run that was
// cancelled stay queued, and count as load, until a core meets them; they are held for nobody.
//
// Where a host thread issues runs (device::Issue::kHost) a run's steps are ready once it has been
// issued, the most urgent run first.
//
// Threading: Complete() may be called from any thread, unless the options say that it is not.
//            Everything else is for one thread at a time; Pump is not re-entrant.
// Lifetime:  env, device and domains outlive the scheduler; models are kept while they are needed.

#ifndef LEEWAY_SCHED_SCHEDULER_H_
#define LEEWAY_SCHED_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/launch_queue.h"
#include "device/spec.h"
#include "leeway/policy.h"
#include "leeway/status.h"
#include "leeway/types.h"
#include "sched/batcher.h"
#include "sched/domain.h"
#include "sched/env.h"
#include "sched/forecast.h"
#include "sched/inbox.h"
#include "sched/observer.h"
#include "sched/order.h"
#include "sched/ready_queue.h"
#include "sched/request.h"
#include "sched/response_order.h"
#include "sched/run_pool.h"

namespace leeway::sched {

struct SchedulerOptions {
  Policy policy = Policy::kLeeway;
  BatchPolicy batching;
  // Runs in flight; 0: as many as the device has cores.
  std::uint32_t max_concurrent_runs = 0;
  // Device time after which urgency counts one level more.
  Nanos ageing_interval = std::chrono::milliseconds(100);
  FallbackKind fallback = FallbackKind::kGeneric;
  // Whether Complete() is called from other threads too. A world of one thread saves the locks.
  bool concurrent_completions = true;
  // What running a node on a core costs beyond its time there: weights that are not resident,
  // inputs that are not local. Asked for steps of weighed domains only; null: nothing.
  std::function<Nanos(const Run&, NodeId, CoreId)> moving;
};

// Per stream; submitted = ok + rejected + expired + cancelled + failed + in flight.
struct StreamCounters {
  std::uint64_t submitted = 0, ok = 0, rejected = 0, expired = 0, cancelled = 0, failed = 0;
  std::uint64_t in_flight = 0;  // counted by itself: up at submit, down at the end
  std::uint64_t rejected_queue_full = 0, rejected_no_variant = 0, rejected_deadline = 0;
  std::uint64_t fallback = 0;
};

struct Counters {
  std::uint64_t runs = 0, steps = 0, steals = 0, stray_completions = 0;
  // Steps taken from a queue while a more urgent one was left to a busy core that will finish it
  // sooner.
  std::uint64_t holds = 0;
};

class Scheduler {
 public:
  // `observer` may be null.
  Scheduler(Env& env, const device::Spec& device, const DomainTable& domains,
            const SchedulerOptions& options, Observer* observer);

  // kInvalidArgument without a model.
  Result<StreamId> OpenStream(StreamSpec spec);

  // From now on requests of the stream bind to `model`; those bound before finish on what they
  // have, and batches never mix the two. Neither compiles nor allocates on the request path.
  // Requires dims of the same number and batch rules, and domains that were known when a stream was
  // opened.
  void Swap(StreamId stream, std::shared_ptr<Model> model);

  // Submits a request of these dims (by the plan's dim index; within its domain). `timeout` bounds
  // its wait until it is batched and overrides the stream's if positive and allowed. Every submit
  // is counted and ends exactly once, the refused ones with the status here: kResourceExhausted for
  // a full queue, kDeadlineExceeded for one that is predicted to end after the stream's admission
  // deadline, kFailedPrecondition where no variant covers it and the fallback is REJECT, or the
  // cost model's.
  Result<RequestId> Submit(StreamId stream, std::span<const std::int64_t> dims, Nanos timeout,
                           std::uint64_t user);

  // Ends a waiting request at once, also one whose response is held; a running one ends as
  // cancelled with its run. kNotFound if it has ended.
  Status Cancel(RequestId request);

  // Takes the core's completions, then launches what it may.
  void Pump(CoreId core);

  // Tells that a launched step has ended. Unknown, doubled and late tags are counted and dropped.
  void Complete(CoreId core, StepRef step, StepOutcome outcome = StepOutcome::kDone);

  // The repetition of a frame that began last, counted from 1; number 0 before any.
  struct Round {
    RunId run;
    std::uint32_t generation = 0;
    std::uint32_t frame = 0;
    std::uint64_t number = 0;
  };
  const Round& last_round() const { return last_round_; }
  // Whether one run is all there is, and nothing of it waits that could be launched.
  bool alone() const;
  // Repetitions of the frame that have not begun; 0 if its run has ended.
  std::int64_t rounds_left(const Round& round) const;
  // Takes `rounds` repetitions of `period` as done; each does what was done since `before`.
  void Repeat(const Round& round, std::int64_t rounds, Nanos period, const Counters& before);

  const Run& run(RunId id) const { return runs_[id]; }
  const StreamCounters& counters(StreamId stream) const { return stream_counters_[stream.value()]; }
  const Counters& counters() const { return counters_; }
  const std::vector<StreamSpec>& streams() const { return streams_; }
  bool idle() const { return runs_.live() == 0 && batcher_.waiting() == 0; }
  // The first error of the cost model while batches were closed; such runs end as FAILED.
  const Status& status() const { return status_; }

  // Calls visit(CoreId queue, LaneId, Key, StepRef) for every ready step. For tests of invariants.
  template <typename Visit>
  void ForEachReady(Visit visit) const {
    for (std::size_t c = 0; c < cores_.size(); ++c) {
      for (std::size_t d = 0; d < domains_.size(); ++d) {
        for (Affinity affinity : {Affinity::kNone, Affinity::kPlanned}) {
          const LaneId lane{DomainId(d), affinity};
          cores_[c].ready.ForEach(
              lane, [&](Key key, const StepRef& step) { visit(CoreId(c), lane, key, step); });
        }
      }
    }
  }

 private:
  struct Core {
    ReadyQueue ready;
    std::vector<StepRef> in_flight;  // launched, in order
    std::vector<StepRef> chained;    // may follow what is in flight here
    // When the first of them became the first; kept where somebody asks.
    Instant front_since;
    std::uint32_t launch_depth = 1;
    std::size_t core_class = 0;
    std::vector<DomainId> domains;  // that allow the core
  };
  // Written field by field: a choice copied as a whole waits for the stores of its parts.
  struct Choice {
    CoreId queue;
    LaneId lane;
    Key key;  // invalid where there is nothing to take
    bool one_step = false;
    StepRef step;  // of a weighed domain, from another queue: this very one

    void Set(CoreId from, const LaneId& of, Key at) {
      queue = from, lane = of, key = at, one_step = false;
    }
  };
  struct Best {
    Choice choice;
    // Best key that is left to an idle core, and to a busy one that will finish it sooner.
    Key left_to_idle, held;
  };

  // Admission (scheduler.cc).
  void EndRequest(const Request& request, Outcome outcome, const Run* run);
  void TellEnd(const Request& request, Outcome outcome, const Run* run);
  void CloseBatches();
  void StartRun(Batch batch);
  void Launch(RunId id);
  void IssueRuns();
  void FailBatch(const Batch& batch, const Status& status);
  void EndRun(RunId id, Outcome outcome);
  void SetBatchTimer();

  // Predicted deadlines (deadline.cc).
  bool Late(RequestId newest, Nanos deadline) const;
  std::vector<RunLoad> LoadsInFlight() const;
  Nanos Unlaunched(const Run& run, std::uint32_t frame) const;
  Nanos PredictedStep(const Run& run, NodeId node) const;
  std::optional<RunLoad> LoadOf(const ExpectedBatch& batch) const;

  // Readiness (readiness.cc). A cascade follows an end through calls of no repetitions without
  // recursion: `ended` are nodes that have ended and whose successors are still to be told.
  struct Cascade {
    RunId run;
    CoreId near;  // where what became ready was released; none at a run's start
    std::vector<NodeId> ended;
    bool run_over = false;
    bool starting = false;  // nothing before it was ready on the device
  };
  void StartFrame(Cascade& cascade, std::uint32_t frame);
  void StartRound(Cascade& cascade, std::uint32_t frame);
  void Release(Cascade& cascade, NodeId node, NodeId by);
  void PushShards(const Cascade& cascade, NodeId node);
  CoreId HomeOf(const Node& node, std::uint32_t shard, CoreId near) const;
  void Follow(Cascade& cascade);
  void TellSuccessors(Cascade& cascade, NodeId node);
  void EndRound(Cascade& cascade, std::uint32_t frame, NodeId last);

  // Cores (core_loop.cc).
  void Retire(CoreId core, const Completion& completion);
  // These two return whether there is a step, and which.
  bool TakeBest(CoreId core, StepRef& step);
  Best BestChoice(CoreId core) const;
  Best OwnFirst(CoreId core) const;
  void LearnDomains();
  std::optional<StepRef> TakeChained(CoreId core, Key limit);
  bool MayTake(CoreId thief, CoreId from, const LaneId& lane) const;
  // Affinity (affinity.cc).
  void WeighLane(CoreId thief, CoreId from, const LaneId& lane, Best& best) const;
  bool FinishesSooner(CoreId thief, CoreId from, Affinity affinity, const StepRef& step) const;
  Nanos TimeOn(CoreId core, const Run& run, NodeId node) const;
  Nanos BusyFor(CoreId core) const;
  Nanos FinishOn(CoreId core, const Run& run, NodeId node) const;
  CoreId SoonestFor(const Run& run, NodeId node, CoreId home) const;
  bool Take(CoreId core, const Choice& choice, StepRef& step);
  void Enqueue(CoreId core, LaneId lane, Key key, const StepRef& step) {
    cores_[core.value()].ready.Push(lane, key, step);
    stocked_.Add(core);
  }
  void LaunchStep(CoreId core, const StepRef& step);
  void OfferChained(CoreId core, const StepRef& launched);
  bool ChainsOn(const Run& run, NodeId node, CoreId core) const;

  Env& env_;
  const device::Spec& device_;
  const DomainTable& domains_;
  SchedulerOptions options_;
  Observer* observer_;

  std::vector<StreamSpec> streams_;
  std::vector<StreamCounters> stream_counters_;
  std::vector<ResponseOrder> responses_;  // by stream
  Counters counters_;
  Status status_;
  Order order_;
  Batcher batcher_;
  RunPool runs_;
  std::vector<Core> cores_;
  CoreSet idle_;      // nothing in flight
  CoreSet room_;      // less in flight than the launch depth
  CoreSet stocked_;   // ready steps in their queues
  CoreSet deferred_;  // left what they could run for an idle core's more urgent step
  std::size_t known_domains_ = 0;
  RequestId next_request_ = 0;
  Instant batch_timer_ = Instant::Max();
  // Where a host issues runs.
  std::optional<device::LaunchQueue> launches_;
  Instant issue_timer_ = Instant::Max();
  bool closing_ = false;
  bool watches_fronts_ = false;  // for admission deadlines or weighed domains
  bool weighs_ = false;          // some domain is weighed
  Round last_round_;

  std::vector<Inbox> inboxes_;         // by core
  std::vector<Completion> completed_;  // what Pump is at; kept for its memory
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_SCHEDULER_H_
