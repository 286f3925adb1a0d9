// A valid plan with one random corruption is found out.
#include <regex>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

// One way to spoil a plan: every match of `what` is a place, and `with` replaces it.
struct Corruption {
  const char* name;
  const char* what;
  const char* with;
};

constexpr Corruption kCorruptions[] = {
    {"an input that does not exist", R"re(inputs: \["[a-z_]+")re", R"re(inputs: ["ghost")re"},
    {"an output that does not exist", R"re(outputs: \["[a-z_]+")re", R"re(outputs: ["ghost")re"},
    {"a group without its first operator", R"re(ops: \["[a-z_]+", )re", "ops: ["},
    {"an operator in a group twice", R"re(ops: \[("[a-z_]+"))re", "ops: [$1, $1"},
    {"a group of an unknown operator", R"re(ops: \["[a-z_]+)re", R"re(ops: ["ghost)re"},
    {"a misspelt dimension", R"re(batch \* seq)re", "batch * sec"},
    {"an expression that stops short", R"re(\b(elements|m|bytes): "([^"]+)")re",
     R"re($1: "$2 *")re"},
    {"a size below zero", R"re(\b(elements|m|bytes): "[^"]+")re", R"re($1: "0 - seq")re"},
    {"a size beyond 64 bits", R"re(\b(elements|m|bytes): "[^"]+")re",
     R"re($1: "seq * 9223372036854775807")re"},
    {"a work without its size", R"re(\b(elements|m|bytes): "[^"]+")re", ""},
    {"no shards", R"re(shards: "[0-9]")re", R"re(shards: "0")re"},
    {"an envelope beyond the domain", R"re(opt: [0-9]+ max: [0-9]+)re", "opt: 1 max: 999999"},
    {"an envelope upside down", R"re(min: 1 opt:)re", "min: 99999 opt:"},
    {"a tensor without a type", R"re(dtype: BF16)re", ""},
    {"an unknown type", R"re(dtype: BF16)re", "dtype: 77"},
    {"a tensor without a name", R"re(tensors \{ name: "[a-z_]+")re", "tensors { "},
    {"a call of no entry", R"re(entry: "layer")re", R"re(entry: "ghost")re"},
    {"a call of its own entry", R"re(entry: "layer")re", R"re(entry: "main")re"},
    {"an operator that waits for itself", R"re(operators \{\s+name: "([a-z_]+)")re",
     R"re(operators { name: "$1" after: "$1")re"},
    {"a control edge to no operator", R"re(operators \{\s+name: "([a-z_]+)")re",
     R"re(operators { name: "$1" after: "ghost")re"},
    {"a cyclic control edge", R"re(operators \{\s+name: "scores")re",
     R"re(operators { name: "scores" after: "out")re"},
    {"an operator of an earlier name", R"re(operators \{\s+name: "(softmax|values|out)")re",
     R"re(operators { name: "qkv")re"},
    {"a weight that depends on a dimension", R"re(kind: WEIGHT dtype: BF16 shape: \[)re",
     R"re(kind: WEIGHT dtype: BF16 shape: ["seq", )re"},
    {"a weight produced by an operator", R"re(kind: ACTIVATION)re", "kind: WEIGHT"},
};

// Spoils one random place, or returns nothing where there is none.
std::string Spoil(const std::string& text, const Corruption& corruption, base::Prng& prng) {
  const std::regex what(corruption.what);
  const std::vector<std::smatch> places(std::sregex_iterator(text.begin(), text.end(), what), {});
  if (places.empty()) return "";
  const std::smatch& place = places[prng.Below(places.size())];
  const auto at = static_cast<std::size_t>(place.position());
  return text.substr(0, at) + place.format(corruption.with) +
         text.substr(at + static_cast<std::size_t>(place.length()));
}

TEST_CASE("a valid plan with one corruption is found out", "[plan][property]") {
  const std::string model = GENERATE("bert_base", "llama2_7b_prefill");
  const std::string text = ReadSource("plans/models/" + model + ".textproto");
  for (const Corruption& corruption : kCorruptions) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      CAPTURE(model, corruption.name, seed);
      base::Prng prng(seed);
      const std::string spoilt = Spoil(text, corruption, prng);
      if (spoilt.empty()) continue;
      const Result<Loaded> loaded = LoadPlan(Encode(spoilt), "spoilt");
      REQUIRE(loaded.ok());
      CHECK_FALSE(loaded->check.ok);
      CHECK(loaded->body == nullptr);
      CHECK_FALSE(loaded->check.findings.empty());
    }
  }
}

TEST_CASE("a flipped byte never breaks the loader", "[plan][property][hostile]") {
  const std::string bytes = Encode(ReadSource("plans/models/bert_base.textproto"));
  const auto seed = GENERATE(range(0u, 400u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::string flipped = bytes;
  for (std::uint64_t i = 0; i <= prng.Below(4); ++i) {
    flipped[prng.Below(flipped.size())] = static_cast<char>(prng.Below(256));
  }
  const Result<Loaded> loaded = LoadPlan(flipped, "flipped");
  if (loaded.ok()) CHECK(loaded->check.ok == (loaded->body != nullptr));
}

}  // namespace
}  // namespace leeway::plan
