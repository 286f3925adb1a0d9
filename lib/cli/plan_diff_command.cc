// leeway plan diff.

#include <algorithm>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/units.h"
#include "leeway/plan_diff.h"

namespace leeway::cli {
namespace {

class PlanDiffCommand : public Command {
 public:
  std::string_view name() const override { return "plan diff"; }
  std::string_view summary() const override { return "list what differs between two plans"; }
  std::vector<std::string_view> about() const override {
    return {
        "Lists what differs in what the plans mean: operators moved between groups, groups split, "
        "merged or renamed, placements, envelopes, layouts, predicted times and all else. In what "
        "order the files list things, and how they spell an expression, is no difference.",
        "Predicted times are compared at each variant's opt, of whole variants too: the plans' "
        "own and, with --device, the model's where there is no profile. Those that move by less "
        "than --threshold are only counted.",
        "Exits 0 if there is no difference and 1 if there is one. Predictions below the threshold "
        "are none."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway plan diff before.pb after.textproto",
            "leeway plan diff before.pb after.pb --device onnxim_tpuv4_c4 --threshold 5%"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "BEFORE", &before_, "Path of a plan, or the name of a shipped one.");
    AddArgument(app, "AFTER", &after_, "The plan to compare with it.");
    AddText(app, "--device", "DEVICE", &device_,
            "Predict by the model of this device what has no profile: a path, or the name of a "
            "shipped one.");
    AddDims(app, "--at", &options_.at,
            "Compare predictions at these dimensions; those left out stay at each variant's opt.");
    AddShare(app, "--threshold", &options_.threshold,
             "Only count predictions that move by less, such as 5% or 0.05 (default 0).");
  }
  std::string Objection() const override {
    return after_.empty() ? "plan diff needs two plans: BEFORE and AFTER" : "";
  }
  Ending Run(const Invocation& invocation) override;

 private:
  struct View {
    const Plan& before;
    const Plan& after;
    const PlanDiff& diff;
  };
  std::string Screen(const View& view, const Ink& ink) const;
  std::string Document(const View& view) const;

  std::string before_, after_;
  std::string device_;
  PlanDiffOptions options_;
};

std::string PlanDiffCommand::Screen(const View& view, const Ink& ink) const {
  const PlanDiff& diff = view.diff;
  std::size_t width = 0;
  for (const PlanChange& change : diff.changes) {
    width = std::max(width, PlanChangeWord(change.kind).size());
  }
  std::string text;
  for (const PlanChange& change : diff.changes) {
    const std::string_view word = PlanChangeWord(change.kind);
    text += ink.Bold(word) + std::string(width - word.size() + 2, ' ') + change.text + "\n";
  }
  if (!text.empty()) text += "\n";
  text += before_ + " -> " + after_ + ": ";
  text += diff.changes.empty()
              ? "no difference"
              : Counted(static_cast<double>(diff.changes.size()), "difference", "differences");
  if (diff.small_predictions > 0) {
    text += "; " +
            Counted(static_cast<double>(diff.small_predictions), "prediction", "predictions") +
            " moved by less than " + FormatPercent(options_.threshold);
  } else if (diff.changes.empty() && !diff.same_digest) {
    text += "; the digests differ: the same content in another order or spelling";
  }
  return text + "\n";
}

Json PlanJson(const std::string& name, const Plan& plan) {
  Json json;
  json["plan"] = name;
  json["model"] = plan.model();
  json["digest"] = plan.digest();
  return json;
}

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string PlanDiffCommand::Document(const View& view) const {
  Json document = NewDocument("plan.diff");
  document["before"] = PlanJson(before_, view.before);
  document["after"] = PlanJson(after_, view.after);
  document["same_digest"] = view.diff.same_digest;
  document["total"] = view.diff.changes.size();
  document["small_predictions"] = view.diff.small_predictions;
  document["threshold"] = options_.threshold;
  if (options_.device != nullptr) {
    document["device"] = options_.device->name();
    document["device_digest"] = options_.device->digest();
  } else {
    SetAbsent(document, "device", "none was given");
  }
  document["changes"] = Json::array();
  for (const PlanChange& change : view.diff.changes) {
    Json json;
    json["kind"] = PlanChangeWord(change.kind);
    json["text"] = change.text;
    json["before_path"] = OrNull(change.before_path);
    json["after_path"] = OrNull(change.after_path);
    json["before"] = OrNull(change.before);
    json["after"] = OrNull(change.after);
    if (change.ratio) json["ratio"] = *change.ratio;
    document["changes"].push_back(std::move(json));
  }
  return JsonText(document);
}

Ending PlanDiffCommand::Run(const Invocation& invocation) {
  const Result<Plan> before = LoadPlan(before_);
  if (!before.ok()) return EndingOf(before.status());
  const Result<Plan> after = LoadPlan(after_);
  if (!after.ok()) return EndingOf(after.status());
  const auto device = LoadDeviceIfNamed(device_);
  if (!device.ok()) return EndingOf(device.status());
  options_.device = *device ? &**device : nullptr;
  const Result<PlanDiff> diff = Diff(*before, *after, options_);
  if (!diff.ok()) return EndingOf(diff.status());
  const View view = {*before, *after, *diff};
  const std::string text =
      invocation.options().json ? Document(view) : Screen(view, invocation.ink());
  if (const Status written = invocation.Deliver(text); !written.ok()) return EndingOf(written);
  return {diff->changes.empty() ? ExitCode::kOk : ExitCode::kNo, ""};
}

}  // namespace

std::unique_ptr<Command> MakePlanDiffCommand() { return std::make_unique<PlanDiffCommand>(); }

}  // namespace leeway::cli
