#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "leeway/guardrails.h"
#include "report/loop_reading.h"
#include "report/loop_report.h"

namespace leeway::report {
namespace {

// Keys keep the order in which they were set, so that equal results are equal bytes.
using Json = nlohmann::ordered_json;

constexpr std::string_view kNoLatency = "no request outside overloaded windows ended ok";
constexpr std::string_view kNotServed = "the first window is compiled for and not served";
constexpr std::string_view kNoInterval = "too few windows for an interval";

void SetAbsent(Json& object, const std::string& key, std::string_view reason) {
  object[key] = nullptr;
  object[key + "_reason"] = reason;
}

void SetNumber(Json& object, const std::string& key, double value) {
  if (std::isfinite(value)) {
    object[key] = value;
  } else {
    SetAbsent(object, key, "not a finite number");
  }
}

void SetNumber(Json& object, const std::string& key, const std::optional<double>& value,
               std::string_view reason) {
  if (value) {
    SetNumber(object, key, *value);
  } else {
    SetAbsent(object, key, reason);
  }
}

void SetLatency(Json& object, const std::string& key, Nanos latency, std::string_view reason) {
  if (IsLatency(latency)) {
    object[key] = latency.count();
  } else {
    SetAbsent(object, key, reason);
  }
}

void SetInterval(Json& object, const std::string& key,
                 const std::optional<std::pair<double, double>>& interval,
                 std::string_view reason) {
  if (interval && std::isfinite(interval->first) && std::isfinite(interval->second)) {
    object[key] = {interval->first, interval->second};
  } else {
    SetAbsent(object, key, interval ? "not finite" : reason);
  }
}

void SetFigure(Json& object, const std::string& key, const LoopFigure& figure) {
  SetNumber(object, key, figure.value);
  SetInterval(object, key + "_interval", figure.interval, kNoInterval);
}

void SetFigure(Json& object, const std::string& key, const std::optional<LoopFigure>& figure,
               std::string_view reason) {
  if (figure) {
    SetFigure(object, key, *figure);
  } else {
    SetAbsent(object, key, reason);
    SetAbsent(object, key + "_interval", reason);
  }
}

Json AccuracyJson(const MappingAccuracy& accuracy) {
  Json json;
  SetNumber(json, "within_15", accuracy.accuracy);
  SetNumber(json["lost"], "envelope", accuracy.lost_envelope);
  SetNumber(json["lost"], "variant", accuracy.lost_variant);
  SetNumber(json["lost"], "placement", accuracy.lost_placement);
  SetNumber(json["lost"], "cost", accuracy.lost_cost);
  SetNumber(json, "within_10", accuracy.accuracy_10);
  SetNumber(json, "within_25", accuracy.accuracy_25);
  SetNumber(json, "by_steps", accuracy.accuracy_by_steps);
  SetNumber(json, "cost_error", accuracy.cost_error);
  SetNumber(json, "bias", accuracy.bias);
  SetInterval(json, "within_15_interval", accuracy.interval, kNoInterval);
  SetInterval(json, "over_seeds", accuracy.over_seeds, "not told over other seeds of the noise");
  return json;
}

// Class → its mean time over all requests and over those at and above a percentile.
Json AttributionJson(const LoopArm& arm) {
  const std::pair<const char*, const LoopTail*> rows[] = {{"mean_ns", FindTail(arm, 0)},
                                                          {"p95_ns", FindTail(arm, 0.95)},
                                                          {"p99_ns", FindTail(arm, 0.99)}};
  Json json;
  for (const Cause cause : AllCauses()) {
    Json& part = json[CauseName(cause)];
    part["family"] = FamilyName(cause);
    for (const auto& [key, tail] : rows) {
      if (tail != nullptr) {
        part[key] = tail->mean.part(cause).count();
      } else {
        SetAbsent(part, key, "no request was attributed there");
      }
    }
  }
  return json;
}

void SetAccuracy(Json& json, const LoopArm& arm) {
  constexpr std::string_view kReason = "not measured for this arm";
  if (arm.accuracy) {
    SetNumber(json, "mapping_accuracy", arm.accuracy->accuracy);
    SetInterval(json, "mapping_accuracy_interval", arm.accuracy->interval, kNoInterval);
    json["accuracy"] = AccuracyJson(*arm.accuracy);
  } else {
    SetAbsent(json, "mapping_accuracy", kReason);
    SetAbsent(json, "mapping_accuracy_interval", kReason);
    SetAbsent(json, "accuracy", kReason);
  }
}

void SetAttribution(Json& json, const LoopArm& arm) {
  if (arm.tails.empty()) {
    SetAbsent(json, "attribution", "this arm was not attributed");
    return;
  }
  json["attribution"] = AttributionJson(arm);
  Json& requests = json["attributed_requests"];
  for (const auto& [key, percentile] :
       {std::pair{"mean", 0.0}, std::pair{"p95", 0.95}, std::pair{"p99", 0.99}}) {
    const LoopTail* tail = FindTail(arm, percentile);
    requests[key] = tail == nullptr ? 0 : tail->requests;
  }
}

Json ArmJson(const LoopArm& arm, bool sampled) {
  Json json;
  json["work_ns"] = arm.work.count();
  SetLatency(json, "p50_ns", arm.p50, kNoLatency);
  SetLatency(json, "p95_ns", arm.p95, kNoLatency);
  SetLatency(json, "p99_ns", arm.p99, kNoLatency);
  SetLatency(json, "mean_ns", arm.mean, kNoLatency);
  SetNumber(json, "goodput_rps", arm.goodput_rps);
  SetFigure(json, "capacity_rps", arm.capacity_rps,
            sampled ? "no rate keeps p99 within the objective with 99 % ok"
                    : "measured on the fixed sample, which was left out");
  SetNumber(json, "slo_attainment", arm.slo_attainment);
  SetAccuracy(json, arm);
  SetNumber(json, "fallback_rate", arm.fallback_rate);
  SetNumber(json, "fallback_time", arm.fallback_time);
  SetNumber(json, "padding_waste", arm.padding_waste);
  if (arm.energy_j > 0) {
    SetNumber(json, "energy_j", arm.energy_j);
  } else {
    SetAbsent(json, "energy_j", "not modelled for this device");
  }
  json["submitted"] = arm.submitted;
  json["ok"] = arm.ok;
  json["runs"] = arm.runs;
  json["steps"] = arm.steps;
  SetAttribution(json, arm);
  if (arm.telemetry_digest.empty()) {
    SetAbsent(json, "telemetry_digest", "this arm's telemetry is not kept");
  } else {
    json["telemetry_digest"] = arm.telemetry_digest;
  }
  return json;
}

std::string_view NotCaptured(LoopHeadroom::Verdict verdict) {
  switch (verdict) {
    case LoopHeadroom::Verdict::kNone:
      return "no headroom: a clairvoyant gains less than what counts, or its interval contains 0";
    case LoopHeadroom::Verdict::kInsufficient:
      return "too few windows to judge whether there is headroom";
    case LoopHeadroom::Verdict::kPresent:
      return "the clairvoyant saves no work";
  }
  return "";
}

Json GainJson(const LoopSummary& summary, bool sampled) {
  const LoopGain& gain = summary.gain;
  const LoopHeadroom::Verdict verdict = summary.headroom.verdict;
  const bool present = verdict == LoopHeadroom::Verdict::kPresent;
  // A share of what is not there to be gained means nothing.
  const auto share = [&]<typename Value>(const std::optional<Value>& value) {
    return present ? value : std::nullopt;
  };
  Json json;
  SetFigure(json, "work", gain.work);
  SetFigure(json, "p50", gain.p50, kNoLatency);
  SetFigure(json, "p95", gain.p95, kNoLatency);
  SetFigure(json, "p99", gain.p99, kNoLatency);
  SetFigure(json, "capacity", gain.capacity,
            sampled ? "an arm has no capacity at the objective"
                    : "measured on the fixed sample, which was left out");
  SetFigure(json, "captured", share(gain.captured), NotCaptured(verdict));
  SetFigure(json, "captured_cf", share(gain.captured_cf), NotCaptured(verdict));
  SetNumber(json, "captured_by_switching", share(gain.captured_by_switching),
            present ? "the early windows' plans make no library" : NotCaptured(verdict));
  SetNumber(json, "captured_by_reference", share(gain.captured_by_reference),
            present ? "the reference policy was not run" : NotCaptured(verdict));
  json["reference_compiles"] = gain.reference_compiles;
  return json;
}

Json HeadroomJson(const LoopHeadroom& headroom) {
  Json json;
  SetNumber(json, "value", headroom.gain.value);
  SetInterval(json, "interval", headroom.gain.interval, kNoInterval);
  json["verdict"] = VerdictName(headroom.verdict);
  return json;
}

Json ActionJson(const LoopAction& action) {
  Json json;
  json["kind"] = action.kind == LoopAction::Kind::kCompile ? "compile" : "switch";
  json["window"] = action.window;
  json["at_ns"] = action.at.count();
  json["plan"] = action.plan;
  json["edges"] = action.edges;
  SetNumber(json, "expected_gain", action.expected_gain);
  SetNumber(json, "observed_gain", action.observed_gain);
  return json;
}

Json WindowJson(const LoopWindow& window) {
  const bool served = window.requests > 0;
  const std::string_view no_latency = served ? "no request of the window ended ok" : kNotServed;
  const std::string_view no_accuracy = served ? "not measured" : kNotServed;
  Json json;
  json["from_ns"] = window.from.count();
  json["to_ns"] = window.to.count();
  json["requests"] = window.requests;
  SetNumber(json, "load", window.load);
  json["overloaded"] = window.overloaded;
  json["frozen_work_ns"] = window.frozen_work.count();
  json["adapted_work_ns"] = window.adapted_work.count();
  json["clairvoyant_work_ns"] = window.clairvoyant_work.count();
  json["cross_fitted_work_ns"] = window.cross_fitted_work.count();
  SetLatency(json, "frozen_p99_ns", window.frozen_p99, no_latency);
  SetLatency(json, "adapted_p99_ns", window.adapted_p99, no_latency);
  SetNumber(json, "frozen_accuracy", window.frozen_accuracy, no_accuracy);
  SetNumber(json, "adapted_accuracy", window.adapted_accuracy, no_accuracy);
  json["plan"] = window.plan;
  json["median"] = window.median;
  json["p95"] = window.p95;
  return json;
}

Json BucketJson(const LoopBucket& bucket) {
  Json json;
  json["edge"] = bucket.edge;
  SetNumber(json, "planned", bucket.planned);
  SetNumber(json, "observed", bucket.observed);
  return json;
}

Json SweepJson(const LoopSweepPoint& point) {
  constexpr std::string_view kReason = "more than 1 % of the requests did not end ok";
  Json json;
  SetNumber(json, "load", point.load);
  SetNumber(json, "rate_rps", point.rate_rps);
  SetLatency(json, "frozen_p99_ns", point.frozen_p99, kReason);
  SetLatency(json, "adapted_p99_ns", point.adapted_p99, kReason);
  SetLatency(json, "clairvoyant_p99_ns", point.clairvoyant_p99, kReason);
  return json;
}

Json FormationJson(const LoopFormation& formation) {
  Json json;
  json["name"] = formation.name;
  SetLatency(json, "p50_ns", formation.p50, "half of the requests or more did not end ok");
  SetLatency(json, "p99_ns", formation.p99, "more than 1 % of the requests did not end ok");
  SetNumber(json, "throughput_rps", formation.throughput_rps);
  SetNumber(json, "padding_share", formation.padding_share);
  json["fallbacks"] = formation.fallbacks;
  json["runs"] = formation.runs;
  return json;
}

Json GuardrailJson(const Guardrail& guardrail) {
  Json json;
  json["name"] = guardrail.name;
  json["rule"] = guardrail.rule;
  json["limit"] = guardrail.limit;
  SetNumber(json, "value", guardrail.value, "there is no interval to judge by");
  json["ok"] = guardrail.ok;
  return json;
}

template <typename T>
Json ListOf(const std::vector<T>& items, Json (*to_json)(const T&)) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

Json DigestsJson(const LoopSummary& summary) {
  Json json;
  json["model"] = summary.digests.model;
  json["device"] = summary.digests.device;
  json["traffic"] = summary.digests.traffic;
  json["frozen_plan"] = summary.digests.frozen_plan;
  json["adapted_plan"] = summary.digests.adapted_plan;
  return json;
}

void SetSetting(Json& document, const LoopSummary& summary) {
  document["schema"] = "leeway.loop.v1";
  document["figures"] = "simulated (uncalibrated)";
  document["model"] = summary.model;
  document["device"] = summary.device;
  document["traffic"] = summary.traffic;
  document["dims"] = {summary.dim};
  SetAbsent(document, "origin", "times count from the traffic's first arrival or declared start");
  document["seed"] = summary.seed;
  document["requests"] = summary.requests;
  document["scored_requests"] = summary.scored_requests;
  document["span_ns"] = summary.span.count();
  document["window_ns"] = summary.window.count();
  document["scored_windows"] = ScoredWindows(summary);
  document["variants"] = summary.variants;
  SetNumber(document, "phi", summary.phi);
  if (summary.fallback_stretch > 0) {
    SetNumber(document, "fallback_stretch", summary.fallback_stretch);
  } else {
    SetAbsent(document, "fallback_stretch", "not measured");
  }
  document["compile_time_ns"] = summary.compile_time.count();
  document["rate"] = summary.rate;
  SetNumber(document, "load", summary.load);
  document["slo_ns"] = summary.slo.count();
  document["reality"] = summary.reality;
  SetNumber(document, "clamped_rate", summary.clamped_rate);
  SetNumber(document, "time_compression", summary.time_compression);
  document["overloaded_windows"] = summary.overloaded_windows;
}

void SetAdaptation(Json& document, const LoopSummary& summary) {
  document["compiles"] = summary.compiles;
  document["switches"] = summary.switches;
  SetNumber(document, "worst_window", summary.worst_window);
  SetNumber(document, "harmed_share", summary.harmed_share);
  document["guardrails"] = ListOf(CheckGuardrails(summary), &GuardrailJson);
  document["actions"] = ListOf(summary.actions, &ActionJson);
  SetAbsent(document, "bottleneck",
            "a class is proven by what-if replays, which this version does not run");
  document["contradictions"] = summary.contradictions;
  SetAbsent(
      document, "replay_error",
      "nothing was recorded on hardware: arrivals are drawn or read, and both sides simulated");
}

}  // namespace

std::string LoopJson(const LoopSummary& summary) {
  // Capacity comes from the fixed sample, and so does the ablation that is always part of it.
  const bool sampled = !summary.formation.empty() || !summary.sweep.empty();
  Json document;
  SetSetting(document, summary);
  document["headroom"] = HeadroomJson(summary.headroom);
  document["frozen"] = ArmJson(summary.frozen, sampled);
  document["adapted"] = ArmJson(summary.adapted, sampled);
  document["clairvoyant"] = ArmJson(summary.clairvoyant, sampled);
  document["gain"] = GainJson(summary, sampled);
  SetAdaptation(document, summary);
  document["frozen_buckets"] = ListOf(summary.frozen_buckets, &BucketJson);
  document["formation"] = ListOf(summary.formation, &FormationJson);
  document["sweep"] = ListOf(summary.sweep, &SweepJson);
  document["windows"] = ListOf(summary.windows, &WindowJson);
  document["notes"] = summary.notes;
  document["digests"] = DigestsJson(summary);
  // U+FFFD for bytes that are no UTF-8.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace leeway::report
