// leeway plan show.

#include <optional>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "leeway/plan_view.h"
#include "leeway/text.h"

namespace leeway::cli {
namespace {

class PlanShowCommand : public Command {
 public:
  std::string_view name() const override { return "plan show"; }
  std::string_view summary() const override { return "print a plan as stable text or as a graph"; }
  std::vector<std::string_view> about() const override {
    return {
        "Prints the plan one line a fusion group, for review and for tests that compare text: its "
        "operators, placement, predicted time, and the bytes that it reads, writes and holds.",
        "Times are the plan's own (profiled; extrapolated beyond its points). With --device the "
        "model predicts the others (modelled); without, they have none (unprofiled). Figures are "
        "at each variant's opt, as it runs there: a padded dimension at its max.",
        "--dot prints a graph for Graphviz instead. With --json the document also holds the "
        "figures as numbers and the whole plan in its JSON form."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway plan show bert.pb --device onnxim_tpuv4_c4 --at seq=128,batch=1",
            "leeway plan show bert.pb --variant main/s128 --dot | dot -Tsvg > bert.svg",
            "leeway plan show bert.textproto --json -o bert.json"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "PLAN", &plan_, "Path of the plan, or the name of a shipped one.");
    AddText(app, "--variant", "NAME", &options_.variant,
            "Only the variants of this name, in any entry; or one, as ENTRY/VARIANT.");
    AddFlag(app, "--dot", &dot_, "Print a graph in the language of Graphviz.");
    AddText(app, "--device", "DEVICE", &device_,
            "Predict by the model of this device what has no profile: a path, or the name of a "
            "shipped one.");
    AddDims(app, "--at", &options_.at,
            "Figures at these dimensions; those left out stay at each variant's opt.");
  }
  std::string Objection() const override { return plan_.empty() ? "plan show needs a PLAN" : ""; }
  Ending Run(const Invocation& invocation) override;

 private:
  Result<std::string> Document(const Plan& plan) const;

  std::string plan_;
  std::string device_;
  PlanViewOptions options_;
  bool dot_ = false;
};

template <typename T>
void SetOptional(Json& object, const std::string& key, const std::optional<T>& value,
                 std::string_view reason) {
  if (value) {
    object[key] = *value;
  } else {
    SetAbsent(object, key, reason);
  }
}

std::optional<std::int64_t> Count(const std::optional<Nanos>& time) {
  return time ? std::optional(time->count()) : std::nullopt;
}

Json GroupJson(const GroupView& group, bool covered) {
  Json json;
  json["name"] = group.name;
  json["ops"] = group.ops;
  json["placement"] = group.placement;
  if (!covered) {
    for (const char* key : {"shards", "time_ns", "time_origin", "read_bytes", "write_bytes",
                            "dram_bytes", "sram_bytes", "peak_bytes", "burst_bytes"}) {
      SetAbsent(json, key, "the variant does not cover these dimensions");
    }
    return json;
  }
  json["shards"] = group.shards;
  SetOptional(json, "time_ns", Count(group.time),
              group.reason.empty() ? "the plan has no profile of it" : group.reason);
  json["time_origin"] = TimeOriginName(group.origin);
  json["read_bytes"] = group.read_bytes;
  json["write_bytes"] = group.write_bytes;
  SetOptional(json, "dram_bytes", group.dram_bytes, "neither a profile nor a model has it");
  SetOptional(json, "sram_bytes", group.sram_bytes, "neither a profile nor a model has it");
  json["peak_bytes"] = group.peak_bytes;
  json["burst_bytes"] = group.burst_bytes;
  return json;
}

Json VariantJson(const VariantView& variant) {
  Json json;
  json["entry"] = variant.entry;
  json["name"] = variant.name;
  if (variant.at) {
    json["at"] = Json::object();
    for (const DimBinding& dim : *variant.at) json["at"][dim.dim] = dim.value;
  } else {
    SetAbsent(json, "at", "the variant does not cover these dimensions");
  }
  SetOptional(json, "time_ns", Count(variant.total), "a group has no time");
  json["groups"] = Json::array();
  for (const GroupView& group : variant.groups) {
    json["groups"].push_back(GroupJson(group, variant.at.has_value()));
  }
  return json;
}

Result<std::string> PlanShowCommand::Document(const Plan& plan) const {
  const auto variants = ViewPlan(plan, options_);
  if (!variants.ok()) return variants.status();
  const Result<std::string> text = dot_ ? PlanDot(plan, options_) : PlanText(plan, options_);
  if (!text.ok()) return text.status();
  Json document = NewDocument("plan.show");
  document["model"] = plan.model();
  document["digest"] = plan.digest();
  document[dot_ ? "dot" : "text"] = *text;
  if (options_.device != nullptr) {
    document["device"] = options_.device->name();
    document["device_digest"] = options_.device->digest();
  } else {
    SetAbsent(document, "device", "none was given");
  }
  document["variants"] = Json::array();
  for (const VariantView& variant : *variants) document["variants"].push_back(VariantJson(variant));
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
  const auto device = LoadDeviceIfNamed(device_);
  if (!device.ok()) return EndingOf(device.status());
  options_.device = *device ? &**device : nullptr;
  invocation.Detail("digest " + plan->digest());
  const Result<std::string> text = invocation.options().json ? Document(*plan)
                                   : dot_                    ? PlanDot(*plan, options_)
                                                             : PlanText(*plan, options_);
  // The file is there: what it lacks is asked of it wrongly.
  if (!text.ok()) return {ExitCode::kBadInput, EndingOf(text.status(), plan_).message};
  return EndingOf(invocation.Deliver(*text));
}

}  // namespace

std::unique_ptr<Command> MakePlanShowCommand() { return std::make_unique<PlanShowCommand>(); }

}  // namespace leeway::cli
