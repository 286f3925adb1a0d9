// leeway validate-model: the model against figures of others.

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/file.h"
#include "cli/json.h"
#include "cli/units.h"
#include "leeway/validate.h"

namespace leeway::cli {
namespace {

using Checks = std::vector<ModelCheck>;

class ValidateModelCommand : public Command {
 public:
  std::string_view name() const override { return "validate-model"; }
  std::string_view summary() const override {
    return "hold the cost model to figures that others measured or simulated";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Recomputes published figures and shows both, the error and what is accepted. A prediction "
        "is evidence: the figure is no input of the model. Plumbing only shows that what a device "
        "was fitted to, or what mathematics demands, arrives.",
        "With --scalesim also every row of a file of SCALE-Sim results, with the columns dataflow, "
        "R, C, M, N, K, scalesim_compute_cycles, ifmap_sram_reads, filter_sram_reads and "
        "ofmap_sram_writes.",
        "Exits 1 if any check fails."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway validate-model", "leeway validate-model --scalesim resnet50_layers.csv --json"};
  }
  void Declare(CLI::App& app) override {
    AddText(app, "--scalesim", "FILE", &scalesim_, "SCALE-Sim results, a row a layer (.csv).");
  }
  std::string Objection() const override { return ""; }
  Ending Run(const Invocation& invocation) override;

 private:
  std::string scalesim_;
};

std::size_t Failed(const Checks& checks) {
  return static_cast<std::size_t>(std::count_if(
      checks.begin(), checks.end(), [](const ModelCheck& check) { return !check.ok(); }));
}

std::string Accepted(const ModelCheck& check) {
  if (check.rule == CheckRule::kAtMost) return "at most";
  if (check.tolerance == 0) return "exact";
  if (check.tolerance < 1e-4) return "± " + FormatShortest(check.tolerance);
  return "± " + FormatPercent(check.tolerance, check.tolerance < 0.01 ? 2 : 0);
}

// A line of its own for what each is, as it may be long.
std::string Screen(const Checks& checks, const Ink& ink) {
  std::string text;
  for (const ModelCheck& check : checks) {
    const std::string verdict = check.ok() ? "ok    " : ink.Error("failed");
    text += verdict + "  " + check.name + (check.name.size() < 3 ? "   " : "  ") + check.what +
            "\n             ours " + FormatNumber(check.ours) + ", reference " +
            FormatNumber(check.reference) + " " + check.unit + ": " +
            FormatSignedPercent(check.error()) + ", " + Accepted(check) + ", " +
            CheckKindName(check.kind) + "\n             " + ink.Faint(Wrapped(check.source, 13)) +
            "\n";
    if (!check.ok() && !check.note.empty())
      text += "             " + Wrapped(check.note, 13) + "\n";
  }
  const auto count = [](std::size_t value) { return static_cast<double>(value); };
  const std::size_t failed = Failed(checks);
  return text + "\n" +
         ink.Bold(Counted(count(checks.size()), "check", "checks") + ", " +
                  FormatCount(count(failed)) + " failed") +
         "\n";
}

std::string Document(const Checks& checks) {
  Json document = NewDocument("validate-model");
  document["ok"] = Failed(checks) == 0;
  document["failed"] = Failed(checks);
  document["checks"] = Json::array();
  for (const ModelCheck& check : checks) {
    Json object = {{"name", check.name},
                   {"what", check.what},
                   {"ours", check.ours},
                   {"reference", check.reference},
                   {"unit", check.unit},
                   {"error", check.error()},
                   {"tolerance", check.tolerance},
                   {"rule", check.rule == CheckRule::kAtMost ? "at_most" : "within"},
                   {"kind", CheckKindName(check.kind)},
                   {"ok", check.ok()},
                   {"source", check.source}};
    if (!check.ok() && !check.note.empty()) object["note"] = check.note;
    document["checks"].push_back(std::move(object));
  }
  return JsonText(document);
}

Ending ValidateModelCommand::Run(const Invocation& invocation) {
  ValidateOptions options;
  if (!scalesim_.empty()) {
    Result<std::string> text = ReadFile(scalesim_);
    if (!text.ok()) return EndingOf(text.status());
    options.scalesim_rows = *std::move(text);
    options.scalesim_name = scalesim_;
    if (options.scalesim_rows.empty()) return {ExitCode::kBadInput, scalesim_ + ": no rows"};
  }
  const Result<Checks> checks = ValidateModel(options);
  if (!checks.ok()) return EndingOf(checks.status());
  const Status written = invocation.Deliver(
      invocation.options().json ? Document(*checks) : Screen(*checks, invocation.ink()));
  if (!written.ok()) return EndingOf(written);
  return {Failed(*checks) == 0 ? ExitCode::kOk : ExitCode::kNo, ""};
}

}  // namespace

std::unique_ptr<Command> MakeValidateModelCommand() {
  return std::make_unique<ValidateModelCommand>();
}

}  // namespace leeway::cli
