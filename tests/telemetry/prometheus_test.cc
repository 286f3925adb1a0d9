#include "telemetry/prometheus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/telemetry/random_snapshot.h"

namespace leeway::telemetry {
namespace {

using testing::RandomSnapshot;

PrometheusContext FullContext() {
  PrometheusContext context;
  context.model = "chat \"7b\"\\\n";
  context.channel = "stable";
  context.version = "0.1.0";
  context.commit = "abc";
  context.mapping_accuracy = 0.75;
  context.drift_regret = {{"a", 0.02}};
  context.plan_compiles = {{"accepted", 3}};
  return context;
}

Snapshot Canonical(std::uint64_t seed) {
  base::Prng prng(seed);
  Snapshot snapshot = RandomSnapshot(prng, "a");
  REQUIRE(snapshot.Canonicalise().ok());
  return snapshot;
}

struct Sample {
  std::string name;
  std::string labels;
  std::string value;
};

// The text format's grammar, line by line; every sample belongs to the family announced last.
std::vector<Sample> ParseText(const std::string& text) {
  static const std::regex kHelp(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\n]+)");
  static const std::regex kType(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
  static const std::regex kSample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*"(,(?!\}))?)+\})?)re"
      R"re( (NaN|[+-]Inf|-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?))re");
  REQUIRE(!text.empty());
  REQUIRE(text.back() == '\n');
  std::vector<Sample> samples;
  std::set<std::string> families, series;
  std::string family, type, line;
  std::smatch m;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    CAPTURE(line);
    if (std::regex_match(line, m, kHelp)) {
      family = m[1];
      type.clear();
      REQUIRE(families.insert(family).second);
    } else if (std::regex_match(line, m, kType)) {
      REQUIRE(m[1] == family);
      REQUIRE(type.empty());
      type = m[2];
    } else {
      REQUIRE(std::regex_match(line, m, kSample));
      REQUIRE_FALSE(type.empty());
      const std::string name = m[1];
      const std::string suffix = name.substr(std::min(name.size(), family.size()));
      REQUIRE(name == family + suffix);
      const bool parts = suffix == "_bucket" || suffix == "_sum" || suffix == "_count";
      REQUIRE((type == "histogram" ? parts : suffix.empty()));
      if (type == "counter") REQUIRE(name.find("_total") == name.size() - 6);
      REQUIRE(series.insert(name + std::string(m[2])).second);
      samples.push_back({name, m[2], m[6]});
    }
  }
  return samples;
}

std::string ValueOf(const std::vector<Sample>& samples, const std::string& name,
                    const std::string& labels) {
  for (const Sample& s : samples) {
    if (s.name == name && s.labels == labels) return s.value;
  }
  return "none";
}

}  // namespace

TEST_CASE("every line follows the text format, and no series is there twice",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  const std::vector<Sample> samples = ParseText(RenderPrometheus(Canonical(seed), FullContext()));
  REQUIRE(samples.size() > 5);
}

TEST_CASE("the families are those that alerts are written against", "[telemetry][unit]") {
  std::set<std::string> names;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = RenderPrometheus(Canonical(seed), FullContext());
    for (const Sample& sample : ParseText(text)) names.insert(sample.name);
  }
  const std::set<std::string> expected = {
      "leeway_requests_total",
      "leeway_request_latency_seconds_bucket",
      "leeway_request_latency_seconds_sum",
      "leeway_request_latency_seconds_count",
      "leeway_queue_wait_seconds_bucket",
      "leeway_queue_wait_seconds_sum",
      "leeway_queue_wait_seconds_count",
      "leeway_steps_total",
      "leeway_steals_total",
      "leeway_core_busy_seconds_total",
      "leeway_fallback_core_seconds_total",
      "leeway_mapping_accuracy_ratio",
      "leeway_drift_regret_ratio",
      "leeway_plan_compiles_total",
      "leeway_telemetry_dropped_total",
      "leeway_attribution_missing_total",
      "leeway_plan_info",
      "leeway_build_info",
  };
  REQUIRE(names == expected);
}

TEST_CASE("values are exact decimals in base units, labels are escaped", "[telemetry][unit]") {
  Snapshot s;
  s.plan_digest = std::string(31, '\x0A') + "\xFF";
  s.cores = {{"c0", Nanos(1'500'000'001), 7, 0, 0}, {"c1", Nanos(2'000'000'000), 0, 0, 0}};
  s.counters.steals = 4;
  s.counters.fallback_by = {{"out_of_envelope", 1, Nanos(10)}};
  const std::vector<Sample> samples = ParseText(RenderPrometheus(s, FullContext()));
  const std::string model = R"(model="chat \"7b\"\\\n")";
  CHECK(ValueOf(samples, "leeway_core_busy_seconds_total", R"({core="c0"})") == "1.500000001");
  CHECK(ValueOf(samples, "leeway_core_busy_seconds_total", R"({core="c1"})") == "2");
  CHECK(ValueOf(samples, "leeway_steps_total", "{" + model + R"(,core="c0"})") == "7");
  CHECK(ValueOf(samples, "leeway_steals_total", R"({result="taken"})") == "4");
  CHECK(ValueOf(samples, "leeway_fallback_core_seconds_total",
                "{" + model + R"(,reason="out_of_envelope"})") == "0.00000001");
  CHECK(ValueOf(samples, "leeway_mapping_accuracy_ratio", "{" + model + "}") == "0.75");
  std::string digest;
  for (int i = 0; i < 31; ++i) digest += "0a";
  CHECK(ValueOf(samples, "leeway_plan_info",
                "{" + model + R"(,digest=")" + digest + R"(ff",channel="stable"})") == "1");
}

TEST_CASE("classic buckets count exactly the values at most their edge", "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  base::Prng prng(seed);
  Snapshot s;
  std::vector<std::int64_t> values;
  // One stream before and after its priority changed.
  for (std::uint32_t level : {1u, 2u}) {
    StreamTelemetry stream;
    stream.name = "chat";
    stream.priority_level = level;
    stream.latency_ns = ExponentialHistogram(static_cast<int>(prng.Below(9)));
    for (std::uint64_t n = prng.Below(300); n > 0; --n) {
      // Also the edges themselves, and their neighbours.
      std::int64_t value = static_cast<std::int64_t>(prng.Next() >> (24 + prng.Below(40)));
      if (prng.Below(3) == 0) {
        value = std::int64_t{1} << prng.Below(40);
        value += static_cast<std::int64_t>(prng.Below(3)) - 1;
      }
      values.push_back(value);
      stream.latency_ns.Record(value);
    }
    s.streams.push_back(stream);
  }
  PrometheusContext context;
  context.model = "m";
  const std::vector<Sample> samples = ParseText(RenderPrometheus(s, context));
  std::size_t edges = 0;
  for (const Sample& sample : samples) {
    const std::string prefix = R"({model="m",stream="chat",le=")";
    if (sample.name != "leeway_request_latency_seconds_bucket") continue;
    REQUIRE(sample.labels.rfind(prefix, 0) == 0);
    const double edge = std::strtod(sample.labels.c_str() + prefix.size(), nullptr);
    std::uint64_t count = 0;
    for (std::int64_t value : values) count += static_cast<double>(value) <= edge * 1e9 + 0.25;
    REQUIRE(sample.value == std::to_string(count));
    ++edges;
  }
  REQUIRE(edges == kLastBucketExponent - kFirstBucketExponent + 2);
  const std::string labels = R"({model="m",stream="chat"})";
  CHECK(ValueOf(samples, "leeway_request_latency_seconds_count", labels) ==
        std::to_string(values.size()));
}

#ifdef LEEWAY_PROMTOOL
TEST_CASE("promtool finds nothing to complain about", "[telemetry][integration]") {
  const std::string path = "leeway_prometheus_test.prom";
  std::ofstream(path) << RenderPrometheus(Canonical(3), FullContext());
  const std::string command = std::string(LEEWAY_PROMTOOL) + " check metrics < " + path;
  REQUIRE(std::system(command.c_str()) == 0);
  std::remove(path.c_str());
}
#endif

}  // namespace leeway::telemetry
