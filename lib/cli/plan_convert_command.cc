// leeway plan convert.

#include <utility>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "leeway/text.h"

namespace leeway::cli {
namespace {

constexpr const char* kFormNames[] = {"binary", "textproto", "json"};

class PlanConvertCommand : public Command {
 public:
  std::string_view name() const override { return "plan convert"; }
  std::string_view summary() const override { return "write a plan in another form"; }
  std::vector<std::string_view> about() const override {
    return {
        "Writes the plan in the form that the name given with -o says: .textproto, .json, and "
        "binary for any other. With --to it may go to standard output.",
        "What was written is read back, and has the digest that was read, or nothing is written. "
        "A binary plan is normalised; its unknown fields are kept. The text forms cannot hold "
        "those, and a plan that has some is refused. A plan with errors is converted all the same, "
        "with a warning: its text helps to mend it."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway plan convert bert.pb -o bert.textproto",
            "leeway plan convert bert_base --to json | jq .header"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "PLAN", &plan_, "Path of the plan, or the name of a shipped one.");
    AddChoice(app, "--to", {kFormNames[0], kFormNames[1], kFormNames[2]}, &to_,
              "Form to write (default: by the name given with -o).");
  }
  std::string Objection() const override {
    return plan_.empty() ? "plan convert needs a PLAN" : "";
  }
  Ending Run(const Invocation& invocation) override;

 private:
  Form Target(const std::string& output) const;
  Ending Tell(const Invocation& invocation, Form form, const std::string& written,
              const Result<Plan>& plan) const;

  std::string plan_;
  std::string to_;
};

const char* NameOf(Form form) { return kFormNames[static_cast<int>(form)]; }

Form PlanConvertCommand::Target(const std::string& output) const {
  for (const Form form : {Form::kBinary, Form::kText, Form::kJson}) {
    if (to_ == NameOf(form)) return form;
  }
  return FormOf(output);
}

Result<std::string> Encoded(Form form, const std::string& bytes, const std::string& name) {
  if (form == Form::kText) return BinaryToText(Schema::kPlan, bytes, name);
  if (form == Form::kJson) return BinaryToJson(Schema::kPlan, bytes, name);
  return bytes;
}

Result<std::string> Decoded(Form form, const std::string& written) {
  constexpr std::string_view kName = "what was written";
  if (form == Form::kText) return TextToBinary(Schema::kPlan, written, kName);
  if (form == Form::kJson) return JsonToBinary(Schema::kPlan, written, kName);
  return written;
}

// Whether reading `written` gives the plan again: by its digest or, where it has errors and so has
// none, by its text.
Status CheckBack(Form form, const std::string& written, const std::string& bytes,
                 const Result<Plan>& plan, const std::string& name) {
  const Result<std::string> back = Decoded(form, written);
  if (!back.ok()) return back.status();
  const auto differs = [&](const std::string& what) {
    return Status(StatusCode::kInternal, name + ": the " + NameOf(form) + " form " + what);
  };
  if (plan.ok()) {
    const Result<Plan> again = Plan::Parse(*back, "what was written");
    if (!again.ok()) return again.status();
    return again->digest() == plan->digest() ? Status() : differs("has another digest");
  }
  if (form == Form::kBinary) return Status();  // the bytes as they were
  const Result<std::string> before = BinaryToText(Schema::kPlan, bytes);
  const Result<std::string> after = BinaryToText(Schema::kPlan, *back);
  if (!before.ok()) return before.status();
  if (!after.ok()) return after.status();
  return *before == *after ? Status() : differs("reads back as another plan");
}

Ending PlanConvertCommand::Tell(const Invocation& invocation, Form form, const std::string& written,
                                const Result<Plan>& plan) const {
  if (!invocation.options().json) {
    invocation.Detail(plan.ok() ? "digest " + plan->digest() : "no digest: the plan has errors");
    return {};
  }
  Json document = NewDocument("plan.convert");
  document["plan"] = plan_;
  document["output"] = invocation.options().output;
  document["form"] = NameOf(form);
  document["bytes"] = written.size();
  if (plan.ok()) {
    document["digest"] = plan->digest();
  } else {
    SetAbsent(document, "digest", "a plan with errors has none");
  }
  return EndingOf(invocation.Show(JsonText(document)));
}

Ending PlanConvertCommand::Run(const Invocation& invocation) {
  const std::string& output = invocation.options().output;
  const bool to_file = !output.empty() && output != "-";
  if (!to_file && to_.empty()) {
    return {ExitCode::kUsage, "plan convert needs -o FILE or --to"};
  }
  if (!to_file && invocation.options().json) {
    return {ExitCode::kUsage,
            "option --json tells about the conversion and needs -o FILE; --to json converts"};
  }
  const Form form = Target(output);
  if (to_file && FormOf(output) != form) {
    invocation.Warn(output + " holds the " + NameOf(form) +
                    " form; a file of this name is read as " + NameOf(FormOf(output)));
  }
  const Result<std::string> bytes = ReadPlan(plan_);
  if (!bytes.ok()) return EndingOf(bytes.status());
  const Result<Plan> plan = Plan::Parse(*bytes, plan_);
  if (!plan.ok()) {
    if (plan.status().code() != StatusCode::kInvalidArgument) return EndingOf(plan.status());
    invocation.Warn(plan_ + " has errors; 'leeway plan check' lists them");
  }
  const Result<std::string> written = Encoded(form, plan.ok() ? plan->Serialize() : *bytes, plan_);
  if (!written.ok()) return EndingOf(written.status(), plan_);
  const Status same = CheckBack(form, *written, *bytes, plan, plan_);
  if (!same.ok()) return {ExitCode::kInternal, "internal error: " + std::string(same.message())};
  if (const Status delivered = invocation.DeliverBytes(*written); !delivered.ok()) {
    return EndingOf(delivered);
  }
  return Tell(invocation, form, *written, plan);
}

}  // namespace

std::unique_ptr<Command> MakePlanConvertCommand() { return std::make_unique<PlanConvertCommand>(); }

}  // namespace leeway::cli
