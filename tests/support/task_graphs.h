// Small systems for tests: plans of opaque tasks whose times are given, on devices of one or more
// classes of identical cores.

#ifndef LEEWAY_TESTS_SUPPORT_TASK_GRAPHS_H_
#define LEEWAY_TESTS_SUPPORT_TASK_GRAPHS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "device/spec.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::testing {

struct Task {
  std::int64_t time_ns = 1;
  std::vector<std::uint32_t> after;  // tasks before this one in the list
  plan::PlacementMode mode = plan::PlacementMode::kAny;
  std::vector<std::uint32_t> cores;  // planned cores; for ANY none
  std::int64_t shards = 1;
  // With bytes the task has modelled work: traffic that shares the DRAM.
  std::int64_t bytes = 0;
  // Class of the planned cores, which are numbered within it. An ANY task that names a class is
  // free within it; one that names none is free everywhere.
  std::string core_class = {};
  bool host = false;  // HOST work, which no core runs
};
using TaskGraph = std::vector<Task>;

// A variant that covers seq ≤ max_seq and batches up to max_batch.
struct TaskVariant {
  std::string name;
  std::int64_t max_seq = 64;
  std::int64_t max_batch = 32;
  TaskGraph tasks;
};

// Dims of these plans: "seq" in [1, 64], rule MAX, and "batch" in [1, 32], rule COUNT.
inline constexpr std::int64_t kMaxSeq = 64;

// All variants must have as many tasks with the same predecessors: they map one graph.
std::shared_ptr<const plan::Body> PlanOf(const std::vector<TaskVariant>& variants);

// As PlanOf with the tasks in an internal entry that "main" calls `times` times.
std::shared_ptr<const plan::Body> LoopPlanOf(const TaskGraph& body, std::int64_t times);

// A class of cores beside the first. Both have a vector unit of one lane and no matrix unit.
struct ClassShape {
  std::string name;
  std::uint32_t cores = 1;
  // A port that differs makes the same traffic take another time here.
  std::int64_t dma_bytes_per_second = 1'000'000'000;
};

struct DeviceShape {
  std::uint32_t cores = 4;  // of the first class, "core"
  std::uint32_t launch_depth = 1;
  std::int64_t run_launch_ns = 0;
  std::int64_t step_launch_ns = 0;
  std::int64_t dram_bytes_per_second = 1'000'000'000;
  std::int64_t dma_bytes_per_second = 0;  // 0: what the DRAM gives
  std::vector<ClassShape> more_classes = {};
};
std::shared_ptr<const device::Spec> DeviceOf(const DeviceShape& shape);

struct GraphShape {
  std::uint32_t tasks = 12;
  std::uint32_t cores = 4;
  // Classes that placements choose from, as the device has them; none: "core" with `cores` cores.
  std::vector<ClassShape> classes = {};
  std::int64_t max_time_ns = 1000;
  double edge_probability = 0.2;
  enum class Placements { kAnyOnly, kMixed } placements = Placements::kMixed;
  enum class Bytes { kNone, kSome } bytes = Bytes::kNone;
};
TaskGraph RandomGraph(base::Prng& prng, const GraphShape& shape);

// Σ time over tasks and shards; the longest path.
std::int64_t TotalWork(const TaskGraph& graph);
std::int64_t CriticalPath(const TaskGraph& graph);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_SUPPORT_TASK_GRAPHS_H_
