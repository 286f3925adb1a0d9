#include <nlohmann/json.hpp>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

std::string Broken() {
  std::string plan(kPlan);
  const std::string inputs = R"(inputs: ["x", "w"])";
  return plan.replace(plan.find(inputs), inputs.size(), R"(inputs: ["x", "nothing"])");
}

TEST_CASE("plan check of a good plan exits 0 and says so", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const Said said = RunLeeway({"plan", "check", plan});
  CHECK(said.exit_code == 0);
  CHECK(said.out == plan + ": no findings\n");
  CHECK(said.err.empty());

  const Json json = Json::parse(RunLeeway({"plan", "check", plan, "--json"}).out);
  CHECK(json["schema"] == "leeway.plan.check.v1");
  CHECK(json["findings"].empty());
  CHECK(json["ok"] == true);
  CHECK(json["digest"].get<std::string>().size() == 64);
}

TEST_CASE("plan check lists findings with their paths and exits 1", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", Broken());
  const Said said = RunLeeway({"plan", "check", plan});
  CHECK(said.exit_code == 1);
  CHECK_THAT(said.out, Contains("entries[0].operators[0].inputs[1]") && Contains("nothing"));

  const Said machine = RunLeeway({"plan", "check", plan, "--json"});
  CHECK(machine.exit_code == 1);
  const Json json = Json::parse(machine.out);
  REQUIRE(!json["findings"].empty());
  const Json& finding = json["findings"][0];
  CHECK(finding["path"] == "entries[0].operators[0].inputs[1]");
  CHECK(finding["severity"] == "error");
  CHECK_THAT(finding["message"].get<std::string>(), Contains("nothing"));
  CHECK(json["digest"].is_null());
  CHECK(json["digest_reason"].is_string());
}

TEST_CASE("plan check finds with a device what only a device shows", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const std::string fits = scratch.Write("d.textproto", DeviceText());
  const std::string other = scratch.Write("o.textproto", DeviceText("tensor"));
  CHECK(RunLeeway({"plan", "check", plan, "--device", fits}).exit_code == 0);
  const Said said = RunLeeway({"plan", "check", plan, "--device", other});
  CHECK(said.exit_code == 1);
  CHECK_THAT(said.out, Contains("matrix"));
}

TEST_CASE("the three forms of a plan are one plan", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const Said text = RunLeeway({"plan", "show", plan});
  REQUIRE(text.exit_code == 0);
  const Json shown = Json::parse(RunLeeway({"plan", "show", plan, "--json"}).out);
  CHECK(shown["schema"] == "leeway.plan.show.v1");
  CHECK(shown["text"] == text.out);

  const std::string json = scratch.Write("p.json", shown["plan"].dump());
  const Said again = RunLeeway({"plan", "show", json});
  CHECK(again.exit_code == 0);
  CHECK(again.out == text.out);
}

TEST_CASE("every shipped plan is named without a path and has no errors", "[cli][plan]") {
  const std::string name = GENERATE("bert_base", "llama2_7b_prefill");
  const Said checked = RunLeeway({"plan", "check", name, "--device", "onnxim_tpuv4_c4"});
  CAPTURE(name, checked.out, checked.err);
  CHECK(checked.exit_code == 0);
  CHECK_THAT(RunLeeway({"plan", "show", name}).out, Contains(name));
}

}  // namespace
}  // namespace leeway::testing
