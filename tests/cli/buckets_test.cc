#include <nlohmann/json.hpp>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Ten windows of a second, whose lengths move from short to long.
std::string Drifting() {
  std::string text = "t,seq\n";
  for (int i = 0; i < 10000; ++i) {
    const int window = i / 1000;
    text += std::to_string(i) + "," + std::to_string(1 + i * 37 % (100 + 90 * window)) + "\n";
  }
  return text;
}

Words Study(const std::string& traffic, const Words& more) {
  Words words = {"buckets", traffic, "--map", "arrival=t:ms,seq=seq", "--window", "1s"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("buckets prints the contract's keys for every policy", "[cli][buckets]") {
  const Scratch scratch;
  const Said said = RunLeeway(Study(scratch.Write("t.csv", Drifting()), {"--json", "--k", "4"}));
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  CHECK(said.err.empty());
  const Json json = Json::parse(said.out);
  CHECK(json["schema"] == "leeway.buckets.v1");
  CHECK(json["windows"] == 10);
  CHECK(json["requests"] == 10000);
  CHECK(json["options"]["k"] == 4);
  CHECK(json["options"]["window_ns"] == 1'000'000'000);
  CHECK(json["digests"]["traffic"].get<std::string>().size() == 64);
  std::vector<std::string> names;
  for (const Json& policy : json["policies"]) {
    names.push_back(policy["name"]);
    for (const char* key :
         {"waste", "gain", "captured", "retunes", "switches", "worst_window", "fallback_rate"}) {
      CHECK(policy.contains(key));
    }
  }
  CHECK(names == std::vector<std::string>{"frozen", "oracle", "ref", "refx", "leeway", "library",
                                          "pow2", "exponential"});
}

TEST_CASE("buckets says first where there is nothing to gain", "[cli][buckets]") {
  const Scratch scratch;
  std::string steady = "t,seq\n";
  for (int i = 0; i < 10000; ++i)
    steady += std::to_string(i) + "," + std::to_string(1 + i % 50) + "\n";
  const std::string traffic = scratch.Write("t.csv", steady);
  const Said screen = RunLeeway(Study(traffic, {}));
  CHECK(screen.exit_code == 0);
  CHECK_THAT(screen.out, Catch::StartsWith("No headroom: the oracle"));
  CHECK_THAT(screen.out, !Contains("leeway captured"));
  const Json json = Json::parse(RunLeeway(Study(traffic, {"--json"})).out);
  CHECK(json["headroom"]["verdict"] == "none");
  for (const Json& policy : json["policies"]) {
    CHECK(policy["captured"].is_null());
    CHECK(policy["captured_reason"].is_string());
    if (policy["name"] == "leeway") CHECK(policy["retunes"] == 0);
  }
}

TEST_CASE("buckets reads its table out where there is something to gain", "[cli][buckets]") {
  const Scratch scratch;
  const Said screen = RunLeeway(Study(scratch.Write("t.csv", Drifting()), {"--k", "4"}));
  CHECK(screen.exit_code == 0);
  CHECK_THAT(screen.out, Contains("leeway captured ") && Contains(" of what the oracle gains ("));
}

TEST_CASE("two studies of the same traffic differ in `host` alone", "[cli][buckets]") {
  const Scratch scratch;
  const Words words = Study(scratch.Write("t.csv", Drifting()), {"--json"});
  Json first = Json::parse(RunLeeway(words).out);
  Json second = Json::parse(RunLeeway(words).out);
  first.erase("host");
  second.erase("host");
  CHECK(first == second);
}

TEST_CASE("a traffic of one window cannot be studied: exit 3", "[cli][buckets]") {
  const Scratch scratch;
  Words words = Study(scratch.Write("t.csv", Drifting()), {});
  words.back() = "1h";
  const Said said = RunLeeway(words);
  CHECK(said.exit_code == 3);
  CHECK_THAT(said.err, Contains("window"));
}

}  // namespace
}  // namespace leeway::testing
