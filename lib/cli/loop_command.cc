// leeway loop: compile, serve three ways, retune, report.

#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/loop_progress.h"
#include "cli/loop_view.h"
#include "cli/simulate_view.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

class LoopCommand : public Command {
 public:
  std::string_view name() const override { return "loop"; }
  std::string_view summary() const override {
    return "compile, serve frozen, adapted and clairvoyant on equal arrivals, report";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Compiles MODEL for the first window of the traffic and serves the rest three ways on the "
        "same arrivals: with that plan, with plans adapted to what came, and with plans that knew "
        "each window. Says what drift cost, how much of it adapting got back, and where the tail "
        "went.",
        "Everything runs in virtual time: equal inputs and seed give equal bytes on every machine. "
        "All figures are simulated (uncalibrated).",
        "Leaves a folder with the report, the plans, the telemetry of both arms and a manifest of "
        "their digests. Where no plan could have gained anything, the first line says so.",
        "Exits 1 if a guardrail fails: in some window adapted needs more than 20 % more work than "
        "frozen, or adapted's p99 is above frozen's by more than its 95 % interval. The files are "
        "written all the same."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway loop llama2_7b_prefill --traffic chat_14d",
            "leeway loop model.pb --traffic requests.csv --map arrival=TIMESTAMP,seq=Tokens \\",
            "    --window 10m --load 0.3,0.5,0.7 --slo p99=500ms -o run-7 --seed 7"};
  }

  void Declare(CLI::App& app) override { arguments_.Declare(app); }
  OutputForm output_form() const override { return OutputForm::kFolder; }
  std::string Objection() const override {
    if (arguments_.model.empty()) return "loop needs a MODEL";
    if (arguments_.traffic.path.empty()) return "loop needs --traffic TRAFFIC";
    return "";
  }
  Ending Run(const Invocation& invocation) override;

 private:
  Existing existing() const { return arguments_.force ? Existing::kRunReplaced : Existing::kKept; }
  Result<LoopResult> Loop(const Invocation& invocation, const Plan& model, const Device& device,
                          const Traffic& traffic);
  Ending Failed(const Status& status) const;
  Ending Tell(const Invocation& invocation, const LoopResult& result, const Stopwatch& watch) const;

  LoopArguments arguments_;
  LoopOptions options_;
  std::string traffic_name_, reached_;
  std::uint64_t steps_ = 0;
};

Result<LoopResult> LoopCommand::Loop(const Invocation& invocation, const Plan& model,
                                     const Device& device, const Traffic& traffic) {
  LoopProgressLines lines(invocation);
  options_.progress = [&](const LoopProgress& progress) {
    lines.Update(progress);
    steps_ = std::max(steps_, progress.steps);  // threads may overtake each other
    return !Interrupted();
  };
  Result<LoopResult> result = RunLoop(model, device, traffic, options_);
  if (result.ok()) lines.Finish();
  reached_ = lines.Reached();
  options_.progress = {};  // it must not outlive what it refers to
  return result;
}

// What the traffic does wrong names its file already; the rest is about the model and the device.
Ending LoopCommand::Failed(const Status& status) const {
  const std::string message(status.message());
  switch (status.code()) {
    case StatusCode::kCancelled:
      return {ExitCode::kInterrupted, "interrupted " + reached_ +
                                          "; nothing is written, as the ways of serving are "
                                          "compared over all windows"};
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnimplemented: {
      const std::string& path = arguments_.traffic.path;
      if (message.find(path) != std::string::npos) return EndingOf(status);
      if (message.rfind(traffic_name_ + ": ", 0) == 0) {
        return {ExitCode::kBadInput, path + message.substr(traffic_name_.size())};
      }
      return {ExitCode::kBadInput,
              arguments_.model + " on " + arguments_.device + ", " + path + ": " + message};
    }
    default:
      return EndingOf(status);
  }
}

std::string FailedGuardrails(const std::vector<Guardrail>& guardrails) {
  std::string text;
  for (const Guardrail& guardrail : guardrails) {
    if (guardrail.ok || !guardrail.value) continue;
    text += (text.empty() ? "" : "\n") + std::string("guardrail ") + guardrail.name +
            " failed: adapted is worse than frozen by " +
            (guardrail.name == "p99" ? "at least " : "") + FormatPercent(*guardrail.value) +
            ", the limit is " + FormatPercent(guardrail.limit);
  }
  return text;
}

// The figures are told even where the files could not be written: they took long to get.
Ending LoopCommand::Tell(const Invocation& invocation, const LoopResult& result,
                         const Stopwatch& watch) const {
  const std::vector<Guardrail> guardrails = CheckGuardrails(result.summary());
  LoopView view = {arguments_, options_, result, guardrails, ""};
  const std::string& folder = invocation.options().folder;
  const Status written = WriteRunFolder(folder, LoopFiles(view), existing());
  if (written.ok()) view.folder = folder;
  const bool json = invocation.options().json;
  if (json && result.summary().clamped_rate > kManyClamped) {
    invocation.Warn(FormatPercent(result.summary().clamped_rate) +
                    " of the requests were clamped to the model's domain");
  }
  const Status delivered =
      invocation.Deliver(json ? LoopDocument(view, watch) : LoopScreen(view, invocation.ink()));
  if (!written.ok()) return EndingOf(written);
  if (!delivered.ok()) return EndingOf(delivered);
  const std::string failed = FailedGuardrails(guardrails);
  return {failed.empty() ? ExitCode::kOk : ExitCode::kNo, failed};
}

Ending LoopCommand::Run(const Invocation& invocation) {
  const Stopwatch watch;
  options_ = arguments_.Options(invocation.options().seed);
  const Status vacant = CheckRunFolder(invocation.options().folder, LoopFileNames(), existing());
  if (!vacant.ok()) return EndingOf(vacant);
  const Result<Plan> model = LoadPlan(arguments_.model);
  if (!model.ok()) return EndingOf(model.status());
  const Result<Device> device = LoadDevice(arguments_.device);
  if (!device.ok()) return EndingOf(device.status());
  const Result<Traffic> traffic = OpenTraffic(arguments_.traffic);
  if (!traffic.ok()) return EndingOf(traffic.status());
  traffic_name_ = traffic->name();
  invocation.Detail("model " + model->digest() + ", device " + device->digest() + ", traffic " +
                    traffic->digest());
  const Result<LoopResult> result = Loop(invocation, *model, *device, *traffic);
  if (!result.ok()) return Failed(result.status());
  for (const std::string& note : result->summary().notes) invocation.Note(note);
  const Ending ending = Tell(invocation, *result, watch);
  const double seconds = watch.wall_seconds();
  invocation.Note("simulated " + FormatCount(static_cast<double>(steps_)) + " steps in " +
                  FormatDuration(Nanos{std::llround(seconds * 1e9)}) + " (" +
                  FormatRate(static_cast<double>(steps_) / seconds, "steps") + ")");
  return ending;
}

}  // namespace

std::unique_ptr<Command> MakeLoopCommand() { return std::make_unique<LoopCommand>(); }

}  // namespace leeway::cli
