#include "plan/changes.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "plan/plan_text.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

using Kind = PlanChangeKind;

PlanDiff DiffOf(const Body& before, const Body& after) {
  return DiffPlans({before, {}}, {after, {}}, 0);
}

std::vector<Kind> KindsOf(const PlanDiff& diff) {
  std::vector<Kind> kinds;
  for (const PlanChange& change : diff.changes) kinds.push_back(change.kind);
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

std::string TextOf(const PlanDiff& diff) {
  std::string text;
  for (const PlanChange& change : diff.changes) text += change.text + "\n";
  return text;
}

// What the change is when the plans are exchanged.
Kind Mirrored(Kind kind) {
  const std::pair<Kind, Kind> pairs[] = {
      {Kind::kDimAdded, Kind::kDimRemoved},         {Kind::kTensorAdded, Kind::kTensorRemoved},
      {Kind::kEntryAdded, Kind::kEntryRemoved},     {Kind::kOperatorAdded, Kind::kOperatorRemoved},
      {Kind::kVariantAdded, Kind::kVariantRemoved}, {Kind::kGroupAdded, Kind::kGroupRemoved},
      {Kind::kGroupSplit, Kind::kGroupMerged},
  };
  for (const auto& [a, b] : pairs) {
    if (kind == a) return b;
    if (kind == b) return a;
  }
  return kind;
}

// What a change says besides its sentence, as one comparable text.
std::vector<std::string> Content(const PlanDiff& diff, bool mirror) {
  std::vector<std::string> content;
  for (const PlanChange& c : diff.changes) {
    const Kind kind = mirror ? Mirrored(c.kind) : c.kind;
    const auto& [from, to] = mirror ? std::tie(c.after, c.before) : std::tie(c.before, c.after);
    const auto& [from_path, to_path] =
        mirror ? std::tie(c.after_path, c.before_path) : std::tie(c.before_path, c.after_path);
    content.push_back(std::to_string(static_cast<int>(kind)) + "|" + from + "|" + to + "|" +
                      from_path + "|" + to_path);
  }
  std::sort(content.begin(), content.end());
  return content;
}

void CheckMirrors(const Body& before, const Body& after) {
  CHECK(Content(DiffOf(before, after), false) == Content(DiffOf(after, before), true));
}

constexpr std::string_view kBase = R"(
header { model: "toy" producer: "test" producer_version: "1" min_reader_version: 1 }
dims { name: "seq" min: 1 max: 512 bind: SUBMIT batch_rule: MAX }
dims { name: "batch" min: 1 max: 8 bind: SUBMIT batch_rule: COUNT }
# plan
tensors { name: "x" kind: INPUT dtype: BF16 shape: ["batch", "seq", "256"] }
tensors { name: "w" kind: WEIGHT dtype: BF16 shape: ["256", "256"] } # w
tensors { name: "h" kind: ACTIVATION dtype: BF16 shape: ["batch", "seq", "256"] }
tensors { name: "g" kind: ACTIVATION dtype: BF16 shape: ["batch", "seq", "256"] }
tensors { name: "n" kind: ACTIVATION dtype: BF16 shape: ["batch", "seq", "256"] }
tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["batch", "seq", "256"] }
tensors { name: "p" kind: OUTPUT dtype: BF16 shape: ["batch"] }
tensors { name: "q" kind: OUTPUT dtype: BF16 shape: ["batch"] }
entries {
  name: "main"
  # entry
  operators { name: "mm" kind: "matmul" inputs: ["x", "w"] outputs: ["h"]
    work { gemm { m: "batch * seq" n: "256" k: "256" } } }
  operators { name: "act" inputs: ["h"] outputs: ["g"]
    work { vector { elements: "batch * seq * 256" ops_per_element: 4 } } }
  operators { name: "norm" inputs: ["g"] outputs: ["n"]
    work { vector { elements: "batch * seq * 256" ops_per_element: 8 } } }
  operators { name: "out" inputs: ["n"] outputs: ["y"] # out
    work { vector { elements: "batch * seq * 256" ops_per_element: 1 } } }
  operators { name: "p1" inputs: ["x"] outputs: ["p"]
    work { reduce { elements: "batch * seq * 256" outputs: "batch" ops_per_element: 1 } } }
  operators { name: "q1" inputs: ["x"] outputs: ["q"]
    work { reduce { elements: "batch * seq * 256" outputs: "batch" ops_per_element: 1 } } }
  variants {
    name: "s64"
    envelope { dim: "seq" min: 1 opt: 32 max: 64 }
    envelope { dim: "batch" min: 1 opt: 1 max: 8 }
    # variant
    fusion_groups { name: "ffn" ops: ["mm", "act"] kernel { key: "ffn_64" }
      placement { mode: PREFERRED cores { class: "matrix" index: 0 } } }
    fusion_groups { name: "tail" ops: ["norm", "out"] # tail
    }
    fusion_groups { name: "par" ops: ["p1", "q1"] }
  }
  variants {
    name: "s512"
    envelope { dim: "seq" min: 1 opt: 512 max: 512 }
    envelope { dim: "batch" min: 1 opt: 1 max: 8 }
    fusion_groups { name: "all" ops: ["mm", "act", "norm", "out", "p1", "q1"] }
  }
}
)";

std::string Replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

struct Mutation {
  const char* what;
  const char* with;
  Kind kind;
};

constexpr char kAfterTail[] = "# tail\n    }";

constexpr Mutation kMutations[] = {
    {"model: \"toy\"", "model: \"toys\"", Kind::kHeader},
    {"producer_version: \"1\"", "producer_version: \"2\"", Kind::kHeader},
    {"max: 512 bind", "max: 600 bind", Kind::kDim},
    {"batch_rule: MAX", "batch_rule: EQUAL", Kind::kDim},
    {"# plan", "annotations { key: \"a\" value: \"1\" }", Kind::kAnnotation},
    {"# plan",
     "shape_profile { points { dims { dim: \"seq\" value: 3 } dims { dim: \"batch\" value: 1 } "
     "weight: 1 } }",
     Kind::kShapeProfile},
    {"dtype: BF16 shape: [\"256\", \"256\"] }", "dtype: F16 shape: [\"256\", \"256\"] }",
     Kind::kTensor},
    {"[\"256\", \"256\"] }", "[\"256\", \"512\"] }", Kind::kTensor},
    {"} # w", "quant { scale: 0.5 axis: 1 } }", Kind::kTensor},
    {"} # w", "sparsity { n: 2 m: 4 } }", Kind::kTensor},
    {"} # w", "memory_space: SRAM }", Kind::kTensor},
    {"} # w", "annotations { key: \"a\" value: \"1\" } }", Kind::kAnnotation},
    {"# entry", "annotations { key: \"a\" value: \"1\" }", Kind::kAnnotation},
    {"kind: \"matmul\"", "kind: \"dot\"", Kind::kOperator},
    {"k: \"256\"", "k: \"512\"", Kind::kOperator},
    {"k: \"256\"", "k: \"256\" density: 0.5", Kind::kOperator},
    {"ops_per_element: 8", "ops_per_element: 9", Kind::kOperator},
    {"# out", "after: \"mm\"", Kind::kOperator},
    {"# out", "annotations { key: \"a\" value: \"1\" }", Kind::kAnnotation},
    {"opt: 32", "opt: 48", Kind::kEnvelope},
    {"opt: 32 max: 64", "opt: 32 max: 96", Kind::kEnvelope},
    {"max: 64 }", "max: 64 shape_mode: DYNAMIC granule: 8 }", Kind::kShapeMode},
    {"# variant", "constraints { expr: \"batch * seq\" min: 1 max: 256 }", Kind::kConstraint},
    {"# variant", "layouts { tensor: \"x\" minor_to_major: [2, 1, 0] }", Kind::kLayout},
    {"# variant", "residency { tensor: \"w\" cores { class: \"matrix\" index: 0 } }",
     Kind::kResidency},
    {"# variant", "numerics { compute: F8E4M3 }", Kind::kNumerics},
    {"# variant", "numerics { uses_sparsity: true }", Kind::kNumerics},
    {"# variant", "schedule { cores { core { index: 0 } groups: [\"ffn\", \"tail\"] } }",
     Kind::kSchedule},
    {"# variant", "schedule { waits { group: \"tail\" after: \"par\" } }", Kind::kSchedule},
    {"# variant", "annotations { key: \"a\" value: \"1\" }", Kind::kAnnotation},
    {"[\"norm\", \"out\"] # tail\n    }",
     "[\"out\"] } fusion_groups { name: \"middle\" ops: [\"norm\"] }", Kind::kGroupSplit},
    {"[\"mm\", \"act\", \"norm\", \"out\", \"p1\", \"q1\"] }",
     "[\"mm\", \"act\", \"norm\"] } fusion_groups { name: \"b\" ops: [\"out\", \"p1\", \"q1\"] }",
     Kind::kGroupSplit},
    {"name: \"tail\"", "name: \"end\"", Kind::kGroupRenamed},
    {"[\"p1\", \"q1\"] }\n  }", "[\"q1\", \"p1\"] }\n  }", Kind::kOperatorOrder},
    {"[\"norm\", \"out\"] # tail", "[\"act\", \"norm\", \"out\"] recomputed: \"act\"",
     Kind::kRecomputed},
    {"PREFERRED", "PINNED", Kind::kPlacement},
    {"index: 0", "index: 1", Kind::kPlacement},
    {"index: 0 }", "index: 0 } cores { class: \"matrix\" index: 2 }", Kind::kPlacement},
    {"# tail", "shards: \"2\"", Kind::kShards},
    {"# tail", "tiling { m: 128 n: 128 k: 64 }", Kind::kTiling},
    {"\"ffn_64\"", "\"ffn_x\"", Kind::kKernel},
    {"\"ffn_64\"", "\"ffn_64\" workspace_bytes: \"seq\"", Kind::kKernel},
    {"\"ffn_64\"", "\"ffn_64\" launch { grid: [\"4\", \"1\"] }", Kind::kKernel},
    {"# tail", "work { flops: \"seq\" }", Kind::kGroupWork},
    {"# tail", "profile { points { dims { dim: \"seq\" value: 64 } p50_ns: 100 } }",
     Kind::kPrediction},
    {"# tail", "profile { cost_ns: \"100 * seq\" }", Kind::kPrediction},
    {"# tail", "annotations { key: \"a\" value: \"1\" }", Kind::kAnnotation},
    {kAfterTail, "} fusion_groups { name: \"again\" ops: \"act\" recomputed: \"act\" }",
     Kind::kGroupAdded},
};

TEST_CASE("one change of a plan is one change of the diff, and the same from behind",
          "[plan][diff]") {
  const auto base = Load(kBase);
  for (const Mutation& mutation : kMutations) {
    CAPTURE(mutation.what, mutation.with);
    const std::string text = Replaced(std::string(kBase), mutation.what, mutation.with);
    const std::string findings = FindingsOf(Encode(text));
    CAPTURE(findings);
    const auto changed = Load(text);
    const PlanDiff diff = DiffOf(*base, *changed);
    CAPTURE(TextOf(diff));
    CHECK(KindsOf(diff) == std::vector{mutation.kind});
    CHECK_FALSE(diff.same_digest);
    CheckMirrors(*base, *changed);
  }
}

TEST_CASE("an entry that requests no longer run is a change of the entry", "[plan][diff]") {
  // Beside another, as a plan has one for requests.
  const std::string side = std::string(kBase) + R"(
    tensors { name: "side" kind: OUTPUT dtype: BF16 shape: ["batch"] }
    entries { name: "side" # side
      operators { name: "aside" inputs: "x" outputs: "side" } })";
  const auto base = Load(side);
  const auto changed = Load(Replaced(side, "# side", "internal: true"));
  CHECK(KindsOf(DiffOf(*base, *changed)) == std::vector{Kind::kEntry});
  CheckMirrors(*base, *changed);
}

TEST_CASE("a change says what moved, from where to where, by name and by path", "[plan][diff]") {
  const auto base = Load(kBase);
  const auto moved =
      Load(Replaced(Replaced(std::string(kBase), "[\"mm\", \"act\"] kernel", "[\"mm\"] kernel"),
                    "[\"norm\", \"out\"]", "[\"act\", \"norm\", \"out\"]"));
  const PlanDiff diff = DiffOf(*base, *moved);
  REQUIRE(KindsOf(diff) == std::vector{Kind::kOperatorMoved});
  const PlanChange& change = diff.changes[0];
  CHECK(change.text ==
        "variant \"main/s64\": operator \"act\" moved from group \"ffn\" to group \"tail\"");
  CHECK(change.before_path == "entries[0].variants[0].fusion_groups[0]");
  CHECK(change.after_path == "entries[0].variants[0].fusion_groups[1]");
  CHECK(change.before == "ffn");
  CHECK(change.after == "tail");
  CheckMirrors(*base, *moved);

  const auto wider = Load(Replaced(std::string(kBase), "opt: 32 max: 64", "opt: 32 max: 96"));
  const PlanChange envelope = DiffOf(*base, *wider).changes.at(0);
  CHECK(envelope.text == "variant \"main/s64\": envelope of seq [1, 32, 64] -> [1, 32, 96]");
  CHECK(envelope.before_path == "entries[0].variants[0].envelope[0]");
}

TEST_CASE("groups are found again by their operators before their names", "[plan][diff]") {
  const auto base = Load(kBase);
  // The names of two groups exchanged: two renames, and nothing moved.
  std::string text = Replaced(std::string(kBase), "name: \"ffn\"", "name: \"?\"");
  text = Replaced(Replaced(text, "name: \"tail\"", "name: \"ffn\""), "\"?\"", "\"tail\"");
  const auto swapped = Load(text);
  CHECK(KindsOf(DiffOf(*base, *swapped)) == std::vector{Kind::kGroupRenamed, Kind::kGroupRenamed});
  CheckMirrors(*base, *swapped);

  // A new group takes one operator of each of two: neither a split nor a merger.
  text = Replaced(std::string(kBase), "[\"mm\", \"act\"] kernel", "[\"mm\"] kernel");
  text = Replaced(text, "[\"norm\", \"out\"] # tail\n    }",
                  "[\"out\"] } fusion_groups { name: \"new\" ops: [\"act\", \"norm\"] }");
  const auto torn = Load(text);
  CHECK(KindsOf(DiffOf(*base, *torn)) ==
        std::vector{Kind::kGroupAdded, Kind::kOperatorMoved, Kind::kOperatorMoved});
  CheckMirrors(*base, *torn);
}

TEST_CASE("things that come and go are named", "[plan][diff]") {
  const auto base = Load(kBase);
  const std::string all = "  variants {\n    name: \"s512\"";
  std::string without(kBase);
  without = without.substr(0, without.find(all)) + "}\n";
  const auto fewer = Load(without);
  CHECK(KindsOf(DiffOf(*base, *fewer)) == std::vector{Kind::kVariantRemoved});
  CheckMirrors(*base, *fewer);

  const auto more = Load(std::string(kBase) + R"(
      dims { name: "k" min: 1 max: 4 }
      tensors { name: "z" kind: OUTPUT dtype: F32 shape: ["k"] }
      entries { name: "other"
        operators { name: "fill" outputs: ["z"] work { vector { elements: "k" } } } })");
  const PlanDiff diff = DiffOf(*base, *more);
  CAPTURE(TextOf(diff));
  CHECK(KindsOf(diff) == std::vector{Kind::kDimAdded, Kind::kTensorAdded, Kind::kEntryAdded});
  CheckMirrors(*base, *more);

  std::string text = Replaced(std::string(kBase), "# entry",
                              "operators { name: \"dead\" inputs: [\"x\"] outputs: [\"d\"] }");
  text = Replaced(text, "# plan",
                  "tensors { name: \"d\" kind: ACTIVATION dtype: BF16 shape: [\"1\"] }");
  for (int i = 0; i < 2; ++i) {
    text = Replaced(text, "    envelope { dim: \"batch\"",
                    "    elided { op: \"dead\" reason: \"unused\" } envelope {dim: \"batch\"");
  }
  const auto elided = Load(text);
  CHECK(KindsOf(DiffOf(*base, *elided)) ==
        std::vector{Kind::kTensorAdded, Kind::kOperatorAdded, Kind::kElided, Kind::kElided});
  CheckMirrors(*base, *elided);
}

TEST_CASE("another variant in front is a change: the fallback takes its cores", "[plan][diff]") {
  const std::string text(kBase);
  const std::size_t first = text.find("  variants {\n    name: \"s64\""),
                    second = text.find("  variants {\n    name: \"s512\""), end = text.rfind("}\n");
  const auto base = Load(text);
  const auto turned = Load(text.substr(0, first) + text.substr(second, end - second) +
                           text.substr(first, second - first) + "}\n");
  CHECK(KindsOf(DiffOf(*base, *turned)) == std::vector{Kind::kVariantOrder});
  CheckMirrors(*base, *turned);
}

TEST_CASE("spelling is no difference", "[plan][diff]") {
  const std::pair<const char*, const char*> spellings[] = {
      {"m: \"batch * seq\"", "m: \"batch*(seq)\""},
      {"n: \"256\"", "n: \"256\" count: \"1\""},
      {"k: \"256\"", "k: \"256\" density: 1"},
      {"bind: SUBMIT batch_rule: MAX", ""},
      {"# tail", "shards: \"1\" placement { mode: ANY }"},
      {"# tail", "tiling { } kernel { workspace_bytes: \"0\" }"},
      {"} # w", "memory_space: DRAM }"},
      {"max: 64 }", "max: 64 shape_mode: PADDED granule: 1 }"},
      {"# variant", "schedule { } numerics { }"},
      {"min_reader_version: 1", "min_reader_version: 1 created_unix_ns: 5"},
  };
  const auto base = Load(kBase);
  for (const auto& [what, with] : spellings) {
    CAPTURE(what, with);
    const auto spelt = Load(Replaced(std::string(kBase), what, with));
    const PlanDiff diff = DiffOf(*base, *spelt);
    CAPTURE(TextOf(diff));
    CHECK(diff.changes.empty());
  }
}

TEST_CASE("a field that the schema does not have is a difference with its number", "[plan][diff]") {
  const std::string bytes = Encode(kBase);
  // Field 99, a varint of 7, behind the last field of the plan.
  const std::string more = bytes + "\x98\x06\x07";
  const auto base = *LoadValidPlan(bytes, "base"), newer = *LoadValidPlan(more, "newer");
  const PlanDiff diff = DiffOf(*base, *newer);
  REQUIRE(KindsOf(diff) == std::vector{Kind::kOther});
  CHECK(diff.changes[0].text == "plan: field 99 none -> 0x980607");
  CHECK(DiffOf(*newer, *newer).changes.empty());
  CheckMirrors(*base, *newer);
}

TEST_CASE("the order in which a STATE tensor is used is content, other orders are not",
          "[plan][diff]") {
  const auto plan = [](const char* first, const char* second) {
    return Load(std::string(R"(
      header { model: "m" producer: "t" }
      dims { name: "seq" min: 1 max: 8 }
      tensors { name: "s" kind: STATE dtype: F32 shape: ["8"] }
      tensors { name: "a" kind: OUTPUT dtype: F32 shape: ["8"] }
      entries { name: "main" )") +
                first + second + " }");
  };
  const char* read = "operators { name: \"read\" inputs: \"s\" outputs: \"a\" }\n";
  const char* write = "operators { name: \"write\" outputs: \"s\" }\n";
  const auto base = plan(read, write), turned = plan(write, read);
  const PlanDiff diff = DiffOf(*base, *turned);
  CAPTURE(TextOf(diff));
  CHECK(KindsOf(diff) == std::vector{Kind::kOperator, Kind::kOperator});
}

TEST_CASE("a call that runs another variant is a change of its group", "[plan][diff]") {
  const auto plan = [](const std::string& bodies) {
    return Load(R"(
      header { model: "m" producer: "t" }
      dims { name: "seq" min: 1 max: 8 }
      tensors { name: "a" kind: OUTPUT dtype: F32 shape: ["8"] }
      entries { name: "main"
        operators { name: "loop" outputs: "a" work { call { entry: "body" times: "4" } } }
        variants { name: "v" fusion_groups { name: "loop" ops: "loop" } } }
      entries { name: "body" internal: true
        operators { name: "b" outputs: "a" work { vector { elements: "8" } } } )" +
                bodies + "}");
  };
  const std::string none =
      "variants { name: \"n\" envelope { dim: \"seq\" min: 1 opt: 1 max: 2 } "
      "fusion_groups { name: \"g\" ops: \"b\" } }\n";
  const auto all = [](const char* name) {
    return std::string("variants { name: \"") + name +
           "\" fusion_groups { name: \"g\" ops: \"b\" } }\n";
  };
  const auto base = plan(none + all("x") + all("y")), turned = plan(none + all("y") + all("x"));
  const PlanDiff diff = DiffOf(*base, *turned);
  REQUIRE(KindsOf(diff) == std::vector{Kind::kCall});
  CHECK(diff.changes[0].text == "group \"main/v/loop\": called variant body/x -> body/y");
}

// A plan as blocks of text whose order means nothing.
struct Blocks {
  std::vector<std::string> top, operators, groups;

  std::string Text() const {
    std::string text = "header { model: \"random\" producer: \"test\" }\n";
    for (const std::string& block : top) text += block;
    text += "entries { name: \"main\"\n";
    for (const std::string& block : operators) text += block;
    text += "variants { name: \"v\"\n";
    for (const std::string& block : groups) text += block;
    return text + "} }\n";
  }
};

void Shuffle(std::vector<std::string>& blocks, base::Prng& prng) {
  for (std::size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[prng.Below(i)]);
}

// Operators that each read one or two earlier results, in groups of neighbours: always a valid
// plan. `cuts` decides the groups, `graph` everything else.
Blocks RandomBlocks(base::Prng& graph, base::Prng& cuts) {
  Blocks blocks;
  blocks.top = {"dims { name: \"seq\" min: 1 max: 64 }\n", "dims { name: \"b\" min: 1 max: 4 }\n",
                "tensors { name: \"x\" kind: INPUT dtype: F32 shape: [\"b\", \"seq\"] }\n"};
  const std::size_t count = 1 + graph.Below(12);
  std::vector<char> read(count, 0);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::string inputs;
    for (std::uint64_t k = graph.Below(2) + 1; k > 0; --k) {
      const std::uint64_t from = graph.Below(i + 1);
      if (from > 0) read[from - 1] = 1;
      inputs +=
          std::string(" inputs: \"") + (from == 0 ? "x" : "t" + std::to_string(from - 1)) + "\"";
    }
    names.push_back("op" + std::to_string(i));
    blocks.operators.push_back("operators { name: \"" + names[i] + "\"" + inputs + " outputs: \"t" +
                               std::to_string(i) + "\" work { vector { elements: \"b * seq * " +
                               std::to_string(1 + graph.Below(9)) + "\" } } }\n");
  }
  for (std::size_t i = 0; i < count; ++i) {
    blocks.top.push_back("tensors { name: \"t" + std::to_string(i) +
                         "\" kind: " + (read[i] != 0 ? "ACTIVATION" : "OUTPUT") +
                         " dtype: F32 shape: [\"b\", \"seq\"] }\n");
  }
  for (std::size_t i = 0; i < count;) {
    const std::size_t end = std::min(count, i + 1 + cuts.Below(4));
    std::string group = "fusion_groups { name: \"g" + std::to_string(cuts.Below(3)) + "_" +
                        std::to_string(i) + "\" shards: \"" + std::to_string(1 + cuts.Below(2)) +
                        "\"";
    for (; i < end; ++i) group += " ops: \"" + names[i] + "\"";
    blocks.groups.push_back(group + " }\n");
  }
  return blocks;
}

TEST_CASE("a plan does not differ from itself, in whatever order it lists its parts",
          "[plan][diff][property]") {
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  base::Prng graph(seed), cuts(seed + 1000), order(seed + 2000);
  Blocks blocks = RandomBlocks(graph, cuts);
  const auto plan = Load(blocks.Text());
  CHECK(DiffOf(*plan, *plan).changes.empty());
  CHECK(DiffOf(*plan, *plan).same_digest);
  Shuffle(blocks.top, order);
  Shuffle(blocks.operators, order);
  Shuffle(blocks.groups, order);
  const PlanDiff diff = DiffOf(*plan, *Load(blocks.Text()));
  CAPTURE(TextOf(diff));
  CHECK(diff.changes.empty());
}

TEST_CASE("of two groupings of one graph the diff mirrors, and tells each operator's way once",
          "[plan][diff][property]") {
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  base::Prng graph(seed), again(seed), cuts(seed + 1000), other(seed + 2000);
  const auto before = Load(RandomBlocks(graph, cuts).Text());
  const auto after = Load(RandomBlocks(again, other).Text());
  const PlanDiff diff = DiffOf(*before, *after);
  CAPTURE(TextOf(diff));
  CheckMirrors(*before, *after);
  CHECK(diff.changes.empty() == diff.same_digest);
  // The graph is the same: only groups differ.
  for (const PlanChange& change : diff.changes) {
    CHECK((change.kind >= Kind::kGroupAdded && change.kind <= Kind::kOperatorMoved) |
          (change.kind == Kind::kShards));
  }
}

TEST_CASE("any number of a shipped plan that changes is a difference", "[plan][diff][property]") {
  const std::string model = GENERATE("bert_base", "llama2_7b_prefill");
  const std::string text = ReadSource("plans/models/" + model + ".textproto");
  const auto base = Load(text);
  CHECK(DiffOf(*base, *base).changes.empty());
  std::vector<std::size_t> places;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool digit = text[i] >= '1' && text[i] <= '8';
    const std::size_t line = text.rfind('\n', i) + 1;
    // Not within a name: BF16.
    const std::size_t before = text.find_last_not_of("0123456789", i);
    const bool word = std::isalpha(static_cast<unsigned char>(text[before])) != 0;
    if (digit && !word && text.find('#', line) > i) places.push_back(i);
  }
  std::size_t loaded = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    base::Prng prng(seed);
    std::string changed = text;
    const std::size_t at = places[prng.Below(places.size())];
    ++changed[at];
    CAPTURE(model, seed, text.substr(text.rfind('\n', at) + 1, 100));
    const Result<Loaded> result = LoadPlan(Encode(changed), "changed");
    // A newer reader may be asked for, and most corruptions are found out.
    if (!result.ok() || result->body == nullptr) continue;
    ++loaded;
    const PlanDiff diff = DiffOf(*base, *result->body);
    CHECK_FALSE(diff.changes.empty());
    CheckMirrors(*base, *result->body);
  }
  // Or this tests nothing.
  CHECK(loaded >= 20);
}

std::string WithoutDigest(const Body& body) {
  const std::string text = ToText(body);
  const std::size_t at = text.find("digest ");
  return text.substr(0, at) + text.substr(text.find('\n', at));
}

TEST_CASE("a flipped byte that loads is told by a diff that mirrors", "[plan][diff][property]") {
  const std::string bytes = Encode(kBase);
  const auto base = *LoadValidPlan(bytes, "base");
  std::size_t loaded = 0, spelt = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    base::Prng prng(seed);
    std::string flipped = bytes;
    const std::size_t at = prng.Below(bytes.size());
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << prng.Below(8)));
    const auto result = LoadPlan(flipped, "flipped");
    if (!result.ok() || result->body == nullptr) continue;
    ++loaded;
    CAPTURE(seed, at);
    const PlanDiff diff = DiffOf(*base, *result->body);
    CheckMirrors(*base, *result->body);
    if (!diff.changes.empty() || diff.same_digest) continue;
    // A default that was written out ("bind: SUBMIT"), or a number with a zero before it.
    ++spelt;
    CHECK(WithoutDigest(*result->body) == WithoutDigest(*base));
  }
  CHECK(loaded >= 100);
  CHECK(spelt * 50 < loaded);
}

TEST_CASE("texts of changes are one line of bounded length, whatever names hold", "[plan][diff]") {
  const std::string odd = "a\\n\\033\\\"\\\\" + std::string(200, 'z') + "ü";
  const auto base = Load(kBase);
  const auto named = Load(Replaced(std::string(kBase), "name: \"tail\"", "name: \"" + odd + "\""));
  const PlanDiff diff = DiffOf(*base, *named);
  REQUIRE(KindsOf(diff) == std::vector{Kind::kGroupRenamed});
  for (const char c : diff.changes[0].text) CHECK(static_cast<unsigned char>(c) >= 0x20);

  const auto noted =
      Load(Replaced(std::string(kBase), "# tail",
                    "annotations { key: \"k\" value: \"" + std::string(5000, 'v') + "\" }"));
  const PlanChange change = DiffOf(*base, *noted).changes.at(0);
  CHECK(change.text.size() < 200);
  CHECK(change.after.size() >= 5000);
}

}  // namespace
}  // namespace leeway::plan
