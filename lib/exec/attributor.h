// Attribution in virtual time: from what the policy and the device tell, where each OK request's
// latency went, exactly.
//
// The critical chain is walked at the end of every repetition of a frame (a barrier: all its nodes
// have ended), back from the last node to end through the node whose end released it.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_ATTRIBUTOR_H_
#define LEEWAY_EXEC_ATTRIBUTOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exec/simulated_world.h"
#include "leeway/attribution.h"
#include "leeway/status.h"
#include "sched/domain.h"
#include "sched/observer.h"
#include "telemetry/wait_clock.h"

namespace leeway::exec {

// How an OK request fared.
struct RequestRecord {
  const sched::Request* request = nullptr;
  // Null once its response was held until its run was over.
  const sched::Run* run = nullptr;
  Instant ended;
  Nanos latency{0};
  Nanos queue_wait{0};  // until the run's first step began
  Nanos core_time{0};   // the request's equal share of its run's
  Attribution parts;    // sums to latency
  // Of the run, by node: steps outside the placement's cores; empty if there were none.
  std::span<const std::uint32_t> displaced;
};

class Attributor final : public sched::Observer, public StepListener {
 public:
  using OnOk = std::function<void(const RequestRecord&)>;
  using OnOther = std::function<void(const sched::Request&, Outcome)>;

  // `on_held` is told, with the run, of requests that are done and whose response is held; may be
  // null.
  Attributor(const device::Spec& device, const sched::DomainTable& domains, OnOk on_ok,
             OnOther on_other, OnOk on_held = nullptr);

  // Must be called before anything runs.
  void Attach(const sched::Env& env) { env_ = &env; }

  void OnRunStarted(sched::RunId id, const sched::Run& run) override;
  void OnReady(sched::RunId id, const sched::Run& run, sched::NodeId node,
               sched::NodeId by) override;
  void OnRetired(sched::CoreId core, const sched::StepRef& step) override;
  void OnRoundEnded(sched::RunId id, const sched::Run& run, std::uint32_t frame,
                    sched::NodeId last) override;
  void OnResponseHeld(const sched::Request& request, const sched::Run& run) override;
  void OnRequestEnded(const sched::Request& request, Outcome outcome,
                      const sched::Run* run) override;

  void OnStarted(sched::CoreId core, const sched::StepRef& step) override;
  void OnFinished(sched::CoreId core, const sched::StepRef& step, const StepTimes& times) override;
  void OnRunEnded(sched::RunId run) override;

  // What a run's chains hold so far.
  struct Mark;
  Mark TakeMark(sched::RunId run) const;
  // Adds `rounds` times what has come to the run's chains since `before`.
  void Repeat(sched::RunId run, std::int64_t rounds, const Mark& before);

  // The first error of the cost model.
  const Status& status() const { return status_; }
  // OK requests whose parts could not be told.
  std::uint64_t missing() const { return missing_; }

 private:
  using Reading = telemetry::WaitClock::Reading;
  struct NodeTrace {
    sched::NodeId by;
    std::uint32_t waiting = 0;  // shards that are ready and have not begun
    Reading entered{};
    // Of the shard that ended last:
    Reading waited{};
    StepTimes executed;
    std::size_t core_class = 0;
    bool first = false;  // it waited for the launch of the run
  };
  // Along the chain of a frame's repetitions.
  struct Chain {
    Reading waited{};
    StepTimes executed;
    std::int64_t run_launches = 0;
  };
  struct RunTrace {
    const sched::Run* run = nullptr;
    std::vector<NodeTrace> nodes;
    std::vector<Chain> chains;  // by frame
    // How often a node is on the chain, by depth × node × class of the core: a call's counts join
    // its caller's only if the call itself is on the chain.
    std::vector<std::uint64_t> counts;
    std::vector<std::uint32_t> displaced;  // by node; empty until one is
    std::optional<Instant> first_start;
    Nanos core_time{0};
    std::uint32_t members_told = 0;
    // The run's own links of the chain d₁…d₇, computed once for all members.
    std::optional<Nanos> at_batch, at_bucket, relayouts, launches;
  };
  struct OnCore {
    Reading waited{};
    StepTimes executed;
  };

 public:
  struct Mark {
    std::vector<Chain> chains;
    std::vector<std::uint64_t> counts;
    std::vector<std::uint32_t> displaced;
    Nanos core_time{0};
  };

 private:
  Reading EnterWait(const sched::Node& node, std::uint64_t slot);
  Reading LeaveWait(const sched::Node& node, std::uint64_t slot, const Reading& entered);
  std::uint64_t* CountsAt(RunTrace& trace, std::uint32_t depth);
  // The sum of of(node × class) over the steps on the run's chain, as often as each would be on it
  // with the table's repetitions.
  template <typename Of>
  Nanos ChainSum(RunTrace& trace, const sched::CostTable& table, Of of);
  // Of the time alone, with every tensor laid out as it is wanted.
  Nanos ChainAlone(RunTrace& trace, const sched::CostTable& table);
  Status FillRun(RunTrace& trace);
  Status Explain(RunTrace& trace, const sched::Request& request, RequestRecord& record);
  RequestRecord RecordOf(const sched::Request& request, const sched::Run& run);

  const device::Spec& device_;
  const std::size_t accelerators_;
  const sched::DomainTable& domains_;
  OnOk on_ok_;
  OnOther on_other_;
  OnOk on_held_;
  const sched::Env* env_ = nullptr;
  telemetry::WaitClock clock_;
  std::vector<RunTrace> traces_;  // by run slot
  std::vector<OnCore> on_core_;
  // Of requests whose response is held, as they were when they were done.
  absl::flat_hash_map<sched::RequestId, RequestRecord> held_;
  Status status_;
  std::uint64_t missing_ = 0;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_ATTRIBUTOR_H_
