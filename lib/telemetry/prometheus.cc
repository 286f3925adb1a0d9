#include "telemetry/prometheus.h"

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace leeway::telemetry {
namespace {

struct Label {
  std::string_view name;
  std::string_view value;
};

void AppendEscaped(std::string& out, std::string_view value) {
  for (char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// Exact: a nanosecond is a decimal of a second.
std::string Seconds(std::int64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t magnitude =
      ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string text = ns < 0 ? "-" : "";
  text += std::to_string(magnitude / kSecond);
  if (magnitude % kSecond == 0) return text;
  // A leading one keeps the zeros.
  std::string fraction = std::to_string(kSecond + magnitude % kSecond);
  fraction.front() = '.';
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + fraction;
}

// The shortest form that reads back as the same number.
std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return std::string(digits, end);
}

// One family: its header goes out with the first sample.
class Family {
 public:
  Family(std::string& out, const char* name, const char* type, const char* help)
      : out_(out), name_(name), type_(type), help_(help) {}

  void Add(std::initializer_list<Label> labels, std::string_view value,
           std::string_view suffix = {}) {
    if (!std::exchange(begun_, true)) {
      out_ += std::string("# HELP ") + name_ + " " + help_ + "\n";
      out_ += std::string("# TYPE ") + name_ + " " + type_ + "\n";
    }
    out_ += name_;
    out_ += suffix;
    AppendLabels(labels);
    out_ += ' ';
    out_ += value;
    out_ += '\n';
  }

  void Add(std::initializer_list<Label> labels, std::uint64_t value, std::string_view suffix = {}) {
    Add(labels, std::to_string(value), suffix);
  }

 private:
  void AppendLabels(std::initializer_list<Label> labels) {
    char separator = '{';
    for (const Label& label : labels) {
      out_ += separator;
      separator = ',';
      out_ += label.name;
      out_ += "=\"";
      AppendEscaped(out_, label.value);
      out_ += '"';
    }
    if (labels.size() > 0) out_ += '}';
  }

  std::string& out_;
  const char* name_;
  const char* type_;
  const char* help_;
  bool begun_ = false;
};

// The values at most 2^exponent: the sum of the whole buckets below that bound.
std::uint64_t CountUpTo(const ExponentialHistogram& histogram, int exponent) {
  const std::int64_t end = (std::int64_t{exponent} << histogram.scale()) - histogram.offset();
  std::uint64_t count = histogram.zero_count();
  for (std::size_t i = 0; i < histogram.buckets().size(); ++i) {
    if (static_cast<std::int64_t>(i) >= end) break;
    count += histogram.buckets()[i];
  }
  return count;
}

void AddHistogram(Family& family, std::string_view model, std::string_view stream,
                  const ExponentialHistogram& histogram) {
  const Label of_model{"model", model}, of_stream{"stream", stream};
  for (int e = kFirstBucketExponent; e <= kLastBucketExponent; ++e) {
    family.Add({of_model, of_stream, {"le", Seconds(std::int64_t{1} << e)}},
               CountUpTo(histogram, e), "_bucket");
  }
  family.Add({of_model, of_stream, {"le", "+Inf"}}, histogram.count(), "_bucket");
  family.Add({of_model, of_stream}, Seconds(histogram.sum()), "_sum");
  family.Add({of_model, of_stream}, histogram.count(), "_count");
}

// A stream whose priority was changed has two entries, but one set of labels.
std::vector<StreamTelemetry> ByName(const std::vector<StreamTelemetry>& streams) {
  std::vector<StreamTelemetry> result;
  for (const StreamTelemetry& stream : streams) {
    if (result.empty() || result.back().name != stream.name) {
      result.push_back(stream);
      continue;
    }
    StreamTelemetry& sum = result.back();
    sum.latency_ns.Merge(stream.latency_ns);
    sum.queue_wait_ns.Merge(stream.queue_wait_ns);
    sum.counters.ok += stream.counters.ok;
    sum.counters.rejected += stream.counters.rejected;
    sum.counters.expired += stream.counters.expired;
    sum.counters.cancelled += stream.counters.cancelled;
    sum.counters.failed += stream.counters.failed;
  }
  return result;
}

void RenderStreams(std::string& out, const std::vector<StreamTelemetry>& streams,
                   std::string_view model) {
  Family requests(out, "leeway_requests_total", "counter", "Requests that ended, by outcome.");
  for (const StreamTelemetry& stream : streams) {
    const Counters& c = stream.counters;
    const std::pair<const char*, std::uint64_t> outcomes[] = {{"ok", c.ok},
                                                              {"rejected", c.rejected},
                                                              {"expired", c.expired},
                                                              {"cancelled", c.cancelled},
                                                              {"failed", c.failed}};
    for (const auto& [outcome, count] : outcomes) {
      requests.Add({{"model", model}, {"stream", stream.name}, {"outcome", outcome}}, count);
    }
  }
  Family latency(out, "leeway_request_latency_seconds", "histogram",
                 "Time from submission to completion of requests that ended ok.");
  for (const StreamTelemetry& s : streams) AddHistogram(latency, model, s.name, s.latency_ns);
  Family wait(out, "leeway_queue_wait_seconds", "histogram",
              "Time from submission to the first step of requests that ended ok.");
  for (const StreamTelemetry& s : streams) AddHistogram(wait, model, s.name, s.queue_wait_ns);
}

void RenderCores(std::string& out, const Snapshot& snapshot, std::string_view model) {
  Family steps(out, "leeway_steps_total", "counter", "Steps launched on a core.");
  for (const CoreTelemetry& core : snapshot.cores) {
    steps.Add({{"model", model}, {"core", core.name}}, core.steps);
  }
  Family steals(out, "leeway_steals_total", "counter",
                "Steps that a core took from another one's queue.");
  steals.Add({{"result", "taken"}}, snapshot.counters.steals);
  Family busy(out, "leeway_core_busy_seconds_total", "counter", "Time a core ran steps.");
  for (const CoreTelemetry& core : snapshot.cores) {
    busy.Add({{"core", core.name}}, Seconds(core.busy.count()));
  }
  Family fallback(out, "leeway_fallback_core_seconds_total", "counter",
                  "Core time of requests that ran unfused, by why no variant covered them.");
  for (const ReasonCount& reason : snapshot.counters.fallback_by) {
    fallback.Add({{"model", model}, {"reason", reason.reason}}, Seconds(reason.core_time.count()));
  }
}

void RenderMapping(std::string& out, const PrometheusContext& context) {
  const std::string_view model = context.model;
  Family accuracy(
      out, "leeway_mapping_accuracy_ratio", "gauge",
      "Share of step time in the envelope, variant, place and cost that the plan meant.");
  if (context.mapping_accuracy) accuracy.Add({{"model", model}}, Number(*context.mapping_accuracy));
  Family regret(out, "leeway_drift_regret_ratio", "gauge",
                "Cost above that of the best plan for the observed shapes, as a share of it.");
  for (const PrometheusContext::Regret& r : context.drift_regret) {
    regret.Add({{"model", model}, {"stream", r.stream}}, Number(r.ratio));
  }
  Family compiles(out, "leeway_plan_compiles_total", "counter", "Plans compiled, by outcome.");
  for (const PrometheusContext::Compiles& c : context.plan_compiles) {
    compiles.Add({{"outcome", c.outcome}}, c.count);
  }
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

void RenderMeta(std::string& out, const Snapshot& snapshot, const PrometheusContext& context) {
  Family dropped(out, "leeway_telemetry_dropped_total", "counter",
                 "Events lost because a ring was full.");
  dropped.Add({}, snapshot.counters.events_dropped);
  Family missing(out, "leeway_attribution_missing_total", "counter",
                 "Requests that ended ok without an attribution of their latency.");
  missing.Add({}, snapshot.counters.attribution_missing);
  Family plan(out, "leeway_plan_info", "gauge", "The plan that served, always 1.");
  plan.Add({{"model", context.model},
            {"digest", Hex(snapshot.plan_digest)},
            {"channel", context.channel}},
           1);
  Family build(out, "leeway_build_info", "gauge", "The library that served, always 1.");
  build.Add({{"version", context.version}, {"commit", context.commit}}, 1);
}

}  // namespace

std::string RenderPrometheus(const Snapshot& snapshot, const PrometheusContext& context) {
  std::string out;
  RenderStreams(out, ByName(snapshot.streams), context.model);
  RenderCores(out, snapshot, context.model);
  RenderMapping(out, context);
  RenderMeta(out, snapshot, context);
  return out;
}

}  // namespace leeway::telemetry
