// leeway plan check.

#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

// What became of one of the plans.
struct Checked {
  std::string name;
  CheckResult result;
  // Of a plan without errors.
  std::string digest;
  // Why it cannot be read as a plan at all.
  Status unreadable;
};

class PlanCheckCommand : public Command {
 public:
  std::string_view name() const override { return "plan check"; }
  std::string_view summary() const override { return "list everything that is wrong with a plan"; }
  std::vector<std::string_view> about() const override {
    return {
        "Lists every finding with its field path. With --device also what only shows on a device: "
        "cores that are not there, memory that does not suffice.",
        "Exits 1 if there is an error among the findings of any plan, 3 or 4 if a file cannot be "
        "read as a plan at all; the others are checked all the same. Warnings alone exit 0, with "
        "--strict 1.",
        "With --json one plan gives one document; several give one with an object for each in "
        "'plans'."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway plan check bert.textproto --device onnxim_tpuv4_c4",
            "leeway plan check out/*.pb --strict --json"};
  }
  void Declare(CLI::App& app) override {
    AddArguments(app, "PLAN...", &plans_, "Paths of plans, or names of shipped ones.");
    AddText(app, "--device", "DEVICE", &device_,
            "Check against this device too: a path, or the name of a shipped one.");
    AddFlag(app, "--strict", &strict_, "Take warnings for errors.");
  }
  std::string Objection() const override { return plans_.empty() ? "plan check needs a PLAN" : ""; }
  Ending Run(const Invocation& invocation) override;

 private:
  Checked Check(const std::string& name, const std::optional<Device>& device) const;
  std::string Document(const std::vector<Checked>& all, const std::optional<Device>& device) const;

  std::vector<std::string> plans_;
  std::string device_;
  bool strict_ = false;
};

const char* SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::size_t Warnings(const CheckResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.findings.begin(), result.findings.end(),
                    [](const Finding& finding) { return finding.severity == Severity::kWarning; }));
}

std::string Screen(const Checked& checked, const Ink& ink) {
  const CheckResult& result = checked.result;
  std::string text;
  for (const Finding& finding : result.findings) {
    const std::string severity = SeverityName(finding.severity);
    text += (finding.path.empty() ? checked.name : finding.path) + "\n  " +
            (finding.severity == Severity::kError ? ink.Error(severity) : ink.Warning(severity)) +
            ": " + Wrapped(finding.message, severity.size() + 4) + "\n";
  }
  if (result.total == 0) return checked.name + ": no findings\n";
  const std::size_t warnings = Warnings(result);
  text += "\n" + checked.name + ": " +
          Counted(static_cast<double>(result.total), "finding", "findings");
  if (warnings > 0)
    text += ", " + Counted(static_cast<double>(warnings), "warning", "warnings") + " among them";
  if (result.total > result.findings.size()) {
    text +=
        "; the first " + FormatCount(static_cast<double>(result.findings.size())) + " are shown";
  }
  return text + "\n";
}

void SetPlan(Json& object, const Checked& checked) {
  object["plan"] = checked.name;
  if (!checked.unreadable.ok()) {
    object["ok"] = false;
    const std::string reason = "not read: " + std::string(checked.unreadable.message());
    for (const char* key : {"total", "findings", "digest"}) SetAbsent(object, key, reason);
    return;
  }
  const CheckResult& result = checked.result;
  object["ok"] = result.ok;
  object["total"] = result.total;
  object["findings"] = Json::array();
  for (const Finding& finding : result.findings) {
    object["findings"].push_back({{"path", finding.path},
                                  {"message", finding.message},
                                  {"severity", SeverityName(finding.severity)}});
  }
  if (!checked.digest.empty()) {
    object["digest"] = checked.digest;
  } else {
    SetAbsent(object, "digest", "a plan with errors has none");
  }
}

std::string PlanCheckCommand::Document(const std::vector<Checked>& all,
                                       const std::optional<Device>& device) const {
  Json document = NewDocument("plan.check");
  if (all.size() == 1) {
    SetPlan(document, all[0]);
  } else {
    std::size_t total = 0;
    bool ok = true;
    Json plans = Json::array();
    for (const Checked& checked : all) {
      SetPlan(plans.emplace_back(), checked);
      total += checked.result.total;
      ok = ok && checked.unreadable.ok() && checked.result.ok;
    }
    document["ok"] = ok;
    document["total"] = total;
    document["plans"] = std::move(plans);
    for (const char* key : {"plan", "findings", "digest"}) {
      SetAbsent(document, key, "there are several plans: each has its own in 'plans'");
    }
  }
  document["strict"] = strict_;
  if (device) {
    document["device"] = device->name();
    document["device_digest"] = device->digest();
  } else {
    SetAbsent(document, "device", "none was given");
  }
  return JsonText(document);
}

Checked PlanCheckCommand::Check(const std::string& name,
                                const std::optional<Device>& device) const {
  Checked checked;
  checked.name = name;
  const Result<std::string> bytes = ReadPlan(name);
  if (!bytes.ok()) {
    checked.unreadable = bytes.status();
    return checked;
  }
  Result<CheckResult> result = Plan::Check(*bytes, device ? &*device : nullptr);
  if (!result.ok()) {
    checked.unreadable = result.status();
    return checked;
  }
  checked.result = *std::move(result);
  if (strict_) {
    checked.result.ok = checked.result.total == 0;
    for (Finding& finding : checked.result.findings) finding.severity = Severity::kError;
  }
  if (const Result<Plan> plan = Plan::Parse(*bytes, name); plan.ok()) {
    checked.digest = plan->digest();
  }
  return checked;
}

Ending PlanCheckCommand::Run(const Invocation& invocation) {
  const auto device = LoadDeviceIfNamed(device_);
  if (!device.ok()) return EndingOf(device.status());
  std::vector<Checked> all;
  Ending ending;
  for (const std::string& name : plans_) {
    const Checked& checked = all.emplace_back(Check(name, *device));
    if (!checked.unreadable.ok()) {
      const Ending one = EndingOf(checked.unreadable, name);
      ending.code = std::max(ending.code, one.code);
      ending.message += (ending.message.empty() ? "" : "\n") + one.message;
    } else if (!checked.result.ok) {
      ending.code = std::max(ending.code, ExitCode::kNo);
    }
  }
  // Of one that cannot be read there is nothing to tell.
  if (all.size() == 1 && !all[0].unreadable.ok()) return ending;
  std::string text;
  if (invocation.options().json) {
    text = Document(all, *device);
  } else {
    for (const Checked& checked : all) {
      if (checked.unreadable.ok()) text += Screen(checked, invocation.ink());
    }
  }
  if (const Status written = invocation.Deliver(text); !written.ok()) return EndingOf(written);
  return ending;
}

}  // namespace

std::unique_ptr<Command> MakePlanCheckCommand() { return std::make_unique<PlanCheckCommand>(); }

}  // namespace leeway::cli
