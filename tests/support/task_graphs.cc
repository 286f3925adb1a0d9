#include "tests/support/task_graphs.h"

#include <algorithm>

namespace leeway::testing {
namespace {

using plan::Expr;

plan::Operator OperatorOf(const Task& task, std::size_t index) {
  plan::Operator op;
  op.name = "op" + std::to_string(index);
  op.kind = "task";
  op.predecessors.assign(task.after.begin(), task.after.end());
  if (task.host) op.work = plan::Host{task.time_ns};
  if (task.bytes > 0) op.work = plan::Move{Expr::Constant(task.bytes), std::nullopt};
  return op;
}

plan::Group GroupOf(const Task& task, std::size_t index) {
  plan::Group group;
  group.name = "g" + std::to_string(index);
  group.ops = {static_cast<plan::Index>(index)};
  group.shards = Expr::Constant(task.shards);
  group.placement.mode = task.mode;
  const std::string core_class = task.core_class.empty() ? "core" : task.core_class;
  for (std::uint32_t core : task.cores) {
    group.placement.cores.push_back({.device = {}, .core_class = core_class, .index = core});
  }
  if (task.cores.empty() && !task.core_class.empty()) {
    group.placement.cores.push_back({.device = {}, .core_class = core_class, .index = {}});
  }
  group.predecessors.assign(task.after.begin(), task.after.end());
  if (task.bytes == 0 && !task.host) {
    plan::ProfilePoint point;
    point.dims = {1, 1};
    point.p50_ns = task.time_ns;
    group.profile.push_back(point);
  }
  return group;
}

plan::Variant VariantOf(const TaskVariant& from) {
  plan::Variant variant;
  variant.name = from.name;
  variant.envelope.resize(2);
  variant.envelope[0] = {1, from.max_seq, from.max_seq, plan::ShapeMode::kPadded, 1};
  variant.envelope[1] = {1, 1, from.max_batch, plan::ShapeMode::kDynamic, 1};
  for (std::size_t i = 0; i < from.tasks.size(); ++i) {
    variant.groups.push_back(GroupOf(from.tasks[i], i));
  }
  return variant;
}

std::shared_ptr<plan::Body> EmptyPlan() {
  auto body = std::make_shared<plan::Body>();
  body->model = "tasks";
  body->dims.push_back({"seq", 1, kMaxSeq, plan::Bind::kSubmit, BatchRule::kMax});
  body->dims.push_back({"batch", 1, 32, plan::Bind::kSubmit, BatchRule::kCount});
  return body;
}

plan::Entry EntryOf(std::string name, const std::vector<TaskVariant>& variants) {
  plan::Entry entry;
  entry.name = std::move(name);
  const TaskGraph& tasks = variants.front().tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) entry.operators.push_back(OperatorOf(tasks[i], i));
  for (const TaskVariant& variant : variants) entry.variants.push_back(VariantOf(variant));
  return entry;
}

}  // namespace

std::shared_ptr<const plan::Body> PlanOf(const std::vector<TaskVariant>& variants) {
  auto body = EmptyPlan();
  body->entries.push_back(EntryOf("main", variants));
  return body;
}

std::shared_ptr<const plan::Body> LoopPlanOf(const TaskGraph& tasks, std::int64_t times) {
  auto body = EmptyPlan();
  TaskVariant caller{"v", kMaxSeq, 32, {Task()}};
  plan::Entry main = EntryOf("main", {caller});
  main.operators[0].work = plan::Call{1, Expr::Constant(times)};
  main.variants[0].groups[0].profile.clear();
  body->entries.push_back(std::move(main));
  plan::Entry loop = EntryOf("loop", {{"v", kMaxSeq, 32, tasks}});
  loop.internal = true;
  body->entries.push_back(std::move(loop));
  return body;
}

std::shared_ptr<const device::Spec> DeviceOf(const DeviceShape& shape) {
  auto spec = std::make_shared<device::Spec>();
  spec->name = "cores";
  const std::int64_t port =
      shape.dma_bytes_per_second > 0 ? shape.dma_bytes_per_second : shape.dram_bytes_per_second;
  std::vector<ClassShape> classes = {{"core", shape.cores, port}};
  classes.insert(classes.end(), shape.more_classes.begin(), shape.more_classes.end());
  for (const ClassShape& from : classes) {
    device::CoreClass cores;
    cores.name = from.name;
    cores.count = from.cores;
    cores.clock_hz = 1'000'000'000;
    cores.core_clock_hz.assign(from.cores, cores.clock_hz);
    cores.vector_lanes = 1;
    cores.sram_bytes = 1 << 20;
    cores.dma_bytes_per_second = from.dma_bytes_per_second;
    cores.launch_depth = shape.launch_depth;
    cores.first_core = static_cast<device::CoreIndex>(spec->core_count());
    spec->classes.push_back(cores);
  }
  spec->dram_capacity_bytes = std::int64_t{1} << 40;
  spec->dram_bytes_per_second = shape.dram_bytes_per_second;
  spec->run_launch = Nanos{shape.run_launch_ns};
  spec->step_launch = Nanos{shape.step_launch_ns};
  return spec;
}

namespace {

// A class, and planned cores of it or, for ANY, none.
void PlaceSomewhere(base::Prng& prng, const GraphShape& shape, Task& task) {
  std::uint32_t cores = shape.cores;
  if (!shape.classes.empty()) {
    const ClassShape& core_class = shape.classes[prng.Below(shape.classes.size())];
    task.core_class = core_class.name;
    cores = core_class.cores;
  }
  if (task.mode != plan::PlacementMode::kAny) {
    task.cores.push_back(static_cast<std::uint32_t>(prng.Below(cores)));
  }
}

}  // namespace

TaskGraph RandomGraph(base::Prng& prng, const GraphShape& shape) {
  TaskGraph graph;
  for (std::uint32_t i = 0; i < shape.tasks; ++i) {
    Task task;
    task.time_ns =
        1 + static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(shape.max_time_ns)));
    for (std::uint32_t before = 0; before < i; ++before) {
      if (prng.Unit() < shape.edge_probability) task.after.push_back(before);
    }
    if (shape.placements == GraphShape::Placements::kMixed) {
      const std::uint64_t mode = prng.Below(4);
      if (mode == 1) task.mode = plan::PlacementMode::kPinned;
      if (mode == 2) task.mode = plan::PlacementMode::kPreferred;
      if (task.mode != plan::PlacementMode::kAny ||
          (!shape.classes.empty() && prng.Below(2) == 0)) {
        PlaceSomewhere(prng, shape, task);
      }
      if (mode == 3) task.shards = 1 + static_cast<std::int64_t>(prng.Below(3));
    }
    if (shape.bytes == GraphShape::Bytes::kSome && prng.Below(2) == 0) {
      task.bytes = 1 + static_cast<std::int64_t>(prng.Below(2000));
    }
    graph.push_back(std::move(task));
  }
  return graph;
}

std::int64_t TotalWork(const TaskGraph& graph) {
  std::int64_t sum = 0;
  for (const Task& task : graph) sum += task.time_ns * task.shards;
  return sum;
}

std::int64_t CriticalPath(const TaskGraph& graph) {
  std::vector<std::int64_t> end(graph.size());
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (std::uint32_t before : graph[i].after) end[i] = std::max(end[i], end[before]);
    end[i] += graph[i].time_ns;
    longest = std::max(longest, end[i]);
  }
  return longest;
}

}  // namespace leeway::testing
