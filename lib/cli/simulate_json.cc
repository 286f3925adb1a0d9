#include "cli/json.h"
#include "cli/simulate_view.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr std::string_view kByLoop = "measured by leeway loop";
constexpr std::string_view kTotalOnly = "known for the total only";
constexpr std::string_view kNoneOk = "no request ended ok";

void SetLatency(Json& object, const LatencyStats& latency) {
  const auto set = [&](const char* key, Nanos value) {
    if (latency.count > 0) {
      object[key] = value.count();
    } else {
      SetAbsent(object, key, kNoneOk);
    }
  };
  set("mean_ns", latency.mean);
  set("min_ns", latency.min);
  set("p50_ns", latency.p50);
  set("p90_ns", latency.p90);
  set("p95_ns", latency.p95);
  set("p99_ns", latency.p99);
  set("max_ns", latency.max);
}

Json WaitJson(const LatencyStats& wait) {
  Json json;
  json["count"] = wait.count;
  SetLatency(json, wait);
  return json;
}

void SetCounts(Json& object, const Counts& counts) {
  object["submitted"] = counts.submitted;
  object["ok"] = counts.ok;
  object["rejected"] = counts.rejected;
  object["rejected_queue_full"] = counts.rejected_queue_full;
  object["rejected_no_variant"] = counts.rejected_no_variant;
  object["rejected_deadline"] = counts.rejected_deadline;
  object["expired"] = counts.expired;
  object["cancelled"] = counts.cancelled;
  object["failed"] = counts.failed;
  object["in_flight"] = counts.in_flight;
  object["fallback"] = counts.fallback;
  object["clamped"] = counts.clamped;
  object["within_slo"] = counts.within_slo;
}

// Class → its mean time over all requests and over those at and above a percentile.
Json AttributionJson(const MeanAttribution& mean, const MeanAttribution& p95,
                     const MeanAttribution& p99) {
  Json json;
  for (const Family& family : Families()) {
    for (const Cause cause : family.causes) {
      Json& part = json[CauseName(cause)];
      part["family"] = family.name;
      part["mean_ns"] = mean.part(cause).count();
      part["p95_ns"] = p95.part(cause).count();
      part["p99_ns"] = p99.part(cause).count();
    }
  }
  return json;
}

double PerSecond(std::uint64_t count, Nanos span) {
  return span.count() > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(span.count())
                          : 0;
}

Json HeatJson(const HeatSummary& heat) {
  Json json;
  json["max_celsius"] = heat.max_celsius;
  json["max_watts"] = heat.max_watts;
  json["min_clock"] = heat.min_clock;
  json["throttled_ns"] = heat.throttled.count();
  return json;
}

void SetAttainment(Json& object, const SimulateView& view, double attainment) {
  if (view.arguments.slo) {
    object["slo_attainment"] = attainment;
  } else {
    SetAbsent(object, "slo_attainment", "no --slo was given");
  }
}

Json TotalJson(const SimulateView& view, const SimSummary& summary) {
  Json json;
  json["work_ns"] = summary.work.count();
  SetLatency(json, summary.latency);
  json["goodput_rps"] = summary.goodput_rps;
  SetAbsent(json, "capacity_rps", kByLoop);
  SetAttainment(json, view, summary.slo_attainment);
  SetAbsent(json, "mapping_accuracy", kByLoop);
  json["fallback_rate"] = summary.fallback_rate;
  json["clamped_rate"] = ClampedRate(summary);
  json["padding_waste"] = summary.padding_waste;
  if (summary.energy_origin.empty()) {
    SetAbsent(json, "energy_j", "the device states no power");
  } else {
    json["energy_j"] = summary.energy_j;
    json["energy_origin"] = summary.energy_origin;
  }
  if (summary.heat) json["heat"] = HeatJson(*summary.heat);
  SetCounts(json["requests"], summary.counts);
  return json;
}

Json StreamJson(const SimulateView& view, const StreamSummary& stream) {
  Json json;
  json["name"] = stream.name;
  json["priority_level"] = stream.priority_level;
  SetAbsent(json, "work_ns", kTotalOnly);
  SetLatency(json, stream.latency);
  json["goodput_rps"] = PerSecond(stream.counts.within_slo, view.result.makespan());
  SetAbsent(json, "capacity_rps", kByLoop);
  SetAttainment(json, view, stream.slo_attainment);
  SetAbsent(json, "mapping_accuracy", kByLoop);
  json["fallback_rate"] = ShareOf(stream.counts.fallback, stream.counts.submitted);
  json["clamped_rate"] = ShareOf(stream.counts.clamped, stream.counts.submitted);
  SetAbsent(json, "padding_waste", kTotalOnly);
  SetAbsent(json, "energy_j", kTotalOnly);
  json["core_time_ns"] = stream.core_time.count();
  SetCounts(json["requests"], stream.counts);
  json["queue_wait"] = WaitJson(stream.queue_wait);
  json["attribution"] = AttributionJson(view.result.tail_mean(0, stream.name),
                                        view.result.tail_mean(0.95, stream.name),
                                        view.result.tail_mean(0.99, stream.name));
  return json;
}

Json CoreJson(const CoreSummary& core, Nanos makespan) {
  Json json;
  json["name"] = core.name;
  json["busy_ns"] = core.busy.count();
  json["busy_share"] = makespan.count() > 0 ? static_cast<double>(core.busy.count()) /
                                                  static_cast<double>(makespan.count())
                                            : 0;
  json["steps"] = core.steps;
  json["dram_bytes"] = core.dram_bytes;
  if (core.weights) {
    json["weights"] = {{"hits", core.weights->hits},
                       {"misses", core.weights->misses},
                       {"evictions", core.weights->evictions},
                       {"fetched_bytes", core.weights->fetched_bytes}};
  }
  return json;
}

Json CountersJson(const SimSummary& summary) {
  Json json;
  SetCounts(json, summary.counts);
  json["runs"] = summary.runs;
  json["steps"] = summary.steps;
  json["steals"] = summary.steals;
  json["holds"] = summary.holds;
  json["stray_completions"] = summary.stray_completions;
  json["attribution_missing"] = summary.attribution_missing;
  return json;
}

const char* FallbackName(Fallback fallback) {
  switch (fallback) {
    case Fallback::kGeneric:
      return "generic";
    case Fallback::kNearest:
      return "nearest";
    case Fallback::kReject:
      return "reject";
  }
  return "";
}

const char* TimeoutActionName(TimeoutAction action) {
  return action == TimeoutAction::kDelay ? "delay" : "reject";
}

Json TrafficOptionsJson(const SimulateView& view) {
  const TrafficOptions& options = view.arguments.traffic.options;
  Json json;
  json["format"] = options.format;
  json["map"] = options.map;
  json["limit"] = options.limit;
  json["requests"] = options.requests;
  json["window_ns"] = view.arguments.window ? Json(view.arguments.window->count()) : Json();
  json["bind"] = Json::array();
  for (const auto& [column, dim] : view.options.bind) {
    json["bind"].push_back({{"dim", dim}, {"column", column}});
  }
  json["strict"] = view.options.above_domain == SimulateOptions::AboveDomain::kError;
  return json;
}

Json OptionsJson(const SimulateView& view) {
  const ServingOptions& serving = view.options.serving;
  Json json;
  json["seed"] = view.options.seed;
  json["entry"] = view.options.entry;
  json["policy"] = PolicyName(serving.policy);
  json["streams"] = Json::array();
  for (const StreamOptions& stream : view.options.streams) {
    Json& given = json["streams"].emplace_back(Json{{"name", stream.name}});
    if (stream.priority) given["priority_level"] = stream.priority->level();
    if (stream.weight > 0) given["weight"] = stream.weight;
    if (stream.preserve_ordering) given["preserve_ordering"] = *stream.preserve_ordering;
    if (stream.max_queue_size) given["max_queue_size"] = *stream.max_queue_size;
    if (stream.default_timeout) given["default_timeout_ns"] = stream.default_timeout->count();
    if (stream.timeout_action) given["timeout_action"] = TimeoutActionName(*stream.timeout_action);
    if (stream.allow_timeout_override) {
      given["allow_timeout_override"] = *stream.allow_timeout_override;
    }
  }
  json["max_batch_size"] = serving.batching.max_batch_size;
  json["max_queue_delay_ns"] = serving.batching.max_queue_delay.count();
  json["preferred_batch_size"] = serving.batching.preferred_batch_size;
  json["first_come"] = serving.batching.formation == BatchingOptions::Formation::kFirstCome;
  json["preserve_ordering"] = serving.batching.preserve_ordering;
  json["priority_levels"] = serving.batching.priority_levels;
  json["default_priority_level"] = serving.batching.default_priority_level;
  json["max_queue_size"] = serving.queue.max_queue_size;
  json["default_timeout_ns"] = serving.queue.default_timeout.count();
  json["timeout_action"] = TimeoutActionName(serving.queue.timeout_action);
  json["predicted_deadline_admission"] = serving.queue.predicted_deadline_admission;
  json["max_concurrent_runs"] = serving.max_concurrent_runs;
  json["fallback"] = FallbackName(serving.fallback);
  json["phi"] = serving.phi;
  json["slo_ns"] = serving.slo.count();
  json["traffic"] = TrafficOptionsJson(view);
  return json;
}

Json SloJson(const SimulateView& view, const Objective& slo) {
  const LatencyStats& latency = view.result.summary().latency;
  Json json;
  json["objective_ns"] = slo.latency.count();
  if (slo.percentile.empty()) {
    SetAbsent(json, "percentile", "the objective names none");
  } else {
    json["percentile"] = slo.percentile;
    json["met"] = latency.count > 0 && Measured(slo, latency) <= slo.latency;
  }
  return json;
}

void SetSubject(Json& document, const SimulateView& view) {
  document["figures"] = "simulated (uncalibrated)";
  document["model"] = view.plan.model();
  document["device"] = view.device.name();
  document["traffic"] = view.traffic.name();
  SetAbsent(document, "origin", "times count from the traffic's first arrival or declared start");
  Json& digests = document["digests"];
  digests["plan"] = view.plan.digest();
  digests["device"] = view.device.digest();
  digests["traffic"] = view.traffic.digest();
  document["options"] = OptionsJson(view);
  document["notes"] = view.result.summary().notes;
}

}  // namespace

std::string SimulateJson(const SimulateView& view, const Stopwatch& watch) {
  const SimSummary& summary = view.result.summary();
  Json document = NewDocument("simulate");
  SetSubject(document, view);
  document["makespan_ns"] = summary.makespan.count();
  document["total"] = TotalJson(view, summary);
  if (view.arguments.slo) {
    document["slo"] = SloJson(view, *view.arguments.slo);
  } else {
    SetAbsent(document, "slo", "none was given");
  }
  document["streams"] = Json::array();
  for (const StreamSummary& stream : summary.streams) {
    document["streams"].push_back(StreamJson(view, stream));
  }
  document["queue_wait"] = WaitJson(summary.queue_wait);
  document["attribution"] = AttributionJson(view.result.tail_mean(0), view.result.tail_mean(0.95),
                                            view.result.tail_mean(0.99));
  document["fairness"]["streams"] = summary.fairness_streams;
  document["fairness"]["cores"] = summary.fairness_cores;
  document["cores"] = Json::array();
  for (const CoreSummary& core : summary.cores) {
    document["cores"].push_back(CoreJson(core, summary.makespan));
  }
  // Only where the plan has HOST work.
  for (const CoreSummary& host : summary.hosts) {
    Json& of = document["hosts"].emplace_back();
    of["name"] = host.name;
    of["busy_ns"] = host.busy.count();
    of["steps"] = host.steps;
  }
  document["steps"] = summary.steps;
  document["counters"] = CountersJson(summary);
  document["telemetry_digest"] = view.result.telemetry_digest();
  Json host = HostFigures(watch);
  host["steps_per_second"] = static_cast<double>(summary.steps) / watch.wall_seconds();
  document["host"] = std::move(host);
  return JsonText(document);
}

}  // namespace leeway::cli
