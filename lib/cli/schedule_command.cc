// leeway schedule: the makespan of a task graph.

#include <string>

#include "cli/command.h"
#include "cli/file.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/units.h"
#include "leeway/schedule.h"

namespace leeway::cli {
namespace {

class ScheduleCommand : public Command {
 public:
  std::string_view name() const override { return "schedule"; }
  std::string_view summary() const override {
    return "schedule a task graph on identical cores, and tell how near the best that is";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Runs GRAPH once on N identical cores in virtual time, by the policy that serves requests "
        "or one it is compared with: it learns of a task when what the task waits for has ended. "
        "Launches, bandwidth and moves "
        "cost nothing here. With --optimize the plan-time placer schedules it instead, which knows "
        "the whole graph at once.",
        "GRAPH is a task graph in the Standard Task Graph Set's form (.stg), or a plan: then the "
        "steps of one run of its first variant, calls unrolled.",
        "The lower bound holds for every schedule; a makespan that equals it is optimal."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway schedule rand0001.stg --cores 4",
            "leeway schedule llama2_7b_prefill --cores 4 --optimize --json"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "GRAPH", &graph_,
                "Path of a task graph (.stg) or of a plan, or the name of a shipped plan.");
    AddInteger(app, "--cores", {1, 256}, &cores_, "Identical cores.");
    AddPolicy(app, &options_.policy);
    AddFlag(app, "--optimize", &options_.optimize, "Plan ahead instead, by the placer.");
    AddInteger(app, "--budget", {1, 1'000'000'000}, &budget_,
               "Schedules that the placer may build (default 2000).");
    AddText(app, "--device", "DEVICE", &device_,
            "Device whose model times a plan's groups that have no profile (default "
            "onnxim_tpuv4_c4).");
  }
  std::string Objection() const override {
    if (graph_.empty()) return "schedule needs a GRAPH";
    return cores_ == 0 ? "schedule needs --cores N" : "";
  }
  Ending Run(const Invocation& invocation) override;

 private:
  bool is_stg() const {
    constexpr std::string_view kEnd = ".stg";
    return graph_.size() > kEnd.size() &&
           graph_.compare(graph_.size() - kEnd.size(), kEnd.size(), kEnd) == 0;
  }
  Result<TaskGraph> Read(Ending* failed) const;
  std::string Screen(const TaskGraph& graph, const TaskSchedule& schedule, const Ink& ink) const;
  std::string Document(const TaskGraph& graph, const TaskSchedule& schedule,
                       const Stopwatch& watch) const;

  std::string graph_;
  std::string device_ = "onnxim_tpuv4_c4";
  std::int64_t cores_ = 0;
  std::int64_t budget_ = 2000;
  ScheduleOptions options_;
};

double GapOf(const TaskSchedule& schedule) {
  return static_cast<double>(schedule.makespan.count()) /
             static_cast<double>(schedule.lower_bound.count()) -
         1;
}

std::string ScheduleCommand::Screen(const TaskGraph& graph, const TaskSchedule& schedule,
                                    const Ink& ink) const {
  const auto count = [](auto value) { return static_cast<double>(value); };
  std::string text = ink.Bold(graph_ + ": " + Counted(count(graph.tasks.size()), "task", "tasks") +
                              " on " + Counted(count(cores_), "core", "cores")) +
                     "\n\nmakespan     " + FormatCount(count(schedule.makespan.count())) +
                     " ns\nlower bound  " + FormatCount(count(schedule.lower_bound.count())) +
                     " ns\n";
  text += schedule.makespan == schedule.lower_bound
              ? "             optimal: no schedule is shorter\n"
              : "             at most " + FormatPercent(GapOf(schedule)) + " above the best\n";
  text += options_.optimize
              ? "placer       " + Counted(count(schedule.schedules), "schedule", "schedules") +
                    " built\n"
              : "steals       " + FormatCount(count(schedule.steals)) + "\n";
  return text;
}

std::string ScheduleCommand::Document(const TaskGraph& graph, const TaskSchedule& schedule,
                                      const Stopwatch& watch) const {
  Json document = NewDocument("schedule");
  document["graph"] = graph_;
  document["tasks"] = graph.tasks.size();
  document["cores"] = cores_;
  document["policy"] = options_.optimize ? "placer" : std::string(PolicyName(options_.policy));
  document["makespan_ns"] = schedule.makespan.count();
  document["lower_bound_ns"] = schedule.lower_bound.count();
  document["makespan"] = schedule.makespan.count();
  document["lower_bound"] = schedule.lower_bound.count();
  document["gap"] = GapOf(schedule);
  document["optimal"] = schedule.makespan == schedule.lower_bound;
  if (options_.optimize) {
    SetAbsent(document, "steals", "the placer plans ahead and steals nothing");
    document["schedules"] = schedule.schedules;
  } else {
    document["steals"] = schedule.steals;
    SetAbsent(document, "schedules", "only the placer builds several");
  }
  document["host"] = HostFigures(watch);
  document["ns_per_step"] = watch.cpu_seconds() * 1e9 / static_cast<double>(graph.tasks.size());
  document["placed"] = Json::array();
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    document["placed"].push_back({{"task", graph.tasks[task].name},
                                  {"core", schedule.placed[task].core},
                                  {"start_ns", schedule.placed[task].start.count()},
                                  {"time_ns", graph.tasks[task].time.count()}});
  }
  return JsonText(document);
}

Result<TaskGraph> ScheduleCommand::Read(Ending* failed) const {
  if (is_stg()) {
    const Result<std::string> text = ReadFile(graph_);
    Result<TaskGraph> graph = text.ok() ? ParseTaskGraph(*text, graph_) : text.status();
    if (!graph.ok()) *failed = EndingOf(graph.status());
    return graph;
  }
  const Result<Plan> plan = LoadPlan(graph_);
  if (!plan.ok()) {
    *failed = EndingOf(plan.status());
    return plan.status();
  }
  const Result<Device> device = LoadDevice(device_);
  if (!device.ok()) {
    *failed = EndingOf(device.status());
    return device.status();
  }
  Result<TaskGraph> graph = TaskGraphOf(*plan, *device);
  if (!graph.ok()) {
    *failed = {ExitCode::kBadInput,
               graph_ + " on " + device_ + ": " + std::string(graph.status().message())};
  }
  return graph;
}

Ending ScheduleCommand::Run(const Invocation& invocation) {
  Ending failed;
  const Result<TaskGraph> graph = Read(&failed);
  if (!graph.ok()) return failed;
  options_.cores = static_cast<std::uint32_t>(cores_);
  options_.seed = invocation.options().seed;
  options_.budget = static_cast<std::uint64_t>(budget_);
  const Stopwatch watch;
  const Result<TaskSchedule> schedule = Schedule(*graph, options_);
  if (!schedule.ok()) {
    return {ExitCode::kBadInput, graph_ + ": " + std::string(schedule.status().message())};
  }
  const Status written =
      invocation.Deliver(invocation.options().json ? Document(*graph, *schedule, watch)
                                                   : Screen(*graph, *schedule, invocation.ink()));
  return written.ok() ? Ending{ExitCode::kOk, ""} : EndingOf(written);
}

}  // namespace

std::unique_ptr<Command> MakeScheduleCommand() { return std::make_unique<ScheduleCommand>(); }

}  // namespace leeway::cli
