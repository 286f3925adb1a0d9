#include "cli/loop_arguments.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr double kMostLoad = 1.5;
constexpr std::size_t kMostLoads = 32;

void AddParsed(CLI::App& app, const std::string& name, const std::string& form,
               const std::function<void(const std::string&)>& parse, const std::string& about) {
  app.add_option_function<std::string>(name, parse, about)
      ->type_name(form)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

Loads ParseLoads(const std::string& text) {
  Loads loads;
  std::vector<double> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::optional<double> load = ParseNumber(text.substr(at, comma - at));
    if (!load || *load <= 0 || *load > kMostLoad || all.size() == kMostLoads) {
      throw UsageError("option --load: '" + text +
                       "' is not a share above 0 and at most 1.5 of the frozen plan's throughput, "
                       "or several such as 0.3,0.5,0.7");
    }
    all.push_back(*load);
    at = comma + 1;
  }
  const bool has_default = std::find(all.begin(), all.end(), loads.main) != all.end();
  if (!has_default) loads.main = all.front();
  if (all.size() > 1) loads.sweep = std::move(all);
  return loads;
}

LoopReality ParseReality(const std::string& text) {
  LoopReality reality;
  if (text == "exact") {
    reality.kind = LoopReality::Kind::kExact;
    return reality;
  }
  if (text == "noise") return reality;
  constexpr std::string_view kNoise = "noise:";
  const std::string_view seed = std::string_view(text).substr(std::min(text.size(), kNoise.size()));
  const auto [stop, error] = std::from_chars(seed.data(), seed.data() + seed.size(), reality.seed);
  if (text.rfind(kNoise, 0) != 0 || error != std::errc() || stop != seed.data() + seed.size()) {
    throw UsageError("option --reality: '" + text + "' is not noise, noise:SEED or exact");
  }
  return reality;
}

Nanos ParseTailObjective(const std::string& text) {
  constexpr std::string_view kPercentile = "p99=";
  const bool named = text.rfind(kPercentile, 0) == 0;
  const std::optional<Nanos> latency =
      ParseDuration(named ? std::string_view(text).substr(kPercentile.size()) : text);
  if (!latency || latency->count() == 0) {
    throw UsageError("option --slo: '" + text + "' is not a latency such as p99=500ms");
  }
  return *latency;
}

int UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails where there are more processors than the set has room for.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void LoopArguments::Declare(CLI::App& app) {
  AddArgument(app, "MODEL", &model,
              "Model to compile: a path of a plan, or the name of a shipped one. Its own variants "
              "are not used.");
  AddText(app, "--device", "DEVICE", &device,
          "Device to compile for and serve on: a path, or the name of a shipped one (default "
          "onnxim_tpuv4_c4).");
  AddText(app, "--traffic", "TRAFFIC", &traffic.path,
          "Arrivals to serve: a path, or the name of a shipped traffic.");
  AddText(app, "--entry", "NAME", &options_.entry,
          "Entry of the model that requests run (default: its only one).");
  AddFlag(app, "--force", &force,
          "Replace the files of an earlier run in the folder of -o; no other file is touched.");
  AddInteger(app, "--jobs", {1, 1024}, &jobs_,
             "Threads that replay (default: as many as there are processors to run on). Results do "
             "not depend on it.");
  DeclareExperiment(app);
  traffic.Declare(app);
  DeclareBinding(app);
}

void LoopArguments::DeclareExperiment(CLI::App& app) {
  BeginGroup(app, "Experiment");
  AddInteger(app, "--variants", {1, 4096}, &variants_,
             "Variants a plan may have, the fallback not counted (default 8).");
  AddDuration(app, "--window", Zero::kRefused, &window_,
              "Trace time after which plans may change (default: the smaller of 1h and a sixth of "
              "the traffic). Neighbours are merged until they hold 1,000 requests.");
  AddDuration(app, "--compile-time", Zero::kAllowed, &compile_time_,
              "Trace time from the last request a decision may look at to the window it serves "
              "(default 30s).");
  AddNumber(app, "--phi", {1, 1000}, &options_.compile.phi,
            "Cost of a request that no variant covers, relative to the best fused work (default "
            "2).");
  AddNumber(app, "--tau", {0, 10}, &options_.compile.tau,
            "Regret that makes a retune worth it, and the least headroom that counts (default "
            "0.03).");
  AddParsed(
      app, "--load", "X[,X...]",
      [this](const std::string& text) {
        const Loads loads = ParseLoads(text);
        options_.load.load = loads.main;
        options_.load.sweep = loads.sweep;
      },
      "Offered load in shares of the frozen plan's throughput (default 0.7). Of several, the "
      "experiment runs at 0.7 if it is among them, else at the first; the report has the p99 at "
      "each, on a sample of the requests.");
  AddChoice(app, "--rate", {"flat", "recorded"}, &rate_,
            "flat: equal offered load in every window, so that only the mix of shapes drifts; "
            "recorded: as the traffic has it (default: flat where arrivals are drawn, recorded "
            "where they were recorded).");
  AddParsed(
      app, "--slo", "[p99=]TIME",
      [this](const std::string& text) { slo_ = ParseTailObjective(text); },
      "Objective for p99 (default: three times the p99 of requests that are alone under the frozen "
      "plan).");
  AddParsed(
      app, "--reality", "noise[:SEED]|exact",
      [this](const std::string& text) { options_.reality = ParseReality(text); },
      "How the serving device differs from the one that plans are compiled for (default noise: a "
      "seeded log-normal error per operator and size).");
  AddCount(app, "--sample", &options_.load.sample,
           "Requests of the sample that tells capacity, sweep and batch formation (default 20000; "
           "0 leaves these out).");
}

void LoopArguments::DeclareBinding(CLI::App& app) {
  AddBindings(app, &options_.bind);
  AddFlag(app, "--strict", &strict_,
          "Refuse a request above a dimension's domain; otherwise it is clamped and counted.");
}

LoopOptions LoopArguments::Options(std::uint64_t seed) const {
  LoopOptions options = options_;
  options.seed = seed;
  options.compile.variants = static_cast<int>(variants_);
  options.jobs = jobs_ > 0 ? static_cast<int>(jobs_) : UsableProcessors();
  if (window_) options.load.window = *window_;
  if (compile_time_) options.compile.time = *compile_time_;
  if (slo_) options.load.slo = *slo_;
  if (rate_ == "flat") options.load.rate = LoopLoad::Rate::kFlat;
  if (rate_ == "recorded") options.load.rate = LoopLoad::Rate::kRecorded;
  if (strict_) options.above_domain = SimulateOptions::AboveDomain::kError;
  return options;
}

}  // namespace leeway::cli
