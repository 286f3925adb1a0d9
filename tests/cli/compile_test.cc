#include <nlohmann/json.hpp>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words Compile(const Scratch& scratch, const Words& more = {}) {
  Words words = {"compile", scratch.Write("p.textproto", kPlan), "--device",
                 scratch.Write("d.textproto", DeviceText())};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("compile makes one variant a bucket and tells what it predicts", "[cli][compile]") {
  const Scratch scratch;
  const Said said = RunLeeway(Compile(scratch, {"--buckets", "32,100,256"}));
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  CHECK_THAT(said.out, Contains("3 variants") && Contains("s32") && Contains("s100") &&
                           Contains("s256") && Contains("predicted"));

  const Json json =
      Json::parse(RunLeeway(Compile(scratch, {"--buckets", "32,100,256", "--json"})).out);
  CHECK(json["schema"] == "leeway.compile.v1");
  CHECK(json["model"] == "toy");
  CHECK(json["groups"] == 3);
  REQUIRE(json["variants"].size() == 3);
  std::int64_t last = 0;
  for (const Json& variant : json["variants"]) {
    CHECK(variant["name"] == "s" + std::to_string(variant["edge"].get<int>()));
    CHECK(variant["max_batch"] == 8);
    CHECK(variant["groups"] == 1);
    CHECK(variant["steps"] >= 1);
    CHECK(variant["predicted_ns"] >= last);
    CHECK(variant["core_time_ns"] >= variant["predicted_ns"]);
    last = variant["predicted_ns"];
  }
  CHECK(json["predicted"]["variant"] == "s256");
  CHECK(json["predicted"]["path_ns"] == last);
}

TEST_CASE("compile without buckets takes those of the plan", "[cli][compile]") {
  const Scratch scratch;
  const Json json = Json::parse(RunLeeway(Compile(scratch, {"--json", "--max-batch", "2"})).out);
  REQUIRE(json["variants"].size() == 2);
  CHECK(json["variants"][0]["edge"] == 64);
  CHECK(json["variants"][1]["edge"] == 192);
  CHECK(json["variants"][1]["max_batch"] == 2);
}

TEST_CASE("compile -o writes a plan that the other commands take", "[cli][compile]") {
  const Scratch scratch;
  const std::string plan = scratch.Path("compiled.pb");
  const Words words = Compile(scratch, {"--buckets", "100,256", "--json", "-o", plan});
  const Said said = RunLeeway(words);
  REQUIRE(said.exit_code == 0);
  const Json json = Json::parse(said.out);
  const Said checked =
      RunLeeway({"plan", "check", plan, "--json", "--device", scratch.Path("d.textproto")});
  CHECK(checked.exit_code == 0);
  CHECK(Json::parse(checked.out)["digest"] == json["digests"]["plan"]);
  CHECK_THAT(RunLeeway({"plan", "show", plan}).out, Contains("leeway_reference_compiler"));
  const Said served = RunLeeway({"simulate", plan, "--device", scratch.Path("d.textproto"),
                                 "--traffic", scratch.Write("t.csv", TrafficCsv(100, 256)), "--map",
                                 "arrival=t:us,seq=seq", "--json"});
  CHECK(served.exit_code == 0);

  const std::string bytes = ReadAll(plan);
  CHECK(RunLeeway(words).exit_code == 0);
  CHECK(ReadAll(plan) == bytes);
  // The plan, and nothing beside it.
  CHECK(RunLeeway(Compile(scratch, {"--buckets", "100,256", "-o", "-"})).out == bytes);
}

TEST_CASE("compile refuses buckets that leave the domain, and leaves no file", "[cli][compile]") {
  const Scratch scratch;
  const Said said =
      RunLeeway(Compile(scratch, {"--buckets", "100,300", "-o", scratch.Path("c.pb")}));
  CHECK(said.exit_code == 3);
  CHECK(said.out.empty());
  CHECK_THAT(said.err, Contains("bucket edge 300 leaves the domain [1, 256] of dim \"seq\""));
  CHECK(scratch.Files() == Words{"d.textproto", "p.textproto"});
}

TEST_CASE("compile --variants chooses buckets by the plan's shape profile", "[cli][compile]") {
  const Scratch scratch;
  const Said without = RunLeeway(Compile(scratch, {"--variants", "2"}));
  CHECK(without.exit_code == 3);
  CHECK_THAT(without.err, Contains("no shape profile"));
  CHECK(RunLeeway(Compile(scratch, {"--variants", "2", "--buckets", "8"})).exit_code == 2);

  const Json json =
      Json::parse(RunLeeway({"compile", "bert_base", "--variants", "3", "--json"}).out);
  CHECK(json["variants"].size() <= 3);
  CHECK(json["variants"].size() >= 1);
  CHECK(json["buckets"] == "the best for the plan's shape profile");
}

TEST_CASE("compile --print-passes tells what became of every operator", "[cli][compile]") {
  const Scratch scratch;
  const Said said = RunLeeway(Compile(scratch, {"--buckets", "32,256", "--print-passes"}));
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Contains("pass buckets: s32=32 s256=256 (as asked)\n") &&
                           Contains("pass fuse main/s32: 1 operator in 1 group\n") &&
                           Contains("pass shard and place main/s256:\n"));
  const Json json = Json::parse(
      RunLeeway(Compile(scratch, {"--buckets", "32,256", "--print-passes", "--json"})).out);
  REQUIRE(json["passes"].size() == 2);
  CHECK(json["passes"][0]["groups"][0]["ops"] == Json::parse(R"(["mm"])"));
  CHECK(json["passes"][0]["groups"][0]["shards"] >= 1);
}

TEST_CASE("the shipped models compile for the shipped device", "[cli][compile]") {
  const std::string name = GENERATE("bert_base", "llama2_7b_prefill");
  const Said said = RunLeeway({"compile", name});
  CAPTURE(name, said.err);
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Contains(name) && Contains("onnxim_tpuv4_c4"));
}

}  // namespace
}  // namespace leeway::testing
