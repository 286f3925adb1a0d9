// leeway plan check, leeway plan show.

#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/units.h"
#include "leeway/text.h"

namespace leeway::cli {
namespace {

class PlanCheckCommand : public Command {
 public:
  std::string_view name() const override { return "plan check"; }
  std::string_view summary() const override { return "list everything that is wrong with a plan"; }
  std::vector<std::string_view> about() const override {
    return {
        "Lists every finding with its field path. With --device also what only shows on a device: "
        "cores that are not there, memory that does not suffice.",
        "Exits 1 if there is an error among the findings, 3 if the file cannot be read as a plan "
        "at all. Warnings alone exit 0."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway plan check bert.textproto --device onnxim_tpuv4_c4"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "PLAN", &plan_, "Path of the plan, or the name of a shipped one.");
    AddText(app, "--device", "DEVICE", &device_,
            "Check against this device too: a path, or the name of a shipped one.");
  }
  std::string Objection() const override { return plan_.empty() ? "plan check needs a PLAN" : ""; }
  Ending Run(const Invocation& invocation) override;

 private:
  std::string Screen(const CheckResult& result, const Ink& ink) const;
  std::string Document(const CheckResult& result, const std::string& bytes,
                       const std::optional<Device>& device) const;

  std::string plan_;
  std::string device_;
};

const char* SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::size_t Warnings(const CheckResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.findings.begin(), result.findings.end(),
                    [](const Finding& finding) { return finding.severity == Severity::kWarning; }));
}

std::string PlanCheckCommand::Screen(const CheckResult& result, const Ink& ink) const {
  std::string text;
  for (const Finding& finding : result.findings) {
    const std::string severity = SeverityName(finding.severity);
    text += (finding.path.empty() ? plan_ : finding.path) + "\n  " +
            (finding.severity == Severity::kError ? ink.Error(severity) : ink.Warning(severity)) +
            ": " + Wrapped(finding.message, severity.size() + 4) + "\n";
  }
  if (result.total == 0) return plan_ + ": no findings\n";
  const std::size_t warnings = Warnings(result);
  text += "\n" + plan_ + ": " + Counted(static_cast<double>(result.total), "finding", "findings");
  if (warnings > 0)
    text += ", " + Counted(static_cast<double>(warnings), "warning", "warnings") + " among them";
  if (result.total > result.findings.size()) {
    text +=
        "; the first " + FormatCount(static_cast<double>(result.findings.size())) + " are shown";
  }
  return text + "\n";
}

std::string PlanCheckCommand::Document(const CheckResult& result, const std::string& bytes,
                                       const std::optional<Device>& device) const {
  Json document = NewDocument("plan.check");
  document["plan"] = plan_;
  document["ok"] = result.ok;
  document["total"] = result.total;
  document["findings"] = Json::array();
  for (const Finding& finding : result.findings) {
    document["findings"].push_back({{"path", finding.path},
                                    {"message", finding.message},
                                    {"severity", SeverityName(finding.severity)}});
  }
  const Result<Plan> plan = Plan::Parse(bytes, plan_);
  if (plan.ok()) {
    document["digest"] = plan->digest();
  } else {
    SetAbsent(document, "digest", "a plan with errors has none");
  }
  if (device) {
    document["device"] = device->name();
    document["device_digest"] = device->digest();
  } else {
    SetAbsent(document, "device", "none was given");
  }
  return JsonText(document);
}

Ending PlanCheckCommand::Run(const Invocation& invocation) {
  std::optional<Device> device;
  if (!device_.empty()) {
    Result<Device> loaded = LoadDevice(device_);
    if (!loaded.ok()) return EndingOf(loaded.status());
    device = *loaded;
  }
  const Result<std::string> bytes = ReadPlan(plan_);
  if (!bytes.ok()) return EndingOf(bytes.status());
  const Result<CheckResult> result = Plan::Check(*bytes, device ? &*device : nullptr);
  if (!result.ok()) return EndingOf(result.status(), plan_);
  const std::string text = invocation.options().json ? Document(*result, *bytes, device)
                                                     : Screen(*result, invocation.ink());
  if (const Status written = invocation.Deliver(text); !written.ok()) return EndingOf(written);
  return {result->ok ? ExitCode::kOk : ExitCode::kNo, ""};
}

class PlanShowCommand : public Command {
 public:
  std::string_view name() const override { return "plan show"; }
  std::string_view summary() const override { return "print a plan as stable text"; }
  std::vector<std::string_view> about() const override {
    return {
        "Prints the plan one line a fusion group, for review and for tests that compare text. "
        "With --json the document also holds the whole plan in its JSON form."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway plan show bert.pb", "leeway plan show bert.textproto --json -o bert.json"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "PLAN", &plan_, "Path of the plan, or the name of a shipped one.");
  }
  std::string Objection() const override { return plan_.empty() ? "plan show needs a PLAN" : ""; }
  Ending Run(const Invocation& invocation) override;

 private:
  std::string plan_;
};

std::string ShowDocument(const Plan& plan) {
  Json document = NewDocument("plan.show");
  document["model"] = plan.model();
  document["digest"] = plan.digest();
  document["text"] = plan.ToText();
  const Result<std::string> form = BinaryToJson(Schema::kPlan, plan.Serialize());
  if (form.ok()) {
    document["plan"] = Json::parse(*form);
  } else {
    SetAbsent(document, "plan", form.status().message());
  }
  return JsonText(document);
}

Ending PlanShowCommand::Run(const Invocation& invocation) {
  const Result<Plan> plan = LoadPlan(plan_);
  if (!plan.ok()) return EndingOf(plan.status());
  invocation.Detail("digest " + plan->digest());
  return EndingOf(
      invocation.Deliver(invocation.options().json ? ShowDocument(*plan) : plan->ToText()));
}

}  // namespace

std::unique_ptr<Command> MakePlanCheckCommand() { return std::make_unique<PlanCheckCommand>(); }
std::unique_ptr<Command> MakePlanShowCommand() { return std::make_unique<PlanShowCommand>(); }

}  // namespace leeway::cli
