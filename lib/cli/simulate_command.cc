// leeway simulate: serves a trace in virtual time.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/file.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/simulate_view.h"
#include "cli/units.h"
#include "leeway/simulate.h"

namespace leeway::cli {
namespace {

class SimulateCommand : public Command {
 public:
  std::string_view name() const override { return "simulate"; }
  std::string_view summary() const override {
    return "serve a traffic with a plan on a simulated device, in virtual time";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Serves the traffic's requests with the plan on the device and says how long they took and "
        "where that time went. Times are virtual: equal inputs and seed give equal bytes on every "
        "machine. All figures are simulated (uncalibrated).",
        "PLAN and DEVICE are paths (.pb, .textproto, .json) or names of what is shipped: the plans "
        "llama2_7b_prefill, bert_base and resnet50."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway simulate bert.pb --device onnxim_tpuv4_c4 --traffic chat.csv \\",
            "    --map arrival=TIMESTAMP,seq=ContextTokens --slo p99=50ms",
            "leeway simulate bert.pb --traffic hourly.csv.gz --format length-histogram \\",
            "    --requests 100000 --seed 7 --json -o result.json"};
  }

  void Declare(CLI::App& app) override;
  std::string Objection() const override;
  Ending Run(const Invocation& invocation) override;

 private:
  void DeclareServing(CLI::App& app);
  void Settle(const Invocation& invocation);
  Result<Traffic> Arrivals() const;
  // What is wrong with the streams that were named; empty if nothing is.
  std::string UnknownStream(const Traffic& traffic) const;
  Result<SimResult> Serve(const Invocation& invocation, const Traffic& traffic, const Plan& plan,
                          const Device& device);
  Ending Stopped() const;
  Ending Failed(const Status& status) const;
  double Share(const Progress& progress) const;
  std::string Line(const Progress& progress, double seconds) const;

  SimulateArguments arguments_;
  SimulateOptions options_;
  std::int64_t max_batch_size_ = 8;
  std::int64_t max_queue_size_ = 0;
  std::int64_t max_concurrent_runs_ = 0;
  std::int64_t priority_levels_ = Priority::kLeastUrgent;
  std::int64_t default_priority_level_ = Priority::kMostUrgent;
  std::optional<Nanos> max_queue_delay_, default_timeout_;
  std::vector<std::int64_t> preferred_batch_size_;
  std::string timeout_action_ = "reject";
  std::string fallback_ = "generic";
  bool first_come_ = false;
  bool strict_ = false;
  Progress reached_;
};

void SimulateCommand::Declare(CLI::App& app) {
  AddArgument(app, "PLAN", &arguments_.plan, "Path of the plan, or the name of a shipped one.");
  AddText(app, "--device", "DEVICE", &arguments_.device,
          "Device to serve on: a path, or the name of a shipped one (default onnxim_tpuv4_c4).");
  AddText(app, "--traffic", "TRAFFIC", &arguments_.traffic.path,
          "Arrivals to serve: a path, or the name of a shipped traffic.");
  AddText(app, "--telemetry", "FILE", &arguments_.telemetry,
          "Also write the telemetry snapshot, a serialized leeway.telemetry message, to FILE.");
  DeclareServing(app);
  arguments_.traffic.Declare(app);
  AddDuration(app, "--window", Zero::kRefused, &arguments_.window,
              "Serve only the first TIME of the traffic, such as 10m.");
  AddBindings(app, &options_.bind);
  AddFlag(app, "--strict", &strict_,
          "Refuse a request above a dimension's domain; otherwise it is clamped and counted.");
}

void SimulateCommand::DeclareServing(CLI::App& app) {
  BeginGroup(app, "Serving");
  AddText(app, "--entry", "NAME", &options_.entry,
          "Entry of the plan that requests run (default: its only one).");
  AddInteger(app, "--max-batch-size", {1, 1 << 20}, &max_batch_size_,
             "Requests that one batch may hold (default 8).");
  AddDuration(app, "--max-queue-delay", Zero::kAllowed, &max_queue_delay_,
              "Time a request may wait for its batch to fill, such as 2ms (default 0).");
  AddIntegers(app, "--preferred-batch-size", &preferred_batch_size_,
              "Sizes at which a batch is formed at once, without the delay: 2,4.");
  AddInteger(app, "--max-queue-size", {0, 1 << 30}, &max_queue_size_,
             "Requests of one stream that may wait; one more is rejected (default 0: no bound).");
  AddDuration(app, "--default-timeout", Zero::kAllowed, &default_timeout_,
              "Time a request may wait before it has been batched, such as 1s (default 0: for "
              "ever).");
  AddChoice(app, "--timeout-action", {"reject", "delay"}, &timeout_action_,
            "What happens to a request whose time is up: it expires, or goes behind the others "
            "(default reject).");
  AddFlag(app, "--predicted-deadline-admission",
          &options_.serving.queue.predicted_deadline_admission,
          "Reject on arrival what is predicted to miss the --slo, from the plan's costs and what "
          "waits already.");
  AddInteger(app, "--max-concurrent-runs", {0, 1 << 20}, &max_concurrent_runs_,
             "Runs in flight (default 0: as many as the device has cores).");
  AddFlag(app, "--first-come", &first_come_,
          "Batch requests in order of arrival, in the variant of the largest, instead of by "
          "bucket.");
  AddFlag(app, "--preserve-ordering", &options_.serving.batching.preserve_ordering,
          "Give the responses of a stream in the order of its requests: what is done waits for "
          "what came before it.");
  AddInteger(app, "--priority-levels", {Priority::kMostUrgent, Priority::kLeastUrgent},
             &priority_levels_,
             "Levels that streams may have, from 1, the most urgent (default "
             "63).");
  AddInteger(app, "--default-priority-level", {Priority::kMostUrgent, Priority::kLeastUrgent},
             &default_priority_level_, "Level of the streams that state none (default 1).");
  AddPolicy(app, &options_.serving.policy);
  AddStreams(app, &options_.streams);
  AddChoice(app, "--fallback", {"generic", "nearest", "reject"}, &fallback_,
            "What happens to a request that no variant covers (default generic: it runs unfused).");
  AddNumber(app, "--phi", {1, 1000}, &options_.serving.phi,
            "A generic run takes at least X times the fused work (default 2).");
  app.add_option_function<std::string>(
         "--slo", [this](const std::string& text) { arguments_.slo = ParseObjective(text); },
         "Latency objective of every stream: 50ms, or p99=50ms to be told whether that "
         "percentile (p50, p90, p95 or p99) keeps it too.")
      ->type_name("[pNN=]TIME")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::string SimulateCommand::Objection() const {
  if (arguments_.plan.empty()) return "simulate needs a PLAN";
  if (arguments_.traffic.path.empty()) return "simulate needs --traffic TRAFFIC";
  if (options_.serving.queue.predicted_deadline_admission && !arguments_.slo) {
    return "--predicted-deadline-admission needs --slo";
  }
  if (default_priority_level_ > priority_levels_) {
    return "--default-priority-level " + std::to_string(default_priority_level_) +
           " exceeds --priority-levels " + std::to_string(priority_levels_);
  }
  return "";
}

void SimulateCommand::Settle(const Invocation& invocation) {
  options_.seed = invocation.options().seed;
  options_.serving.batching.max_batch_size = static_cast<int>(max_batch_size_);
  options_.serving.batching.priority_levels = static_cast<int>(priority_levels_);
  options_.serving.batching.default_priority_level = static_cast<int>(default_priority_level_);
  options_.serving.queue.max_queue_size = static_cast<int>(max_queue_size_);
  options_.serving.max_concurrent_runs = static_cast<int>(max_concurrent_runs_);
  if (max_queue_delay_) options_.serving.batching.max_queue_delay = *max_queue_delay_;
  if (default_timeout_) options_.serving.queue.default_timeout = *default_timeout_;
  if (timeout_action_ == "delay") {
    options_.serving.queue.timeout_action = TimeoutAction::kDelay;
  }
  for (const std::int64_t size : preferred_batch_size_) {
    // Those that are out of bounds are refused by these, whatever they are.
    options_.serving.batching.preferred_batch_size.push_back(
        static_cast<int>(std::clamp<std::int64_t>(size, 0, 1 << 30)));
  }
  if (first_come_) options_.serving.batching.formation = BatchingOptions::Formation::kFirstCome;
  if (fallback_ == "nearest") options_.serving.fallback = Fallback::kNearest;
  if (fallback_ == "reject") options_.serving.fallback = Fallback::kReject;
  if (strict_) options_.above_domain = SimulateOptions::AboveDomain::kError;
  if (arguments_.slo) options_.serving.slo = arguments_.slo->latency;
}

Result<Traffic> SimulateCommand::Arrivals() const {
  Result<Traffic> traffic = OpenTraffic(arguments_.traffic);
  if (!traffic.ok() || !arguments_.window) return traffic;
  return traffic->First(*arguments_.window);
}

// The part of the traffic that is served, where --limit or --window tells how much there is; or 0.
double SimulateCommand::Share(const Progress& progress) const {
  double done = 0;
  const std::uint64_t limit = arguments_.traffic.options.limit;
  if (limit > 0) done = static_cast<double>(progress.requests) / static_cast<double>(limit);
  if (arguments_.window) {
    done = std::max(done, static_cast<double>(progress.now.count()) /
                              static_cast<double>(arguments_.window->count()));
  }
  return std::min(done, 1.0);
}

// "serving   62 %  ETA 3 s  123,456 requests, 2.500 h of the traffic  1.234 M steps/s"
std::string SimulateCommand::Line(const Progress& progress, double seconds) const {
  std::string line = "serving  ";
  if (const double done = Share(progress); done > 0) {
    char known[64];
    std::snprintf(known, sizeof known, "%3.0f %%  ETA %.0f s  ", done * 100,
                  seconds * (1 - done) / done);
    line += known;
  }
  return line + FormatCount(static_cast<double>(progress.requests)) + " requests, " +
         FormatDuration(progress.now.since_origin()) + " of the traffic  " +
         FormatRate(static_cast<double>(progress.steps) / seconds, "steps");
}

std::string SimulateCommand::UnknownStream(const Traffic& traffic) const {
  const std::vector<std::string> names = traffic.streams();
  for (const StreamOptions& stream : options_.streams) {
    if (std::find(names.begin(), names.end(), stream.name) != names.end()) continue;
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "'" : ", '") + name + "'";
    return "option --stream: the traffic has no stream '" + stream.name + "'; it has " + known;
  }
  return "";
}

Result<SimResult> SimulateCommand::Serve(const Invocation& invocation, const Traffic& traffic,
                                         const Plan& plan, const Device& device) {
  ProgressLine line(invocation);
  const Stopwatch watch;
  options_.progress = [&](const Progress& progress) {
    reached_ = progress;
    line.Update([&] { return Line(progress, watch.wall_seconds()); });
    return !Interrupted();
  };
  return Simulate(plan, device, traffic, options_);
}

Ending SimulateCommand::Stopped() const {
  return {ExitCode::kInterrupted,
          "interrupted: " + FormatCount(static_cast<double>(reached_.requests)) + " requests, " +
              FormatDuration(reached_.now.since_origin()) +
              " of the traffic, were complete so far; nothing is written"};
}

// What the traffic does wrong names its file already; the rest is about the plan and the device.
Ending SimulateCommand::Failed(const Status& status) const {
  switch (status.code()) {
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnimplemented:
      return {ExitCode::kBadInput,
              arguments_.plan + " on " + arguments_.device + ": " + std::string(status.message())};
    default:
      return EndingOf(status);
  }
}

Ending SimulateCommand::Run(const Invocation& invocation) {
  Settle(invocation);
  if (!arguments_.telemetry.empty()) {
    if (IsSamePlace(arguments_.telemetry, invocation.options().output)) {
      return {ExitCode::kUsage,
              "options -o and --telemetry both name '" + arguments_.telemetry + "'"};
    }
    const Status writable = CheckWritable(arguments_.telemetry);
    if (!writable.ok()) return EndingOf(writable);
  }
  const Result<Plan> plan = LoadPlan(arguments_.plan);
  if (!plan.ok()) return EndingOf(plan.status());
  const Result<Device> device = LoadDevice(arguments_.device);
  if (!device.ok()) return EndingOf(device.status());
  const Result<Traffic> traffic = Arrivals();
  if (!traffic.ok()) return EndingOf(traffic.status());
  if (std::string unknown = UnknownStream(*traffic); !unknown.empty()) {
    return {ExitCode::kUsage, std::move(unknown)};
  }
  invocation.Detail("plan " + plan->digest() + ", device " + device->digest() + ", traffic " +
                    traffic->digest());
  const Stopwatch watch;
  const Result<SimResult> result = Serve(invocation, *traffic, *plan, *device);
  if (result.status().code() == StatusCode::kCancelled) return Stopped();
  if (!result.ok()) return Failed(result.status());
  if (!arguments_.telemetry.empty()) {
    const Status written = WriteFile(arguments_.telemetry, result->telemetry());
    if (!written.ok()) return EndingOf(written);
  }
  for (const std::string& note : result->summary().notes) invocation.Note(note);
  const double clamped = ClampedRate(result->summary());
  if (clamped > kManyClamped && invocation.options().json) {
    invocation.Warn(FormatPercent(clamped) + " of the requests were clamped to the model's domain");
  }
  const SimulateView view = {*plan, *device, *traffic, arguments_, options_, *result};
  const std::string text = invocation.options().json ? SimulateJson(view, watch)
                                                     : SimulateScreen(view, invocation.ink());
  if (const Status written = invocation.Deliver(text); !written.ok()) return EndingOf(written);
  const double seconds = watch.wall_seconds();
  invocation.Note("simulated " + FormatCount(static_cast<double>(result->steps())) + " steps in " +
                  FormatDuration(Nanos{std::llround(seconds * 1e9)}) + " (" +
                  FormatRate(static_cast<double>(result->steps()) / seconds, "steps") + ")");
  return {};
}

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace leeway::cli
