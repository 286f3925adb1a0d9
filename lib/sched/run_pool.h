// Runs in flight: one execution of a graph for one batch. Slots are used again; a generation tells
// tenants apart.
//
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_RUN_POOL_H_
#define LEEWAY_SCHED_RUN_POOL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "leeway/time.h"
#include "sched/cost_table.h"
#include "sched/request.h"

namespace leeway::sched {

struct NodeState {
  std::uint32_t predecessors_left = 0;
  std::uint32_t shards_left = 0;  // not ended
  std::uint32_t shards_unlaunched = 0;
  // Core that all launched shards share; none before the first and if they differ.
  CoreId core;
  // Released ahead of its predecessors' ends, onto the core that runs them (launch depth > 1).
  bool released_early = false;
  // The run's first on the device, ready together: their launches wait for that of the run.
  bool first = false;
};

struct FrameState {
  std::uint32_t nodes_left = 0;
  std::int64_t rounds_left = 0;
  std::uint32_t round = 0;  // rises with every repetition in the run's life
};

struct Run {
  std::uint32_t generation = 0;
  enum class State : std::uint8_t { kFree, kLive, kFailed } state = State::kFree;
  Model* model = nullptr;
  const RunGraph* graph = nullptr;
  GraphId graph_id;
  std::shared_ptr<const CostTable> costs;  // at the padded dims
  std::uint64_t urgency = 0, slot = 0;     // the smallest of the members'
  std::vector<Request> members;
  DimValues dims;   // the members' combined actual dims
  Instant started;  // when the batch closed
  // When it was issued to the device: at once, or once the host came to it; Max until then.
  Instant issued;
  std::uint32_t steps_in_flight = 0;
  bool on_device = false;  // a step that is no HOST work was ready
  std::vector<NodeState> nodes;
  std::vector<FrameState> frames;
};

class RunPool {
 public:
  // Returns a live run with its node and frame states sized for `graph`.
  RunId Start(const RunGraph& graph);
  void Free(RunId id);

  Run& operator[](RunId id) { return *runs_[id.value()]; }
  const Run& operator[](RunId id) const { return *runs_[id.value()]; }
  // The run a step belongs to, unless it has ended or failed since.
  Run* Live(const StepRef& step);
  const Run* Live(const StepRef& step) const { return const_cast<RunPool*>(this)->Live(step); }
  std::size_t live() const { return live_; }
  std::size_t size() const { return runs_.size(); }

 private:
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<RunId> free_;
  std::size_t live_ = 0;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_RUN_POOL_H_
