// leeway compile: the reference compiler.

#include <cmath>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/units.h"
#include "leeway/compile.h"
#include "leeway/plan_view.h"

namespace leeway::cli {
namespace {

class CompileCommand : public Command {
 public:
  std::string_view name() const override { return "compile"; }
  std::string_view summary() const override {
    return "map a model to a device, one variant a bucket of shapes";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Fuses, shards and places the operators of PLAN for the device by the cost model, once for "
        "each bucket, and predicts what every kernel takes. The graph stays as it is; the variants "
        "that PLAN has are replaced.",
        "With -o the compiled plan is written, in its binary form. Standard output tells about it "
        "in either case. 'predicted' is the longest path of one request that fills the bucket, by "
        "the plan's profile; 'core time' is what it costs all cores together. All figures are "
        "simulated (uncalibrated)."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway compile llama2_7b_prefill --buckets 128,512,2048,8192 -o llama.pb",
            "leeway compile llama2_7b_prefill --variants 4 --print-passes",
            "leeway compile bert.textproto --device my_device.pb --json"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "PLAN", &plan_, "Path of the plan or model, or the name of a shipped one.");
    AddText(app, "--device", "DEVICE", &device_,
            "Device to compile for: a path, or the name of a shipped one (default "
            "onnxim_tpuv4_c4).");
    AddIntegers(app, "--buckets", &options_.buckets,
                "Upper edges of the buckets, rising (default: those of the plan's own variants).");
    AddInteger(app, "--variants", {1, 4096}, &variants_,
               "Instead of --buckets: at most N buckets, the best for the plan's shape profile.");
    AddFlag(app, "--print-passes", &print_passes_,
            "Tell what each pass of the compiler made of each variant: buckets, fusion, shards, "
            "placement.");
    AddText(app, "--entry", "NAME", &options_.entry,
            "Entry of the plan to compile, with all it calls (default: its only one).");
    AddText(app, "--dim", "NAME", &options_.dim,
            "Dimension to bucket (default: the only one that is no batch dimension).");
    AddInteger(
        app, "--max-batch", {1, 1 << 20}, &max_batch_,
        "The most requests of a batch that variants are compiled for; fewer where more would "
        "not fit (default 8).");
  }
  std::string Objection() const override {
    if (variants_ > 0 && !options_.buckets.empty()) {
      return "--buckets and --variants both choose the buckets: give one";
    }
    return plan_.empty() ? "compile needs a PLAN" : "";
  }
  Ending Run(const Invocation& invocation) override;

 private:
  struct View {
    const Plan& model;
    const Device& device;
    const Plan& compiled;
    const std::vector<VariantPrediction>& variants;
    // With --print-passes.
    std::vector<VariantView> passes;
  };
  std::string BucketOrigin() const;
  std::string PassesText(const View& view) const;
  std::string Screen(const View& view, const Ink& ink) const;
  std::string Document(const View& view, const Stopwatch& watch) const;
  Ending Failed(const Status& status) const;

  std::string plan_;
  std::string device_ = "onnxim_tpuv4_c4";
  std::int64_t max_batch_ = 8;
  std::int64_t variants_ = 0;
  bool print_passes_ = false;
  CompileOptions options_;
};

std::uint64_t Groups(const std::vector<VariantPrediction>& variants) {
  std::uint64_t groups = 0;
  for (const VariantPrediction& variant : variants) groups += variant.groups;
  return groups;
}

std::string CompileCommand::BucketOrigin() const {
  if (variants_ > 0) return "the best for the plan's shape profile";
  return options_.buckets.empty() ? "those of the plan's own variants" : "as asked";
}

// Lines to search: the pass, the variant, and what came of it.
std::string CompileCommand::PassesText(const View& view) const {
  std::string text = "pass buckets:";
  for (const VariantPrediction& variant : view.variants) {
    text += " " + variant.name + "=" + std::to_string(variant.edge);
  }
  text += " (" + BucketOrigin() + ")\n";
  for (const VariantView& variant : view.passes) {
    const std::string name = variant.entry + "/" + variant.name;
    std::size_t ops = 0;
    for (const GroupView& group : variant.groups) ops += group.ops.size();
    text += "pass fuse " + name + ": " +
            Counted(static_cast<double>(ops), "operator", "operators") + " in " +
            Counted(static_cast<double>(variant.groups.size()), "group", "groups") + "\n";
    for (const GroupView& group : variant.groups) {
      text += "  group " + group.name + ":";
      for (const std::string& op : group.ops) text += " " + op;
      text += "\n";
    }
    text += "pass shard and place " + name + ":\n";
    for (const GroupView& group : variant.groups) {
      text += "  group " + group.name + ": shards " + std::to_string(group.shards) + " placement " +
              group.placement + "\n";
    }
  }
  return text;
}

Json PassesJson(const std::vector<VariantView>& passes) {
  Json json = Json::array();
  for (const VariantView& variant : passes) {
    Json one;
    one["entry"] = variant.entry;
    one["variant"] = variant.name;
    one["groups"] = Json::array();
    for (const GroupView& group : variant.groups) {
      one["groups"].push_back({{"name", group.name},
                               {"ops", group.ops},
                               {"shards", group.shards},
                               {"placement", group.placement}});
    }
    json.push_back(std::move(one));
  }
  return json;
}

std::string CompileCommand::Screen(const View& view, const Ink& ink) const {
  const auto count = [](auto value) { return static_cast<double>(value); };
  std::string text =
      Wrapped(std::string(view.compiled.model()) + " for " + std::string(view.device.name()) +
                  ": " + Counted(count(view.variants.size()), "variant", "variants") + ", " +
                  Counted(count(Groups(view.variants)), "group", "groups"),
              0) +
      "\n\n";
  Table table({"variant", "edge", "batch", "groups", "steps", "predicted", "core time"});
  for (const VariantPrediction& variant : view.variants) {
    table.Add({variant.name, FormatCount(count(variant.edge)),
               variant.max_batch > 0 ? FormatCount(count(variant.max_batch)) : "–",
               FormatCount(count(variant.groups)), FormatCount(count(variant.steps)),
               FormatDuration(variant.predicted), FormatDuration(variant.core_time)});
  }
  return text + table.Render(ink) + "\n" +
         ink.Faint(Wrapped("predicted: longest path of one request that fills the bucket · core "
                           "time: what it costs all cores together · simulated (uncalibrated)",
                           0)) +
         "\n" + (print_passes_ ? "\n" + PassesText(view) : "");
}

std::string CompileCommand::Document(const View& view, const Stopwatch& watch) const {
  Json document = NewDocument("compile");
  document["model"] = view.compiled.model();
  document["device"] = view.device.name();
  document["digests"]["model"] = view.model.digest();
  document["digests"]["device"] = view.device.digest();
  document["digests"]["plan"] = view.compiled.digest();
  document["variants"] = Json::array();
  for (const VariantPrediction& variant : view.variants) {
    Json json;
    json["name"] = variant.name;
    json["edge"] = variant.edge;
    if (variant.max_batch > 0) {
      json["max_batch"] = variant.max_batch;
    } else {
      SetAbsent(json, "max_batch", "no dimension counts requests");
    }
    json["groups"] = variant.groups;
    json["steps"] = variant.steps;
    json["predicted_ns"] = variant.predicted.count();
    json["core_time_ns"] = variant.core_time.count();
    document["variants"].push_back(std::move(json));
  }
  document["groups"] = Groups(view.variants);
  // Of the longest bucket: what a script compares two compilations by.
  const VariantPrediction& longest = view.variants.back();
  Json& predicted = document["predicted"];
  predicted["variant"] = longest.name;
  predicted["path_ns"] = longest.predicted.count();
  predicted["core_time_ns"] = longest.core_time.count();
  document["buckets"] = BucketOrigin();
  if (print_passes_) document["passes"] = PassesJson(view.passes);
  document["host"] = HostFigures(watch);
  return JsonText(document);
}

Ending CompileCommand::Failed(const Status& status) const {
  return {ExitCode::kBadInput, plan_ + " on " + device_ + ": " + std::string(status.message())};
}

Ending CompileCommand::Run(const Invocation& invocation) {
  options_.max_batch = static_cast<int>(max_batch_);
  options_.variants = static_cast<int>(variants_);
  const Result<Plan> model = LoadPlan(plan_);
  if (!model.ok()) return EndingOf(model.status());
  const Result<Device> device = LoadDevice(device_);
  if (!device.ok()) return EndingOf(device.status());
  const Stopwatch watch;
  const Result<Plan> compiled = Compile(*model, *device, options_);
  if (!compiled.ok()) return Failed(compiled.status());
  const auto variants = PredictVariants(*compiled, *device, options_);
  if (!variants.ok()) return Failed(variants.status());
  invocation.Detail("compiled in " +
                    FormatDuration(Nanos{std::llround(watch.wall_seconds() * 1e9)}) + "; digest " +
                    compiled->digest());
  View view = {*model, *device, *compiled, *variants, {}};
  if (print_passes_) {
    Result<std::vector<VariantView>> passes = ViewPlan(*compiled);
    if (!passes.ok()) return Failed(passes.status());
    view.passes = *std::move(passes);
  }
  const std::string text =
      invocation.options().json ? Document(view, watch) : Screen(view, invocation.ink());
  if (!invocation.options().output.empty()) {
    const Status written = invocation.DeliverBytes(compiled->Serialize());
    if (!written.ok()) return EndingOf(written);
  }
  return EndingOf(invocation.Show(text));
}

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }

}  // namespace leeway::cli
