// The simulator behind ServeByOracle(): all that is there at an instant, and what it does with it.
//
// Requests become batches and batches runs (oracle_requests.cc); runs make steps ready, which cores
// take (oracle_cores.cc); the device says when they end (oracle.cc).

#ifndef LEEWAY_TESTS_EXEC_ORACLE_SIMULATOR_H_
#define LEEWAY_TESTS_EXEC_ORACLE_SIMULATOR_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/exec/oracle.h"
#include "tests/exec/oracle_graph.h"

namespace leeway::testing::oracle {

using Time = std::int64_t;
using Dims = std::vector<std::int64_t>;
constexpr Time kNever = std::numeric_limits<Time>::max();

inline Time After(Time start, Time wait) { return wait >= kNever - start ? kNever : start + wait; }

struct Request {
  enum class State { kToCome, kWaiting, kRunning, kHeld, kEnded } state = State::kToCome;
  std::size_t stream = 0;
  Time admitted = 0, expires = kNever, cancel = kNever;
  std::uint64_t urgency = 0, slot = 0;
  Dims dims;
  std::size_t graph = kNone;  // none: bound when its batch closes
  std::size_t place = 0;      // among the waiting, first in first out
  bool cancelled = false;
};

struct NodeState {
  std::size_t inputs_left = 0, shards_left = 0, unlaunched = 0;
  std::size_t core = kNone;  // where all shards launched so far went
  bool ahead = false;        // launched before its inputs had ended
  bool first = false;        // ready when its run began: waits for the run's launch
};

struct FrameState {
  std::size_t nodes_left = 0, round = 0;
  std::int64_t rounds_left = 0;
};

struct Run {
  bool live = true, failed = false;
  bool on_device = false;  // has had a step ready that is not the host's
  const Graph* graph = nullptr;
  std::shared_ptr<const sched::CostTable> costs;
  std::uint64_t urgency = 0;
  std::vector<std::size_t> members;
  std::size_t in_flight = 0;
  std::vector<NodeState> nodes;
  std::vector<FrameState> frames;
};

struct Step {
  std::size_t run = 0, node = 0, shard = 0, round = 0;
};

struct Core {
  std::vector<Step> queue;      // ready, as they came
  std::vector<Step> in_flight;  // launched; the first runs
  std::vector<Step> next;       // may be launched behind what is in flight here
  Time front_since = 0;         // when the first became the first
  std::size_t depth = 1, of_class = 0;
  enum class Phase { kNothing, kHead, kBody, kTail, kDone } phase = Phase::kNothing;
  Time began = 0, phase_end = kNever;
  std::int64_t bytes_left = 0, rate = 0;  // of a body that moves any
  device::StepCost cost;
};

using Key = std::pair<std::uint64_t, std::uint32_t>;  // (urgency, 63 − criticality)
constexpr Key kWorst{std::numeric_limits<std::uint64_t>::max(), 0};

class Simulator {
 public:
  Simulator(const exec::SimConfig& config, const std::vector<exec::SimArrival>& arrivals,
            const OracleCosts& costs);
  OracleResult Serve();

 private:
  // Requests.
  void Submit(std::size_t request);
  void Cancel(std::size_t request);
  void End(std::size_t request, Outcome outcome);
  bool MustWait(std::size_t request) const;
  std::size_t Bind(const Dims& dims) const;
  bool Covers(std::size_t graph, const Dims& dims) const;
  Dims Padded(std::size_t graph, Dims dims) const;
  Time TimeOf(std::size_t graph, const Dims& dims) const;
  Time TimePerRequest(std::size_t graph, const Dims& dims) const;
  std::size_t FastestFor(std::size_t bound, const Dims& dims) const;
  bool Join(Dims& batch, const Dims& member) const;

  // Batches.
  using Binding = std::tuple<std::size_t, std::size_t, Dims>;
  struct SubQueue {
    std::vector<std::size_t> members;  // in the order in which they would be taken
    std::uint64_t slot = 0;
    std::size_t oldest = 0;
    Time ripe = 0;
    std::size_t most = 0;
    bool full = false;
  };
  std::map<Binding, SubQueue> SubQueues() const;
  void CloseDue();
  void ExpireDue();
  Time NextTimer() const;
  void StartBatch(const SubQueue& queue);
  void EndRun(std::size_t run);

  // Readiness.
  struct Cascade {
    std::size_t run = 0, near = kNone;
    bool starting = false, over = false;
    std::vector<std::size_t> ended;
  };
  void StartBody(Cascade& cascade, std::size_t frame);
  void StartRound(Cascade& cascade, std::size_t frame);
  void Release(Cascade& cascade, std::size_t node);
  void EndBody(Cascade& cascade, std::size_t frame);
  void Follow(Cascade& cascade);
  std::size_t HomeOf(const Node& node, std::size_t shard, std::size_t near) const;
  std::size_t SoonestFor(const Run& run, std::size_t node, std::size_t home) const;

  // Cores.
  struct Found {
    std::size_t queue = kNone, index = 0;
    Key key = kWorst;
    Key left_to_idle = kWorst, held = kWorst;  // the best of each that stays elsewhere
  };
  const Node& NodeOf(const Step& s) const { return runs_[s.run].graph->nodes[s.node]; }
  bool Alive(const Step& s) const { return runs_[s.run].live && !runs_[s.run].failed; }
  Key KeyOf(const Step& s) const { return {runs_[s.run].urgency, 63 - NodeOf(s).criticality}; }
  bool Idle(std::size_t core) const { return cores_[core].in_flight.empty(); }
  bool AnyIdle(const Node& node) const;
  Time TimeOn(std::size_t core, const Run& run, std::size_t node) const;
  Time FinishOn(std::size_t core, const Run& run, std::size_t node) const;
  bool MayMove(const Step& step, std::size_t from, std::size_t to) const;
  Found FindBest(std::size_t core) const;
  bool FollowsOn(const Run& run, std::size_t node, std::size_t core) const;
  std::size_t BestNext(std::size_t core);
  bool MayLaunch(std::size_t core);
  std::optional<Step> Take(std::size_t core);
  std::optional<Step> TakeFound(std::size_t core, const Found& found);
  void Launch(std::size_t core, const Step& step);
  void Retire(std::size_t core);
  void Look(std::size_t core);
  std::size_t WhoLooks();

  // The device.
  void Begin(std::size_t core);
  bool EndPhases();
  void ShareBandwidth();
  void GoTo(Time at);
  Time NextPhaseEnd() const;

  const exec::SimConfig& config_;
  const OracleCosts& costs_;
  const plan::Entry* entry_ = nullptr;
  std::vector<Graph> graphs_;
  std::vector<std::size_t> by_name_;
  std::size_t most_runs_ = 0;
  bool weighs_ = false;  // some step may run on cores of several classes
  bool asks_ = false;    // some core launches steps behind others, or some step is weighed

  Time now_ = 0;
  std::vector<Request> requests_;
  std::size_t places_ = 0;
  std::vector<Run> runs_;
  std::vector<Core> cores_;
  bool closing_ = false;
  OracleResult result_;

  // Who looks for a step, where that is told.
  std::set<std::size_t> asked_, deferred_;
  std::multiset<Time> timers_;
  Time timer_ = kNever;
};

}  // namespace leeway::testing::oracle

#endif  // LEEWAY_TESTS_EXEC_ORACLE_SIMULATOR_H_
