#include "cli/json.h"
#include "cli/loop_view.h"
#include "leeway/digest.h"

namespace leeway::cli {
namespace {

constexpr const char* kReport = "report.md";
constexpr const char* kReportJson = "report.json";
constexpr const char* kFrozenPlan = "frozen.pb";
constexpr const char* kAdaptedPlan = "adapted.pb";
constexpr const char* kFrozenTelemetry = "telemetry-frozen.pb";
constexpr const char* kAdaptedTelemetry = "telemetry-adapted.pb";

Json InputJson(const std::string& argument, const std::string& digest) {
  Json json;
  json["argument"] = argument;
  json["digest"] = digest;
  return json;
}

Json TrafficOptionsJson(const TrafficOptions& options) {
  Json json;
  json["format"] = options.format;
  json["map"] = options.map;
  json["limit"] = options.limit;
  json["requests"] = options.requests;
  return json;
}

const char* RateName(LoopLoad::Rate rate) {
  switch (rate) {
    case LoopLoad::Rate::kAuto:
      return "auto";
    case LoopLoad::Rate::kFlat:
      return "flat";
    case LoopLoad::Rate::kRecorded:
      return "recorded";
  }
  return "";
}

// As they were asked for; what they came to is in the report. How many threads there were is not
// here, as it changes nothing.
Json OptionsJson(const LoopView& view) {
  const LoopOptions& options = view.options;
  Json json;
  json["seed"] = options.seed;
  json["variants"] = options.compile.variants;
  json["phi"] = options.compile.phi;
  json["tau"] = options.compile.tau;
  json["compile_time_ns"] = options.compile.time.count();
  json["window_ns"] = options.load.window.count();
  json["rate"] = RateName(options.load.rate);
  json["load"] = options.load.load;
  json["sweep"] = options.load.sweep;
  json["slo_ns"] = options.load.slo.count();
  json["sample"] = options.load.sample;
  const bool exact = options.reality.kind == LoopReality::Kind::kExact;
  json["reality"] = exact ? "exact" : "noise:" + std::to_string(options.reality.seed);
  json["entry"] = options.entry;
  json["bind"] = Json::array();
  for (const auto& [column, dim] : options.bind) {
    json["bind"].push_back({{"dim", dim}, {"column", column}});
  }
  json["strict"] = options.above_domain == SimulateOptions::AboveDomain::kError;
  json["traffic"] = TrafficOptionsJson(view.arguments.traffic.options);
  return json;
}

RunFile Manifest(const LoopView& view, const std::vector<RunFile>& files) {
  const LoopDigests& digests = view.result.summary().digests;
  Json json;
  json["schema"] = kManifestSchema;
  json["version"] = LEEWAY_VERSION;
  json["command"] = "loop";
  json["figures"] = "simulated (uncalibrated)";
  Json& inputs = json["inputs"];
  inputs["model"] = InputJson(view.arguments.model, digests.model);
  inputs["device"] = InputJson(view.arguments.device, digests.device);
  inputs["traffic"] = InputJson(view.arguments.traffic.path, digests.traffic);
  json["options"] = OptionsJson(view);
  json["files"] = Json::array();
  for (const RunFile& file : files) {
    Json entry;
    entry["name"] = file.name;
    entry["bytes"] = file.bytes.size();
    entry["sha256"] = Sha256Of(file.bytes);
    json["files"].push_back(std::move(entry));
  }
  return {std::string(kManifest), JsonText(json)};
}

}  // namespace

std::vector<std::string> LoopFileNames() {
  return {kReport,          kReportJson,       kFrozenPlan,           kAdaptedPlan,
          kFrozenTelemetry, kAdaptedTelemetry, std::string(kManifest)};
}

std::vector<RunFile> LoopFiles(const LoopView& view) {
  const LoopResult& result = view.result;
  std::vector<RunFile> files = {{kReport, result.ToMarkdown()},
                                {kReportJson, result.ToJson()},
                                {kFrozenPlan, result.frozen_plan().Serialize()},
                                {kAdaptedPlan, result.adapted_plan().Serialize()},
                                {kFrozenTelemetry, result.frozen_telemetry()},
                                {kAdaptedTelemetry, result.adapted_telemetry()}};
  files.push_back(Manifest(view, files));
  return files;
}

std::string LoopDocument(const LoopView& view, const Stopwatch& watch) {
  Json document = Json::parse(view.result.ToJson());
  document["version"] = LEEWAY_VERSION;
  if (view.folder.empty()) {
    SetAbsent(document, "run", "its files could not be written");
  } else {
    document["run"]["folder"] = view.folder;
    document["run"]["files"] = LoopFileNames();
  }
  document["host"] = HostFigures(watch);
  document["host"]["jobs"] = view.options.jobs;
  return JsonText(document);
}

}  // namespace leeway::cli
