#include "cli/buckets_view.h"

#include <cmath>
#include <optional>
#include <string_view>

#include "cli/json.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

// Below this many scored windows nothing can be said about drift.
constexpr std::uint64_t kFewestWindows = 4;

const BucketPolicyResult* Find(const BucketStudy& study, std::string_view name) {
  for (const BucketPolicyResult& policy : study.policies) {
    if (policy.name == name) return &policy;
  }
  return nullptr;
}

std::uint64_t ScoredWindows(const BucketStudy& study) {
  return study.windows > 0 ? study.windows - 1 : 0;
}

double OracleGain(const BucketStudy& study) {
  const BucketPolicyResult* oracle = Find(study, "oracle");
  return oracle == nullptr ? 0 : oracle->gain;
}

// "none", "present" or "insufficient".
std::string_view Verdict(const BucketsView& view) {
  if (ScoredWindows(view.study) < kFewestWindows) return "insufficient";
  return OracleGain(view.study) < view.options.tau ? "none" : "present";
}

std::string Compiles(const BucketPolicyResult& policy) {
  return Counted(static_cast<double>(policy.retunes), "compile", "compiles") + " and " +
         Counted(static_cast<double>(policy.switches), "switch", "switches");
}

std::string Windows(std::uint64_t count) {
  return Counted(static_cast<double>(count), "window", "windows");
}

std::string Heading(const BucketsView& view) {
  const BucketStudy& study = view.study;
  std::string text = std::string(view.traffic.name()) + ": " +
                     Counted(study.requests, "request", "requests") + " in " +
                     Windows(study.windows) + " of " + FormatSpan(view.options.window);
  if (!view.options.dim.empty()) {
    text +=
        ", " + view.options.dim + " up to " + FormatCount(static_cast<double>(study.max_length));
  }
  return text;
}

std::string Setting(const BucketsView& view) {
  std::string text = Counted(view.options.buckets, "bucket", "buckets");
  if (view.options.align > 1) {
    text += " at multiples of " + FormatCount(static_cast<double>(view.options.align));
  }
  return text + ", fallback at " + FormatNumber(view.options.phi) +
         " times a request's length; work only, no queue";
}

// A share of what is not there to be gained means nothing.
std::optional<double> Captured(const BucketsView& view, const BucketPolicyResult& policy) {
  return Verdict(view) == "none" ? std::nullopt : policy.captured;
}

Table PolicyTable(const BucketsView& view) {
  Table table({"policy", "waste", "gain", "captured", "compiles", "switches", "worst", "fallback"});
  for (const BucketPolicyResult& policy : view.study.policies) {
    const bool frozen = policy.name == "frozen";
    const std::optional<double> captured = Captured(view, policy);
    std::vector<std::string> cells = {policy.name,
                                      FormatPercent(policy.waste),
                                      frozen ? "–" : FormatSignedPercent(policy.gain),
                                      captured && !frozen ? FormatPercent(*captured, 1) : "–",
                                      FormatCount(static_cast<double>(policy.retunes)),
                                      FormatCount(static_cast<double>(policy.switches)),
                                      frozen ? "–" : FormatSignedPercent(policy.worst_window),
                                      FormatPercent(policy.fallback_rate)};
    if (policy.name == "leeway") {
      table.AddStrong(std::move(cells));
    } else {
      table.Add(std::move(cells));
    }
  }
  return table;
}

// What stands before the table where there is little to gain, or too little to judge by.
std::string Caveat(const BucketsView& view) {
  const std::string gain = FormatPercent(OracleGain(view.study));
  const std::string_view verdict = Verdict(view);
  if (verdict == "none") {
    const BucketPolicyResult* leeway = Find(view.study, "leeway");
    std::string text = "No headroom: the oracle, which knows each window in advance, would gain " +
                       gain + " over the first window's buckets (what counts is " +
                       FormatPercent(view.options.tau) + " or more).";
    if (leeway != nullptr) text += " leeway: " + Compiles(*leeway) + ".";
    return text;
  }
  if (verdict == "insufficient") {
    return "Too few windows to judge: " + Windows(ScoredWindows(view.study)) +
           " scored after the first; a shorter --window or a longer traffic gives more.";
  }
  return "";
}

// The line that says what the table means.
std::string Reading(const BucketsView& view) {
  const BucketStudy& study = view.study;
  const BucketPolicyResult* leeway = Find(study, "leeway");
  const BucketPolicyResult* ref = Find(study, "ref");
  if (leeway == nullptr || !Captured(view, *leeway)) return "";
  std::string text = "leeway captured " + FormatPercent(*leeway->captured, 1) +
                     " of what the oracle gains (" + FormatPercent(OracleGain(study)) + ") with " +
                     Compiles(*leeway);
  if (ref != nullptr && ref->captured) {
    text += "; ref " + FormatPercent(*ref->captured, 1) + " with " + Compiles(*ref);
  }
  text += ". leeway's worst window cost " +
          (leeway->worst_window > 0
               ? FormatPercent(leeway->worst_window) + " more than with frozen buckets."
               : "no more than with frozen buckets.");
  return text;
}

Json OptionsJson(const BucketsView& view) {
  const BucketStudyOptions& options = view.options;
  Json json;
  json["k"] = options.buckets;
  json["phi"] = options.phi;
  json["window_ns"] = options.window.count();
  json["align"] = options.align;
  json["tau"] = options.tau;
  json["dim"] = options.dim;
  json["seed"] = options.seed;
  json["format"] = view.arguments.options.format;
  json["map"] = view.arguments.options.map;
  json["limit"] = view.arguments.options.limit;
  json["requests"] = view.arguments.options.requests;
  return json;
}

Json PolicyJson(const BucketsView& view, const BucketPolicyResult& policy) {
  Json json;
  json["name"] = policy.name;
  json["waste"] = policy.waste;
  json["gain"] = policy.gain;
  if (const std::optional<double> captured = Captured(view, policy)) {
    json["captured"] = *captured;
  } else {
    SetAbsent(json, "captured", "no headroom: the oracle gains less than tau");
  }
  json["retunes"] = policy.retunes;
  json["switches"] = policy.switches;
  json["worst_window"] = policy.worst_window;
  json["excess"] = policy.excess;
  json["fallback_rate"] = policy.fallback_rate;
  return json;
}

Json RequestsJson(double requests) {
  // Counts are whole unless a histogram's are not.
  const bool whole = requests == std::floor(requests) && requests < 9007199254740992.0;
  return whole ? Json(static_cast<std::uint64_t>(requests)) : Json(requests);
}

}  // namespace

std::string BucketsScreen(const BucketsView& view, const Ink& ink) {
  std::string text;
  const std::string caveat = Caveat(view);
  if (!caveat.empty()) text += ink.Bold(Wrapped(caveat, 0)) + "\n\n";
  text += Wrapped(Heading(view), 0) + "\n" + ink.Faint(Wrapped(Setting(view), 0)) + "\n\n";
  text += PolicyTable(view).Render(ink) + "\n";
  text += ink.Faint(Wrapped("waste: share of the work that is padding · gain: frozen's work over "
                            "this one's, less 1 · "
                            "worst: work over frozen's in the worst window, less 1",
                            0)) +
          "\n";
  const std::string reading = Reading(view);
  if (!reading.empty()) text += "\n" + Wrapped(reading, 0) + "\n";
  return text;
}

std::string BucketsJson(const BucketsView& view, const Stopwatch& watch) {
  Json document = NewDocument("buckets");
  document["traffic"] = view.traffic.name();
  document["digests"]["traffic"] = view.traffic.digest();
  document["options"] = OptionsJson(view);
  document["windows"] = view.study.windows;
  document["scored_windows"] = ScoredWindows(view.study);
  document["requests"] = RequestsJson(view.study.requests);
  document["max_length"] = view.study.max_length;
  Json& headroom = document["headroom"];
  headroom["value"] = OracleGain(view.study);
  headroom["threshold"] = view.options.tau;
  headroom["verdict"] = Verdict(view);
  document["policies"] = Json::array();
  for (const BucketPolicyResult& policy : view.study.policies) {
    document["policies"].push_back(PolicyJson(view, policy));
  }
  document["host"] = HostFigures(watch);
  return JsonText(document);
}

}  // namespace leeway::cli
