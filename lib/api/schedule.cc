#include "leeway/schedule.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/task_dag.h"
#include "compile/task_placer.h"
#include "device/spec.h"
#include "exec/simulated_world.h"
#include "plan/body.h"
#include "sched/scheduler.h"

namespace leeway {
inline namespace v0 {
namespace {

constexpr std::uint32_t kMostCores = device::kMaxCores;

// A plan without dims whose groups are opaque tasks, in the dag's order.
std::shared_ptr<const plan::Body> PlanOf(const compile::TaskDag& dag) {
  auto body = std::make_shared<plan::Body>();
  body->model = "tasks";
  plan::Entry& entry = body->entries.emplace_back();
  entry.name = "main";
  plan::Variant& variant = entry.variants.emplace_back();
  variant.name = "v";
  std::vector<plan::Index> at(dag.size());
  for (plan::Index i = 0; i < dag.size(); ++i) {
    const std::uint32_t task = dag.order()[i];
    at[task] = i;
    plan::Operator op;
    for (const std::uint32_t before : dag.predecessors(task)) {
      op.predecessors.push_back(at[before]);
    }
    std::sort(op.predecessors.begin(), op.predecessors.end());
    plan::Group group;
    group.ops = {i};
    group.shards = plan::Expr::Constant(1);
    group.predecessors = op.predecessors;
    group.profile.push_back({.dims = {}, .p50_ns = dag.time(task)});
    entry.operators.push_back(std::move(op));
    variant.groups.push_back(std::move(group));
  }
  return body;
}

// Identical cores; nothing costs but the tasks.
std::shared_ptr<const device::Spec> DeviceOf(std::uint32_t cores) {
  auto spec = std::make_shared<device::Spec>();
  spec->name = "cores";
  device::CoreClass& core_class = spec->classes.emplace_back();
  core_class.name = "core";
  core_class.count = cores;
  core_class.clock_hz = 1'000'000'000;
  core_class.core_clock_hz.assign(cores, core_class.clock_hz);
  core_class.vector_lanes = 1;
  core_class.sram_bytes = 1 << 20;
  core_class.dma_bytes_per_second = 1'000'000'000;
  spec->dram_capacity_bytes = std::int64_t{1} << 40;
  spec->dram_bytes_per_second = 1'000'000'000;
  return spec;
}

// Notes where and when each task starts.
class Notes final : public sched::Observer {
 public:
  Notes(const sched::Env& env, const compile::TaskDag& dag,
        std::vector<TaskSchedule::Placed>& placed)
      : env_(env), dag_(dag), placed_(placed) {
    placed_.resize(dag.size());
  }
  void OnLaunch(sched::CoreId core, const sched::StepRef& step) override {
    placed_[dag_.order()[step.node.value()]] = {static_cast<std::uint32_t>(core.value()),
                                                env_.Now().since_origin()};
  }

 private:
  const sched::Env& env_;
  const compile::TaskDag& dag_;
  std::vector<TaskSchedule::Placed>& placed_;
};

Status RunOnline(const compile::TaskDag& dag, const ScheduleOptions& options,
                 TaskSchedule& schedule) {
  const auto device = DeviceOf(options.cores);
  sched::DomainTable domains;
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<sched::Model> model,
                          sched::Model::Create(PlanOf(dag), device, "", 1, domains));
  exec::SimulatedWorld world(*device, nullptr);
  Notes notes(world, dag, schedule.placed);
  sched::SchedulerOptions how;
  how.policy = options.policy;
  how.concurrent_completions = false;
  sched::Scheduler scheduler(world, *device, domains, how, &notes);
  world.Attach(scheduler);
  sched::StreamSpec stream;
  stream.name = "tasks";
  stream.model = std::move(model);
  LEEWAY_ASSIGN_OR_RETURN(const sched::StreamId id, scheduler.OpenStream(std::move(stream)));
  LEEWAY_RETURN_IF_ERROR(scheduler.Submit(id, {}, Nanos{0}, 0).status());
  world.PumpWoken();
  for (Instant at = world.next_event(); at != Instant::Max(); at = world.next_event()) {
    world.AdvanceTo(at);
    world.PumpWoken();
  }
  LEEWAY_RETURN_IF_ERROR(scheduler.status());
  schedule.makespan = world.last_finish().since_origin();
  schedule.steals = scheduler.counters().steals;
  return Status();
}

Status CheckCores(std::uint32_t cores) {
  if (cores >= 1 && cores <= kMostCores) return Status();
  return base::InvalidArgument(absl::StrCat("cores are ", cores, "; between 1 and ", kMostCores));
}

}  // namespace

Result<TaskSchedule> Schedule(const TaskGraph& graph, const ScheduleOptions& options) {
  LEEWAY_RETURN_IF_ERROR(CheckCores(options.cores));
  LEEWAY_ASSIGN_OR_RETURN(const compile::TaskDag dag, compile::TaskDag::Make(graph));
  const std::int64_t bound = compile::LowerBound(dag, options.cores);
  TaskSchedule schedule;
  schedule.lower_bound = Nanos{bound};
  if (!options.optimize) {
    LEEWAY_RETURN_IF_ERROR(RunOnline(dag, options, schedule));
    return schedule;
  }
  compile::TaskPlacer placer(dag, options.cores);
  const compile::PlacedTasks placed = placer.Improved(options.seed, options.budget, bound);
  const std::vector<std::uint32_t> cores = compile::CoresOf(placed, dag, options.cores);
  for (std::uint32_t task = 0; task < dag.size(); ++task) {
    schedule.placed.push_back({cores[task], Nanos{placed.start[task]}});
  }
  schedule.makespan = Nanos{placed.makespan};
  schedule.schedules = placer.schedules();
  return schedule;
}

Result<Nanos> MakespanBound(const TaskGraph& graph, std::uint32_t cores) {
  LEEWAY_RETURN_IF_ERROR(CheckCores(cores));
  LEEWAY_ASSIGN_OR_RETURN(const compile::TaskDag dag, compile::TaskDag::Make(graph));
  return Nanos{compile::LowerBound(dag, cores)};
}

}  // namespace v0
}  // namespace leeway
