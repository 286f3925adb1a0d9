#include <nlohmann/json.hpp>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Two chains of 10 and 20, then 5.
constexpr char kStg[] = "3\n0 0 0\n1 10 1 0\n2 20 1 0\n3 5 2 1 2\n4 0 1 3\n";

TEST_CASE("schedule tells the makespan of a task graph and its bound", "[cli][schedule]") {
  const Scratch scratch;
  const std::string graph = scratch.Write("g.stg", kStg);
  const Said said = RunLeeway({"schedule", graph, "--cores", "2"});
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  CHECK_THAT(said.out, Contains("3 tasks on 2 cores") && Contains("makespan     25 ns") &&
                           Contains("optimal"));
  for (const Words& more : {Words{}, Words{"--optimize"}}) {
    Words words = {"schedule", graph, "--cores", "1", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json json = Json::parse(RunLeeway(words).out);
    CHECK(json["schema"] == "leeway.schedule.v1");
    CHECK(json["makespan"] == 35);
    CHECK(json["lower_bound"] == 35);
    CHECK(json["optimal"] == true);
    CHECK(json["placed"].size() == 3);
    CHECK(json["placed"][2]["start_ns"] == 30);
    CHECK(json.contains("steals"));
    CHECK(json["ns_per_step"].is_number());
  }
}

TEST_CASE("schedule unrolls a plan", "[cli][schedule]") {
  const Json json = Json::parse(RunLeeway({"schedule", "bert_base", "--cores", "4", "--json"}).out);
  CHECK(json["tasks"] > 12);
  CHECK(json["makespan"] >= json["lower_bound"]);
}

TEST_CASE("schedule runs a graph under the policy that is named", "[cli][schedule]") {
  const Scratch scratch;
  // Two tasks of 10 are ready first, the one of 30 last: on 2 cores the longest first is 30, in
  // order of arrival 40.
  const std::string graph =
      scratch.Write("g.stg", "3\n0 0 0\n1 10 1 0\n2 10 1 0\n3 30 1 0\n4 0 3 1 2 3\n");
  const auto makespan = [&](const std::string& policy) {
    const Json json = Json::parse(
        RunLeeway({"schedule", graph, "--cores", "2", "--json", "--policy", policy}).out);
    CHECK(json["policy"] == policy);
    return json["makespan"].get<int>();
  };
  CHECK(makespan("leeway") == 30);
  CHECK(makespan("wfq") == 30);
  CHECK(makespan("fifo") == 40);
  CHECK(makespan("lifo-steal") >= 30);
  const Said unknown = RunLeeway({"schedule", graph, "--cores", "2", "--policy", "edf"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err,
             Contains("option --policy: 'edf' is not one of leeway, fifo, lifo-steal, wfq"));
}

TEST_CASE("schedule refuses what it cannot read, with its place", "[cli][schedule]") {
  const Scratch scratch;
  const std::string graph = scratch.Write("g.stg", "2\n0 0 0\n1 x 0\n");
  const Said bad = RunLeeway({"schedule", graph, "--cores", "2"});
  CHECK(bad.exit_code == 3);
  CHECK_THAT(bad.err, Contains(graph + ":3: the time of task 1 is no whole number"));
  CHECK(RunLeeway({"schedule", graph}).exit_code == 2);
  CHECK(RunLeeway({"schedule", graph, "--cores", "0"}).exit_code == 2);
  CHECK(RunLeeway({"schedule", scratch.Path("none.stg"), "--cores", "2"}).exit_code == 4);
}

}  // namespace
}  // namespace leeway::testing
