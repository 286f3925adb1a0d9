#include "sched/run_pool.h"

#include "base/check.h"

namespace leeway::sched {

RunId RunPool::Start(const RunGraph& graph) {
  RunId id;
  if (free_.empty()) {
    id = RunId(runs_.size());
    runs_.push_back(std::make_unique<Run>());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Run& run = *runs_[id.value()];
  run.state = Run::State::kLive;
  run.graph = &graph;
  run.steps_in_flight = 0;
  run.on_device = false;
  run.nodes.assign(graph.nodes().size(), NodeState());
  run.frames.assign(graph.frames().size(), FrameState());
  ++live_;
  return id;
}

void RunPool::Free(RunId id) {
  Run& run = *runs_[id.value()];
  LEEWAY_CHECK(run.state != Run::State::kFree);
  run.state = Run::State::kFree;
  ++run.generation;
  run.costs.reset();
  run.members.clear();
  free_.push_back(id);
  --live_;
}

Run* RunPool::Live(const StepRef& step) {
  if (step.run.value() >= runs_.size()) return nullptr;
  Run& run = *runs_[step.run.value()];
  return run.state == Run::State::kLive && run.generation == step.generation ? &run : nullptr;
}

}  // namespace leeway::sched
