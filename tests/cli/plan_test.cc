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

// `text` with the first `what` replaced.
std::string Replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string changed(text);
  return changed.replace(changed.find(what), what.size(), with);
}

TEST_CASE("plan check takes several plans and says of each what it finds", "[cli][plan]") {
  const Scratch scratch;
  const std::string good = scratch.Write("good.textproto", kPlan);
  const std::string bad = scratch.Write("bad.textproto", Broken());
  const Said said = RunLeeway({"plan", "check", good, bad});
  CHECK(said.exit_code == 1);
  CHECK_THAT(said.out, Contains(good + ": no findings\n") && Contains(bad + ": 1 finding"));
  CHECK(RunLeeway({"plan", "check", good, good}).exit_code == 0);

  const Said machine = RunLeeway({"plan", "check", good, bad, "--json"});
  CHECK(machine.exit_code == 1);
  const Json json = Json::parse(machine.out);
  CHECK(json["schema"] == "leeway.plan.check.v1");
  CHECK(json["ok"] == false);
  CHECK(json["total"] == 1);
  CHECK(json["findings"].is_null());
  CHECK(json["findings_reason"].is_string());
  REQUIRE(json["plans"].size() == 2);
  // Each plan's object is what its own document says.
  for (int i = 0; i < 2; ++i) {
    const Json alone = Json::parse(RunLeeway({"plan", "check", i == 0 ? good : bad, "--json"}).out);
    for (const auto& [key, value] : json["plans"][i].items()) {
      CAPTURE(key);
      CHECK(alone[key] == value);
    }
    CHECK(alone.count("plans") == 0);
  }
}

TEST_CASE("plan check of a file that is no plan checks the others and exits 3", "[cli][plan]") {
  const Scratch scratch;
  const std::string good = scratch.Write("good.textproto", kPlan);
  const std::string junk = scratch.Write("junk.textproto", "header {");
  const Said said = RunLeeway({"plan", "check", junk, good});
  CHECK(said.exit_code == 3);
  CHECK(said.out == good + ": no findings\n");
  CHECK_THAT(said.err, Contains("junk.textproto:1:9"));
  const Json json = Json::parse(RunLeeway({"plan", "check", junk, good, "--json"}).out);
  CHECK(json["plans"][0]["ok"] == false);
  CHECK(json["plans"][0]["findings"].is_null());
  CHECK_THAT(json["plans"][0]["findings_reason"].get<std::string>(), Contains("not read: "));
  CHECK(json["plans"][1]["ok"] == true);

  const Said missing = RunLeeway({"plan", "check", good, scratch.Path("none.pb")});
  CHECK(missing.exit_code == 4);
  CHECK_THAT(missing.err, Contains("none.pb"));
}

TEST_CASE("plan check --strict takes warnings for errors", "[cli][plan]") {
  const Scratch scratch;
  // An entry without variants is worth a warning.
  const std::string all(kPlan);
  const std::string plan =
      scratch.Write("p.textproto", all.substr(0, all.find("  variants {")) + "}\n");
  const Said mild = RunLeeway({"plan", "check", plan});
  CHECK(mild.exit_code == 0);
  CHECK_THAT(mild.out, Contains("  warning: ") && Contains("1 finding, 1 warning among them"));
  const Said strict = RunLeeway({"plan", "check", plan, "--strict"});
  CHECK(strict.exit_code == 1);
  CHECK_THAT(strict.out, Contains("  error: ") && !Contains("warning"));
  const Said machine = RunLeeway({"plan", "check", plan, "--strict", "--json"});
  CHECK(machine.exit_code == 1);
  const Json json = Json::parse(machine.out);
  CHECK(json["strict"] == true);
  CHECK(json["ok"] == false);
  CHECK(json["findings"][0]["severity"] == "error");
  // It is a plan, and has a digest, all the same.
  CHECK(json["digest"].is_string());
}

TEST_CASE("plan show tells what groups take, read and write, and by what authority",
          "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const std::string device = scratch.Write("d.textproto", DeviceText());
  // Activations of 1 × 64 × 256 elements and a weight of 256 × 256, two bytes each.
  const std::string bytes = " reads 163840 B writes 32768 B ";
  CHECK_THAT(RunLeeway({"plan", "show", plan}).out,
             Contains("time - (unprofiled)" + bytes + "dram - sram - peak 65536 B burst 0 B\n") &&
                 Contains(" at seq=64 batch=1\n"));
  const Said modelled = RunLeeway({"plan", "show", plan, "--device", device});
  CHECK(modelled.exit_code == 0);
  CHECK_THAT(modelled.out, Contains(" ns (modelled)" + bytes));
  const std::string profiled =
      scratch.Write("profiled.textproto",
                    Replaced(kPlan, "kernel { key: \"mm_s64\" }",
                             "profile { points { dims { dim: \"seq\" value: 64 } p50_ns: 12345 "
                             "sram_peak_bytes: 99 } }"));
  CHECK_THAT(
      RunLeeway({"plan", "show", profiled}).out,
      Contains("time 12345 ns (profiled)" + bytes + "dram - sram 99 B peak 65536 B burst 0 B\n"));
}

TEST_CASE("plan show --at moves the figures, and refuses dims that the plan lacks", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const Said said = RunLeeway({"plan", "show", plan, "--at", "seq=100,batch=2"});
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Contains(" at -\n") && Contains("time - (not covered)\n") &&
                           Contains(" at seq=192 batch=2\n"));
  const Said unknown = RunLeeway({"plan", "show", plan, "--at", "sec=100"});
  CHECK(unknown.exit_code == 3);
  CHECK_THAT(unknown.err, Contains("no dim \"sec\"") && Contains("seq, batch"));
  CHECK(RunLeeway({"plan", "show", plan, "--at", "seq=257"}).exit_code == 3);
}

TEST_CASE("plan show --json has the figures as numbers", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const Json json = Json::parse(RunLeeway({"plan", "show", plan, "--json", "--device",
                                           scratch.Write("d.textproto", DeviceText())})
                                    .out);
  REQUIRE(json["variants"].size() == 2);
  const Json& variant = json["variants"][1];
  CHECK(variant["entry"] == "main");
  CHECK(variant["name"] == "s192");
  CHECK(variant["at"] == Json::parse(R"({"seq": 192, "batch": 1})"));
  const Json& group = variant["groups"][0];
  CHECK(group["ops"] == Json::parse(R"(["mm"])"));
  CHECK(group["time_origin"] == "modelled");
  CHECK(group["time_ns"] == variant["time_ns"]);
  CHECK(group["write_bytes"] == 192 * 256 * 2);
  CHECK(group["dram_bytes"] >= group["read_bytes"]);
  const Json bare = Json::parse(RunLeeway({"plan", "show", plan, "--json"}).out);
  CHECK(bare["variants"][0]["groups"][0]["time_ns"].is_null());
  CHECK(bare["variants"][0]["groups"][0]["time_ns_reason"].is_string());
}

TEST_CASE("plan show --variant shows one, and a wrong name lists those there are", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  for (const char* name : {"s64", "main/s64"}) {
    const Said said = RunLeeway({"plan", "show", plan, "--variant", name});
    CHECK(said.exit_code == 0);
    CHECK_THAT(said.out, Contains("variant s64") && !Contains("variant s192"));
  }
  const Said wrong = RunLeeway({"plan", "show", plan, "--variant", "s128"});
  CHECK(wrong.exit_code == 3);
  CHECK(wrong.out.empty());
  CHECK_THAT(wrong.err, Contains("no variant \"s128\"") && Contains("main/s64, main/s192"));
}

TEST_CASE("plan show --dot prints a graph", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const Said said = RunLeeway({"plan", "show", plan, "--dot"});
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Catch::StartsWith("digraph plan {\n") && Catch::EndsWith("}\n") &&
                           Contains("cluster_e0v1") && Contains("ops mm"));
  const Json json = Json::parse(RunLeeway({"plan", "show", plan, "--dot", "--json"}).out);
  CHECK(json["dot"] == said.out);
}

TEST_CASE("plan diff of equal plans exits 0, however they are written", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const Said same = RunLeeway({"plan", "diff", plan, plan});
  CHECK(same.exit_code == 0);
  CHECK(same.out == plan + " -> " + plan + ": no difference\n");
  const std::string respelt =
      scratch.Write("r.textproto", Replaced(kPlan, "batch * seq", "seq*(batch)"));
  const Said equal = RunLeeway({"plan", "diff", plan, respelt});
  CHECK(equal.exit_code == 0);
  CHECK(equal.out == plan + " -> " + respelt + ": no difference\n");
  // A default that is written out is another content, which means the same.
  const std::string spelt = scratch.Write("q.textproto", Replaced(kPlan, "bind: SUBMIT ", ""));
  const Said said = RunLeeway({"plan", "diff", plan, spelt});
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Contains("no difference; the digests differ"));
  const Json json = Json::parse(RunLeeway({"plan", "diff", plan, spelt, "--json"}).out);
  CHECK(json["schema"] == "leeway.plan.diff.v1");
  CHECK(json["changes"].empty());
  CHECK(json["same_digest"] == false);
}

TEST_CASE("plan diff lists what differs and exits 1", "[cli][plan]") {
  const Scratch scratch;
  const std::string before = scratch.Write("p.textproto", kPlan);
  const std::string after =
      scratch.Write("q.textproto", Replaced(kPlan, "mode: ANY", "mode: PINNED"));
  const Said said = RunLeeway({"plan", "diff", before, after});
  CHECK(said.exit_code == 1);
  CHECK(said.err.empty());
  CHECK(said.out ==
        "placement  group \"main/s64/mm\": placement ANY matrix:* -> PINNED matrix:*\n\n" + before +
            " -> " + after + ": 1 difference\n");
  const Said machine = RunLeeway({"plan", "diff", before, after, "--json"});
  CHECK(machine.exit_code == 1);
  const Json json = Json::parse(machine.out);
  CHECK(json["total"] == 1);
  CHECK(json["before"]["plan"] == before);
  CHECK(json["after"]["digest"].get<std::string>().size() == 64);
  const Json& change = json["changes"][0];
  CHECK(change["kind"] == "placement");
  CHECK(change["before_path"] == "entries[0].variants[0].fusion_groups[0].placement");
  CHECK(change["after_path"] == change["before_path"]);
  CHECK(change["before"] == "ANY matrix:*");
  CHECK(change["after"] == "PINNED matrix:*");
}

TEST_CASE("plan diff counts predictions that move by less than the threshold", "[cli][plan]") {
  const Scratch scratch;
  const auto plan = [&](const std::string& name, int p50) {
    return scratch.Write(name,
                         Replaced(kPlan, "kernel { key: \"mm_s64\" }",
                                  "profile { points { p50_ns: " + std::to_string(p50) + " } }"));
  };
  const std::string before = plan("p.textproto", 1000), after = plan("q.textproto", 1040);
  CHECK(RunLeeway({"plan", "diff", before, after}).exit_code == 1);
  const Said said = RunLeeway({"plan", "diff", before, after, "--threshold", "5%"});
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Contains("no difference; 2 predictions moved by less than 5.00 %"));
  const Said json = RunLeeway({"plan", "diff", before, after, "--json", "--threshold", "0.03"});
  CHECK(json.exit_code == 1);
  const Json document = Json::parse(json.out);
  CHECK(document["threshold"] == 0.03);
  CHECK(document["changes"][0]["ratio"].get<double>() == Approx(0.04));
}

TEST_CASE("plan diff refuses what it cannot read", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  CHECK(RunLeeway({"plan", "diff", plan, scratch.Path("none.pb")}).exit_code == 4);
  CHECK(RunLeeway({"plan", "diff", plan, scratch.Write("b.textproto", Broken())}).exit_code == 3);
  CHECK(RunLeeway({"plan", "diff", plan, plan, "--at", "sec=3"}).exit_code == 3);
}

TEST_CASE("plan convert goes round all forms and keeps the digest", "[cli][plan]") {
  const Scratch scratch;
  const std::string first = scratch.Write("a.textproto", kPlan);
  const Json origin = Json::parse(RunLeeway({"plan", "check", first, "--json"}).out);
  std::string from = first;
  for (const char* name : {"b.pb", "c.json", "d.textproto", "e.json", "f.pb"}) {
    const std::string to = scratch.Path(name);
    const Said said = RunLeeway({"plan", "convert", from, "-o", to});
    CAPTURE(from, to, said.err);
    CHECK(said.exit_code == 0);
    CHECK(said.out.empty());
    CHECK(said.err.empty());
    CHECK(Json::parse(RunLeeway({"plan", "check", to, "--json"}).out)["digest"] ==
          origin["digest"]);
    from = to;
  }
  CHECK(ReadAll(scratch.Path("b.pb")) == ReadAll(scratch.Path("f.pb")));
  CHECK(RunLeeway({"plan", "convert", first, "--to", "binary"}).out ==
        ReadAll(scratch.Path("b.pb")));
  CHECK(RunLeeway({"plan", "convert", first, "--to", "json", "-o", "-"}).out ==
        ReadAll(scratch.Path("c.json")));
  CHECK(RunLeeway({"plan", "convert", "bert_base", "--to", "textproto"}).exit_code == 0);
}

TEST_CASE("plan convert --json tells about the conversion", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("a.textproto", kPlan), to = scratch.Path("b.pb");
  const Said said = RunLeeway({"plan", "convert", plan, "-o", to, "--json"});
  CHECK(said.exit_code == 0);
  const Json json = Json::parse(said.out);
  CHECK(json["schema"] == "leeway.plan.convert.v1");
  CHECK(json["form"] == "binary");
  CHECK(json["bytes"] == ReadAll(to).size());
  CHECK(json["digest"].get<std::string>().size() == 64);
  const Said screen = RunLeeway({"plan", "convert", plan, "--to", "json", "--json"});
  CHECK(screen.exit_code == 2);
  CHECK_THAT(screen.err, Contains("needs -o FILE"));
}

TEST_CASE("plan convert warns of a name that promises another form", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("a.textproto", kPlan), to = scratch.Path("b.json");
  const Said said = RunLeeway({"plan", "convert", plan, "-o", to, "--to", "textproto"});
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.err, Contains("holds the textproto form; a file of this name is read as json"));
}

TEST_CASE("plan convert keeps unknown fields in binary and refuses them in text", "[cli][plan]") {
  const Scratch scratch;
  const std::string known =
      RunLeeway({"plan", "convert", scratch.Write("a.textproto", kPlan), "--to", "binary"}).out;
  // Field 99 of the plan.
  const std::string newer = scratch.Write("newer.pb", known + "\x98\x06\x07");
  CHECK(RunLeeway({"plan", "convert", newer, "--to", "binary"}).out == ReadAll(newer));
  for (const char* name : {"n.textproto", "n.json"}) {
    const Said said = RunLeeway({"plan", "convert", newer, "-o", scratch.Path(name)});
    CHECK(said.exit_code == 3);
    CHECK_THAT(said.err, Contains("99") && Contains("newer.pb"));
  }
  CHECK(scratch.Files() == std::vector<std::string>{"a.textproto", "newer.pb"});
}

TEST_CASE("plan convert writes a plan with errors too, and warns", "[cli][plan]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("a.textproto", Broken());
  const std::string to = scratch.Path("b.json");
  const Said said = RunLeeway({"plan", "convert", plan, "-o", to});
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.err, Contains("has errors"));
  CHECK(RunLeeway({"plan", "check", to}).exit_code == 1);
  CHECK(RunLeeway({"plan", "convert", scratch.Write("c.textproto", "nonsense"), "--to", "json"})
            .exit_code == 3);
}

}  // namespace
}  // namespace leeway::testing
