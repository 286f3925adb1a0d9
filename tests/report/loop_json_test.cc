#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/loop_report.h"
#include "support/sample_loop.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Json = nlohmann::json;
using report::LoopJson;

// Calls visit(path, object, key) for every member of every object.
template <typename Visit>
void ForEachMember(const Json& json, const std::string& path, const Visit& visit) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      visit(path + "/" + key, json, key);
      ForEachMember(value, path + "/" + key, visit);
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      ForEachMember(json[i], path + "/" + std::to_string(i), visit);
    }
  }
}

TEST_CASE("the document has every key that scripts rely on", "[report][json]") {
  const Json json = Json::parse(LoopJson(SampleLoop()));
  CHECK(json["schema"] == "leeway.loop.v1");
  for (const char* key :
       {"requests", "device", "dims", "clamped_rate", "time_compression", "overloaded_windows",
        "headroom", "frozen", "adapted", "clairvoyant", "gain", "compiles", "switches",
        "worst_window", "actions", "bottleneck", "contradictions", "replay_error", "digests"}) {
    CAPTURE(key);
    CHECK(json.contains(key));
  }
  for (const char* arm : {"frozen", "adapted", "clairvoyant"}) {
    for (const char* key :
         {"work_ns", "p50_ns", "p95_ns", "p99_ns", "mean_ns", "goodput_rps", "capacity_rps",
          "slo_attainment", "mapping_accuracy", "fallback_rate", "padding_waste", "energy_j"}) {
      CAPTURE(arm, key);
      CHECK(json[arm].contains(key));
    }
  }
  for (const char* key : {"work", "p50", "p95", "p99", "capacity", "captured", "captured_cf"}) {
    CHECK(json["gain"].contains(key));
  }
  CHECK(json["headroom"]["value"] == 0.18);
  CHECK(json["headroom"]["interval"] == Json({0.11, 0.25}));
  CHECK(json["headroom"]["verdict"] == "present");
  CHECK(json["dims"] == Json({"seq"}));
}

TEST_CASE("the figures are the summary's, to the last bit", "[report][json]") {
  const LoopSummary summary = SampleLoop();
  const Json json = Json::parse(LoopJson(summary));
  CHECK(json["gain"]["work"].get<double>() == summary.gain.work.value);
  CHECK(json["frozen"]["p99_ns"] == 2'000'000'000);
  CHECK(json["frozen"]["accuracy"]["lost"]["cost"].get<double>() ==
        summary.frozen.accuracy->lost_cost);
  CHECK(json["frozen"]["attribution"]["padding"]["p99_ns"] == 200'000'000);
  CHECK(json["frozen"]["attribution"]["padding"]["family"] == "execution");
  CHECK(json["actions"][1]["kind"] == "switch");
  CHECK(json["actions"][0]["edges"] == Json({128, 512, 2048, 8192}));
  CHECK(json["actions"][0]["at_ns"] == 10'800'000'000'000);
  CHECK(json["windows"].size() == 11);
  CHECK(json["scored_windows"] == 10);
  CHECK(json["sweep"][0]["load"] == 0.3);
  CHECK(json["guardrails"].size() == 2);
  CHECK(json["gain"]["captured_by_reference"] == 0.45);
  CHECK(json["gain"]["reference_compiles"] == 3);
  CHECK(json["fallback_stretch"] == 3.5);
}

TEST_CASE("the parts of an arm's tail add up to its mean latency", "[report][json]") {
  const LoopSummary summary = SampleLoop();
  const Json json = Json::parse(LoopJson(summary));
  std::int64_t sum = 0;
  for (const Json& part : json["adapted"]["attribution"]) {
    sum += part["p99_ns"].get<std::int64_t>();
  }
  CHECK(sum == summary.adapted.tails[2].mean.total().count());
  const Json& accuracy = json["adapted"]["accuracy"];
  double shares = accuracy["within_15"];
  for (const Json& lost : accuracy["lost"]) shares += lost.get<double>();
  CHECK(shares == Approx(1).margin(1e-12));
}

TEST_CASE("a key is null exactly if a reason stands beside it", "[report][json]") {
  const LoopSummary summaries[] = {SampleLoop(), LoopWithoutHeadroom(), LoopSummary()};
  for (const LoopSummary& summary : summaries) {
    const Json json = Json::parse(LoopJson(summary));
    ForEachMember(json, "",
                  [](const std::string& path, const Json& object, const std::string& key) {
                    CAPTURE(path);
                    CHECK(object[key].is_null() == object.contains(key + "_reason"));
                  });
    CHECK(json["bottleneck"].is_null());
    CHECK(json["replay_error"].is_null());
  }
}

TEST_CASE("captured is null where there is no headroom", "[report][json]") {
  LoopSummary summary = LoopWithoutHeadroom();
  summary.gain.captured = {{0.4, std::nullopt}};  // whatever the experiment left there
  const Json json = Json::parse(LoopJson(summary));
  CHECK(json["gain"]["captured"].is_null());
  CHECK(json["headroom"]["verdict"] == "none");
}

TEST_CASE("no figure is written as NaN or infinite", "[report][json]") {
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
               -std::numeric_limits<double>::infinity());
  LoopSummary summary = SampleLoop();
  summary.gain.work = {bad, std::pair(bad, 1.0)};
  summary.headroom.gain.value = bad;
  summary.adapted.energy_j = bad;
  summary.adapted.capacity_rps = {{bad, std::nullopt}};
  summary.adapted.accuracy->bias = bad;
  summary.windows[2].load = bad;
  summary.actions[0].expected_gain = bad;
  summary.formation[0].padding_share = bad;
  summary.worst_window = bad;
  const std::string text = LoopJson(summary);
  const Json json = Json::parse(text);  // which takes neither
  for (const Json& null :
       {json["gain"]["work"], json["gain"]["work_interval"], json["headroom"]["value"],
        json["adapted"]["energy_j"], json["adapted"]["capacity_rps"], json["windows"][2]["load"],
        json["actions"][0]["expected_gain"], json["worst_window"]}) {
    CHECK(null.is_null());
  }
  ForEachMember(json, "", [](const std::string& path, const Json& object, const std::string& key) {
    CAPTURE(path);
    CHECK(object[key].is_null() == object.contains(key + "_reason"));
  });
}

TEST_CASE("times are whole nanoseconds", "[report][json]") {
  const Json json = Json::parse(LoopJson(SampleLoop()));
  ForEachMember(json, "", [](const std::string& path, const Json& object, const std::string& key) {
    if (key.size() < 3 || key.substr(key.size() - 3) != "_ns" || object[key].is_null()) return;
    CAPTURE(path);
    CHECK(object[key].is_number_integer());
  });
}

TEST_CASE("equal figures give equal documents, and names that are no UTF-8 a valid one",
          "[report][json]") {
  CHECK(LoopJson(SampleLoop()) == LoopJson(SampleLoop()));
  const LoopSummary summary = LoopOfNames("a\"b\\c\xFF\n</script>");
  const Json json = Json::parse(LoopJson(summary));
  CHECK(json["model"] == "a\"b\\c\xEF\xBF\xBD\n</script>");
}

}  // namespace
}  // namespace leeway::testing
