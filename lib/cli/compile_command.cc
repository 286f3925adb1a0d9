// leeway compile: the reference compiler.

#include <cmath>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/units.h"
#include "leeway/compile.h"

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
            "leeway compile bert.textproto --device my_device.pb --json"};
  }
  void Declare(CLI::App& app) override {
    AddArgument(app, "PLAN", &plan_, "Path of the plan or model, or the name of a shipped one.");
    AddText(app, "--device", "DEVICE", &device_,
            "Device to compile for: a path, or the name of a shipped one (default "
            "onnxim_tpuv4_c4).");
    AddIntegers(app, "--buckets", &options_.buckets,
                "Upper edges of the buckets, rising (default: those of the plan's own variants).");
    AddText(app, "--entry", "NAME", &options_.entry,
            "Entry of the plan to compile, with all it calls (default: its only one).");
    AddText(app, "--dim", "NAME", &options_.dim,
            "Dimension to bucket (default: the only one that is no batch dimension).");
    AddInteger(
        app, "--max-batch", {1, 1 << 20}, &max_batch_,
        "The most requests of a batch that variants are compiled for; fewer where more would "
        "not fit (default 8).");
  }
  std::string Objection() const override { return plan_.empty() ? "compile needs a PLAN" : ""; }
  Ending Run(const Invocation& invocation) override;

 private:
  struct View {
    const Plan& model;
    const Device& device;
    const Plan& compiled;
    const std::vector<VariantPrediction>& variants;
  };
  std::string Screen(const View& view, const Ink& ink) const;
  std::string Document(const View& view, const Stopwatch& watch) const;
  Ending Failed(const Status& status) const;

  std::string plan_;
  std::string device_ = "onnxim_tpuv4_c4";
  std::int64_t max_batch_ = 8;
  CompileOptions options_;
};

std::uint64_t Groups(const std::vector<VariantPrediction>& variants) {
  std::uint64_t groups = 0;
  for (const VariantPrediction& variant : variants) groups += variant.groups;
  return groups;
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
         "\n";
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
  document["host"] = HostFigures(watch);
  return JsonText(document);
}

Ending CompileCommand::Failed(const Status& status) const {
  return {ExitCode::kBadInput, plan_ + " on " + device_ + ": " + std::string(status.message())};
}

Ending CompileCommand::Run(const Invocation& invocation) {
  options_.max_batch = static_cast<int>(max_batch_);
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
  const View view = {*model, *device, *compiled, *variants};
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
