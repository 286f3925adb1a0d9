#include "compile/fusion.h"

#include <algorithm>
#include <set>
#include <vector>

#include "compile/compiler.h"
#include "compile/mapping.h"
#include "plan/graph.h"
#include "tests/catch.h"
#include "tests/compile/support/models.h"
#include "tests/plan/text_plan.h"

namespace leeway::compile {
namespace {

using testing::Device;
using testing::Model;
using Dims = std::vector<std::int64_t>;

Nanos TotalTime(const std::vector<FusedGroup>& groups) {
  Nanos total{0};
  for (const FusedGroup& fused : groups) total += fused.choice.time;
  return total;
}

Nanos TotalScore(const std::vector<FusedGroup>& groups) {
  Nanos total{0};
  for (const FusedGroup& fused : groups) total += fused.choice.score();
  return total;
}

Model RandomModel(std::uint64_t seed) {
  return testing::RandomModel(seed, {.operators = 5 + static_cast<std::uint32_t>(seed % 30)});
}

Device RandomDevice(std::uint64_t seed) {
  return seed % 2 == 0 ? testing::ShippedDevice() : testing::MixedDevice();
}

std::vector<FusedGroup> Fused(const EntryGraph& graph, const Device& device, const Dims& dims) {
  auto groups = Fuse(graph, Pricer(*device), dims, dims);
  INFO(groups.status().ToString());
  REQUIRE(groups.ok());
  return *std::move(groups);
}

// Operators that `from` leads to, itself included, over operators that `passes` lets through.
std::set<plan::Index> Downstream(const plan::Entry& entry, plan::Index from) {
  std::set<plan::Index> reached = {from};
  for (plan::Index op = from; op < entry.operators.size(); ++op) {
    for (const plan::Index before : entry.operators[op].predecessors) {
      if (reached.contains(before)) reached.insert(op);
    }
  }
  return reached;
}

// A plan of two elementwise operators over 2^20 elements, the second as `second` says.
Model Pair(const std::string& second) {
  return plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 1 max: 64 batch_rule: MAX }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["seq", "16384"] }
    tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["seq", "16384"] }
    tensors { name: "z" kind: OUTPUT dtype: BF16 shape: ["seq", "16384"] }
    entries { name: "main"
      operators { name: "f" inputs: "x" outputs: "y"
        work { vector { elements: "seq * 16384" ops_per_element: 1 } } }
      operators { name: "g" outputs: "z" )" +
                    second + R"(
        work { vector { elements: "seq * 16384" ops_per_element: 1 } } } })");
}

TEST_CASE("fusion never takes longer than the operators by themselves", "[compile][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  const Model model = RandomModel(seed);
  const Device device = RandomDevice(seed);
  const EntryGraph graph(*model, 0);
  const Dims dims = {static_cast<std::int64_t>(1 + seed * 5), 1};
  const auto unfused = Unfused(graph, Pricer(*device), dims);
  REQUIRE(unfused.ok());
  const std::vector<FusedGroup> fused = Fused(graph, device, dims);
  CHECK(TotalTime(fused) <= TotalTime(*unfused));
  CHECK(TotalScore(fused) <= TotalScore(*unfused));
  const bool faster = TotalTime(fused) < TotalTime(*unfused);
  CHECK((fused.size() < unfused->size()) == faster);
}

TEST_CASE("no fused group needs its own output through another", "[compile][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  const Model model = RandomModel(seed);
  const EntryGraph graph(*model, 0);
  const std::vector<FusedGroup> groups = Fused(graph, RandomDevice(seed), {64, 1});
  std::multiset<plan::Index> covered;
  for (const FusedGroup& fused : groups) {
    const std::vector<plan::Index>& ops = fused.group.ops;
    CHECK(std::is_sorted(ops.begin(), ops.end()));
    CHECK(ops.size() <= kMaxFused);
    covered.insert(ops.begin(), ops.end());
    for (const plan::Index from : ops) {
      // Whatever lies between two operators of a group is in the group.
      for (const plan::Index between : Downstream(graph.entry(), from)) {
        if (std::binary_search(ops.begin(), ops.end(), between)) continue;
        for (const plan::Index after : Downstream(graph.entry(), between)) {
          CHECK(!std::binary_search(ops.begin(), ops.end(), after));
        }
      }
    }
  }
  CHECK(covered.size() == graph.size());
  CHECK(std::set<plan::Index>(covered.begin(), covered.end()).size() == graph.size());
}

TEST_CASE("groups come after the groups they wait for", "[compile][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  const Model model = RandomModel(seed);
  const EntryGraph graph(*model, 0);
  const std::vector<FusedGroup> groups = Fused(graph, RandomDevice(seed), {300, 1});
  std::vector<plan::Index> owner(graph.size());
  for (plan::Index g = 0; g < groups.size(); ++g) {
    for (const plan::Index op : groups[g].group.ops) owner[op] = g;
  }
  for (plan::Index g = 0; g < groups.size(); ++g) {
    std::set<plan::Index> wanted;
    for (const plan::Index op : groups[g].group.ops) {
      for (const plan::Index before : graph.entry().operators[op].predecessors) {
        if (owner[before] != g) wanted.insert(owner[before]);
      }
    }
    CHECK(std::vector<plan::Index>(wanted.begin(), wanted.end()) == groups[g].group.predecessors);
    CHECK((wanted.empty() || *wanted.rbegin() < g));
  }
}

TEST_CASE("a producer whose output nobody else reads keeps it on the core", "[compile]") {
  const Model model = Pair(R"(inputs: "y")");
  const EntryGraph graph(*model, 0);
  const std::vector<FusedGroup> groups = Fused(graph, testing::ShippedDevice(), {64});
  REQUIRE(groups.size() == 1);
  // An output of the plan is written all the same.
  CHECK(groups[0].group.reads == std::vector<plan::Index>{0});
  CHECK(groups[0].group.writes == std::vector<plan::Index>{1, 2});
}

TEST_CASE("operators that pass nothing on to each other stay apart", "[compile]") {
  const Model model = Pair(R"(inputs: "x" after: "f")");
  const EntryGraph graph(*model, 0);
  CHECK(Fused(graph, testing::ShippedDevice(), {64}).size() == 2);
}

TEST_CASE("what is fused fits the core at the largest batch as well", "[compile]") {
  // Scores against keys that are made inside the group: it runs as one block.
  const Model model = plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 1 max: 4096 batch_rule: MAX }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["seq", "128"] }
    tensors { name: "q" kind: INPUT dtype: BF16 shape: ["64", "128"] }
    tensors { name: "w" kind: WEIGHT dtype: BF16 shape: ["128", "128"] }
    tensors { name: "k" kind: ACTIVATION dtype: BF16 shape: ["seq", "128"] }
    tensors { name: "s" kind: OUTPUT dtype: BF16 shape: ["64", "seq"] }
    entries { name: "main"
      operators { name: "keys" inputs: ["x", "w"] outputs: "k"
        work { gemm { m: "seq" n: "128" k: "128" } } }
      operators { name: "scores" inputs: ["q", "k"] outputs: "s"
        work { gemm { m: "64" n: "seq" k: "128" } } } })");
  device::Spec small = *testing::ShippedDevice();
  small.classes[0].sram_bytes = 1 << 20;
  const Pricer pricer(small);
  const EntryGraph graph(*model, 0);
  const Dims at = {128};
  CHECK(Fuse(graph, pricer, at, Dims{128}).value().size() == 1);
  CHECK(Fuse(graph, pricer, at, Dims{4096}).value().size() == 2);
}

TEST_CASE("what a run has no room for at once is not fused", "[compile]") {
  // A wide input, a narrow waist and a wide output: fused, both wide ones are there at once.
  const Model model = plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 1 max: 4096 batch_rule: MAX }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["seq", "4096"] }
    tensors { name: "h" kind: ACTIVATION dtype: BF16 shape: ["seq", "16"] }
    tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["seq", "4096"] }
    entries { name: "main"
      operators { name: "narrow" inputs: "x" outputs: "h"
        work { reduce { elements: "seq * 4096" outputs: "seq * 16" ops_per_element: 1 } } }
      operators { name: "widen" inputs: "h" outputs: "y"
        work { vector { elements: "seq * 4096" ops_per_element: 1 } } } })");
  const EntryGraph graph(*model, 0);
  const Device device = testing::ShippedDevice();
  const Dims at = {1024};
  // One by one a run holds a wide tensor and the waist; together two wide ones.
  const double wide = 1024. * 4096 * 2, waist = 1024. * 16 * 2;
  const auto groups = [&](double budget) {
    return Fuse(graph, Pricer(*device), at, at, {wide + waist, budget}).value().size();
  };
  CHECK(groups(2 * wide) == 1);
  CHECK(groups(2 * wide - 1) == 2);
  CHECK(Fused(graph, device, at).size() == 1);
}

TEST_CASE("cores share a group where that saves at least the launches it adds", "[compile]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  const Model model = RandomModel(seed);
  const Device device = testing::ShippedDevice();
  const Pricer pricer(*device);
  const EntryGraph graph(*model, 0);
  const Dims dims = {static_cast<std::int64_t>(1 + 13 * seed), 1};
  const auto time = [&](const plan::Group& group, std::int64_t shards) {
    const auto cost = pricer.Cost(graph, group, dims, {.core_class = 0, .shards = shards}).value();
    return cost.launch + cost.Alone(device->dram_rate() / shards);
  };
  for (const FusedGroup& fused : Fused(graph, device, dims)) {
    const bool shared = fused.choice.shards == 4;
    CHECK((shared || fused.choice.shards == 1));
    const Nanos saved = time(fused.group, 1) - time(fused.group, 4);
    CHECK(shared == (saved >= 3 * device->step_launch));
    CHECK(fused.choice.time == time(fused.group, fused.choice.shards));
  }
}

TEST_CASE("groups of one core are spread over the cores, the longest way first", "[compile]") {
  const Model model = plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 1 max: 64 batch_rule: MAX }
    tensors { name: "x" kind: INPUT dtype: F32 shape: ["seq", "64"] }
    tensors { name: "a" kind: OUTPUT dtype: F32 shape: ["seq", "64"] }
    tensors { name: "b" kind: OUTPUT dtype: F32 shape: ["seq", "64"] }
    tensors { name: "c" kind: OUTPUT dtype: F32 shape: ["seq", "64"] }
    entries { name: "main"
      operators { name: "a" inputs: "x" outputs: "a"
        work { vector { elements: "seq * 64" ops_per_element: 1 } } }
      operators { name: "b" inputs: "x" outputs: "b"
        work { vector { elements: "seq * 64" ops_per_element: 1000 } } }
      operators { name: "c" inputs: "x" outputs: "c"
        work { vector { elements: "seq * 64" ops_per_element: 500 } } } })");
  const Device device = testing::ShippedDevice();
  const Graphs graphs = CollectGraphs(*model, 0);
  const Dims dims = {64};
  const Mapping mapping = MapFused(graphs, Pricer(*device), dims, dims).value();
  std::vector<std::uint32_t> first;
  for (const FusedGroup& fused : mapping[0].groups) {
    REQUIRE(fused.choice.shards == 1);
    REQUIRE(fused.group.placement.cores.size() == 4);
    first.push_back(fused.group.placement.cores[0].index.value());
  }
  CHECK(first == std::vector<std::uint32_t>{2, 0, 1});
}

void CheckReadsAndWrites(const Model& model, const Device& device) {
  Compiler compiler = Compiler::Create(model, device, {}).value();
  const Model plan = compiler.Compile(std::vector<std::int64_t>{100}).value();
  for (plan::Index e = 0; e < model->entries.size(); ++e) {
    const EntryGraph graph(*model, e);
    for (const plan::Group& loaded : plan->entries[e].variants[0].groups) {
      CAPTURE(loaded.name);
      const plan::Group made = graph.MakeGroup(loaded.ops);
      CHECK(made.reads == loaded.reads);
      CHECK(made.writes == loaded.writes);
    }
  }
}

TEST_CASE("a group reads and writes what the loader derives for it", "[compile][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  CheckReadsAndWrites(RandomModel(seed), RandomDevice(seed));
}

TEST_CASE("groups of the shipped models read and write what the loader derives for them",
          "[compile]") {
  for (const char* name : {"llama2_7b_prefill", "bert_base"}) {
    CheckReadsAndWrites(testing::ShippedModel(name), testing::ShippedDevice());
  }
}

}  // namespace
}  // namespace leeway::compile
