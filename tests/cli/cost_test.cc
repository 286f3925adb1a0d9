#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

Json CostJson(Words more) {
  Words words = {"cost", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Said said = RunLeeway(words);
  INFO(said.err);
  REQUIRE(said.exit_code == 0);
  return Json::parse(said.out);
}

TEST_CASE("cost prints what scripts rely on for each operator", "[cli][cost]") {
  const Json json = CostJson({"--device", "onnxim_tpuv4_c4", "gemm:m=512,n=768,k=768",
                              "conv:n=1,h=56,w=56,c=64,k=64,r=3,s=3,stride=1,pad=1",
                              "vector:elements=1000000,kind=gelu"});
  CHECK(json["schema"] == "leeway.cost.v1");
  CHECK(json["device"] == "onnxim_tpuv4_c4");
  REQUIRE(json["ops"].size() == 3);
  for (const Json& op : json["ops"]) {
    for (const char* key : {"cycles", "dram_bytes", "sram_peak_bytes", "ns"}) {
      CHECK(op[key].is_number_integer());
    }
    CHECK(op["utilization"].is_number());
    CHECK(op["energy_j"].get<double>() ==
          op["dynamic_energy_j"].get<double>() + op["static_energy_j"].get<double>());
    CHECK(op["bound"].is_string());
    CHECK_FALSE(op.contains("terms"));
  }
  CHECK(json["ops"][0]["cycles"] == 255 + 36 * 512 + 254);
  CHECK(json["ops"][1]["macs"] == 56 * 56 * 64 * 9 * 64);
  // 25 operations an element.
  CHECK(json["ops"][2]["vector_ops"] == 25'000'000);
  CHECK(json["total"]["cycles"] == json["ops"][0]["cycles"].get<double>() +
                                       json["ops"][1]["cycles"].get<double>() +
                                       json["ops"][2]["cycles"].get<double>());
}

TEST_CASE("cost explains itself with numbers in the formulas", "[cli][cost]") {
  const Said said = RunLeeway({"cost", "gemm:m=512,n=768,k=768", "--explain"});
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  CHECK_THAT(said.out, Contains("255 first load + 36 · 512 + 254 pipeline = 18941 cycles") &&
                           Contains("compute: the arrays take 18941 ns"));
  const Json json = CostJson({"gemm:m=512,n=768,k=768", "--explain"});
  CHECK(json["ops"][0]["terms"].size() >= 8);
}

TEST_CASE("cost takes strides, dilations, paddings, groups, shares and tiles", "[cli][cost]") {
  const Json ops = CostJson(
      {"conv:h=56,c=64,k=64,r=3,stride_h=2,stride_w=1,dilation=2,pad_top=1,pad_left=2,groups=64",
       "gemm:m=1024,n=1024,k=1024,tile_m=128,tile_n=256,tile_k=128,dtype=f32", "move:bytes=4096",
       "reduce:elements=4096,outputs=64"})["ops"];
  // ceil((56 + 1 - 4) / 2) and 56 + 2 - 4 positions.
  CHECK(ops[0]["macs"] == 27 * 54 * 64 * 9);
  CHECK_THAT(ops[0]["bound_reason"].get<std::string>(), Contains("a systolic array is bad at it"));
  CHECK(ops[1]["dram_bytes"] >= 3 * 4 * 1024 * 1024);
  CHECK(ops[2]["cycles"] == 0);
  CHECK(ops[3]["vector_ops"] == 4096);
  const Json whole = CostJson({"gemm:m=4096,n=4096,k=4096"});
  const Json part = CostJson({"gemm:m=4096,n=4096,k=4096", "--shards", "4"});
  CHECK(part["ops"][0]["macs"].get<double>() * 4 == whole["ops"][0]["macs"].get<double>());
}

TEST_CASE(
    "cost of a SCALE-Sim topology on an array like its own is one more a layer than its figure",
    "[cli][cost]") {
  const Scratch scratch;
  // A core that SCALE-Sim knows: 32 × 32, output stationary, with room for everything.
  const std::string device = scratch.Write("d.textproto", R"(
name: "array"
core_classes {
  name: "array" count: 1 clock_hz: 1000000000
  array { rows: 32 cols: 32 }
  sram_bytes: 268435456
  dma { bytes_per_second: 100000000000 }
  compute_mode: SCALESIM dataflow: OUTPUT_STATIONARY
}
dram { capacity_bytes: 8589934592 bytes_per_second: 100000000000 }
)");
  const std::string topology = scratch.Write(
      "t.csv",
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides,\nConv1, 224, 224, 7, 7, 3, 64, 2,\nCB2a_1, 56, 56, 1, 1, 64, 64, 1,\n");
  const Json json = CostJson({"--device", device, "--topology", topology});
  // SCALE-Sim v3: 158421 and 24695.
  CHECK(json["ops"][0]["cycles"] == 158'421 + 1);
  CHECK(json["ops"][1]["cycles"] == 24'695 + 1);
  CHECK(json["ops"][1]["name"] == "CB2a_1");
}

TEST_CASE("a wrong operator exits 2 and says what is wrong with it", "[cli][cost]") {
  const auto [op, said] = GENERATE(values<std::pair<std::string, std::string>>({
      {"gem:m=1,n=1,k=1", "an operator is gemm:, conv:, vector:, reduce: or move:"},
      {"gemm", "needs m="},
      {"gemm:m=1,n=1", "needs k="},
      {"gemm:m=1,n=1,k=0", "k='0' is not a whole number from 1 to"},
      {"gemm:m=1,n=1,k=1,k=2", "key 'k' is there twice"},
      {"gemm:m=1,n=1,k=1,kk=2", "no key 'kk' here"},
      {"gemm:m=1,n=1,k=1,", ""},
      {"gemm:m=1,n,k=1", "'n' is not of the form KEY=VALUE"},
      {"gemm:m=1,n=1,k=1,density=2", "density='2' is not a number above 0 and up to 1"},
      {"gemm:m=1,n=1,k=1,tile_n=8", "a tile needs tile_m="},
      {"gemm:m=1,n=1,k=1,dtype=f33", "no dtype 'f33'; there is: F64, F32,"},
      {"conv:h=5,c=3,k=8,r=3,stride=0", "stride='0' is not a whole number from 1"},
      {"conv:h=5,c=3,k=8,r=7", "a window of 7 does not fit into 5 with its padding"},
      {"conv:h=5,w=9,c=3,k=8,r=3,dilation=4,pad_top=2,pad_bottom=1",
       "a window of 9 does not fit into 8 with its padding"},
      {"conv:h=5,c=63,k=64,r=3,groups=64", "c and k are no multiples of groups=64"},
      {"conv:h=2000000000,c=3,k=8,r=3", "sides of images and filters end at 1073741824"},
      {"vector:elements=abc", "elements='abc' is not a whole number"},
      {"vector:elements=5,ops=-1", "ops='-1' is not a number above 0"},
  }));
  const Said result = RunLeeway({"cost", op});
  CAPTURE(op, result.err);
  if (said.empty()) {
    CHECK(result.exit_code == 0);
    return;
  }
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains(said) && Contains("'" + op + "'"));
}

TEST_CASE("cost refuses what no core can do, naming the operator and the bound", "[cli][cost]") {
  const Said none = RunLeeway({"cost", "gemm:m=1,n=1,k=1", "--core", "scalar"});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Contains("option --core: device") &&
                           Contains("has no core class \"scalar\"; it has: matrix"));
  const Said large = RunLeeway({"cost", "gemm:m=65536,n=65536,k=65536,tile_m=65536,tile_n=65536"});
  CHECK(large.exit_code == 3);
  CHECK_THAT(large.err, Contains("no tile fits: the smallest needs "));
  const Scratch scratch;
  const std::string topology = scratch.Write("t.csv", "a, 1, 2\n");
  const Said bad = RunLeeway({"cost", "--topology", topology});
  CHECK(bad.exit_code == 3);
  CHECK_THAT(bad.err, Contains(topology + ":1: 3 fields"));
  CHECK(RunLeeway({"cost", "--topology", scratch.Path("none.csv")}).exit_code == 4);
  CHECK(RunLeeway({"cost"}).exit_code == 2);
  CHECK(RunLeeway({"cost", "gemm:m=1,n=1,k=1", "--device", "tpu_v99"}).exit_code == 4);
}

TEST_CASE("validate-model prints the table of checks and exits 1 where one fails",
          "[cli][validate-model]") {
  const Said said = RunLeeway({"validate-model", "--json"});
  CHECK(said.err.empty());
  const Json json = Json::parse(said.out);
  CHECK(json["schema"] == "leeway.validate-model.v1");
  std::size_t failed = 0;
  for (const Json& check : json["checks"]) {
    for (const char* key : {"ours", "reference", "error", "tolerance"}) {
      CHECK(check[key].is_number());
    }
    CHECK((check["kind"] == "prediction" || check["kind"] == "plumbing"));
    CHECK(check["name"].is_string());
    CHECK(check["source"].is_string());
    failed += check["ok"] == false ? 1 : 0;
  }
  std::set<std::string> names;
  for (const Json& check : json["checks"]) names.insert(check["name"].get<std::string>());
  CHECK(names.size() == 12);  // V1 to V12
  CHECK(json["failed"] == failed);
  CHECK(json["ok"] == (failed == 0));
  CHECK(said.exit_code == (failed == 0 ? 0 : 1));
  CHECK_THAT(RunLeeway({"validate-model"}).out, Contains("ResNet-50, 32², os"));
}

TEST_CASE("validate-model checks rows of SCALE-Sim where they are given", "[cli][validate-model]") {
  const Scratch scratch;
  const std::string rows = scratch.Write(
      "rows.csv",
      "layer,dataflow,R,C,M,N,K,scalesim_compute_cycles,ifmap_sram_reads,filter_sram_reads,"
      "ofmap_sram_writes\nConv1,ws,32,32,12100,64,147,121939,3557400,9408,3872000\n");
  const Json json = Json::parse(RunLeeway({"validate-model", "--json", "--scalesim", rows}).out);
  std::size_t found = 0;
  for (const Json& check : json["checks"]) {
    if (check["what"] != "rows of " + rows) continue;
    ++found;
    CHECK(check["ok"] == true);
    CHECK(check["reference"] == 1);
  }
  CHECK(found == 2);
  const std::string bad = scratch.Write("bad.csv", "dataflow,R\nos,4\n");
  const Said said = RunLeeway({"validate-model", "--scalesim", bad});
  CHECK(said.exit_code == 3);
  CHECK_THAT(said.err, Contains(bad + ":1: no column"));
  CHECK(RunLeeway({"validate-model", "--scalesim", scratch.Path("none.csv")}).exit_code == 4);
}

}  // namespace
}  // namespace leeway::testing
