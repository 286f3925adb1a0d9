// The compiler on what ships: the plans that every experiment starts from.

#include <cstdio>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compile/mapping.h"
#include "device/plan_fit.h"
#include "tests/catch.h"
#include "tests/compile/support/models.h"

namespace leeway::compile {
namespace {

using Edges = std::vector<std::int64_t>;
using testing::Device;
using testing::Model;

TEST_CASE("the shipped models compile for short and long edges and fit with four runs at once",
          "[compile][integration]") {
  const Device device = testing::ShippedDevice();
  for (const std::string name : {"llama2_7b_prefill", "bert_base"}) {
    CAPTURE(name);
    Compiler compiler = Compiler::Create(testing::ShippedModel(name), device, {}).value();
    Edges edges = {1, 100};
    for (const std::int64_t edge : {512, 32'768}) {
      if (edge < compiler.domain().max) edges.push_back(edge);
    }
    edges.push_back(compiler.domain().max);
    const auto plan = compiler.Compile(edges);
    INFO(plan.status().ToString());
    REQUIRE(plan.ok());
    for (const Finding& finding : device::CheckFit(**plan, *device, 4)) {
      FAIL_CHECK(finding.path << ": " << finding.message);
    }
  }
}

TEST_CASE("the compiled prefill takes and moves at most 1 % more than the hand-written one",
          "[compile][integration]") {
  const Model shipped = testing::ShippedModel("llama2_7b_prefill");
  const Device device = testing::ShippedDevice();
  Compiler compiler = Compiler::Create(shipped, device, {}).value();
  for (std::int64_t edge = 256; edge <= 32'768; edge *= 2) {
    CAPTURE(edge);
    const Edges dims = {edge, 1};
    const std::string name = "s" + std::to_string(edge);
    const auto by_hand = testing::CostOf(*shipped, *device, "main", name, dims);
    const Model plan = compiler.Compile(Edges{edge}).value();
    const auto compiled = testing::CostOf(*plan, *device, "main", name, dims);
    CHECK(compiled.core_time <= by_hand.core_time + by_hand.core_time / 100);
    CHECK(compiled.dram_bytes <= 1.01 * by_hand.dram_bytes);
  }
}

// Not run by default: what fusion makes of a prefill, by octave.
TEST_CASE("table of compiled prefills", "[.][compile]") {
  const Model shipped = testing::ShippedModel("llama2_7b_prefill");
  const Device device = testing::ShippedDevice();
  const Pricer pricer(*device);
  const Graphs graphs = CollectGraphs(*shipped, 0);
  Compiler compiler = Compiler::Create(shipped, device, {}).value();
  for (std::int64_t edge = 1; edge <= 32'768; edge *= 2) {
    const std::string name = "s" + std::to_string(edge);
    const Edges dims = {edge, 1};
    const Mapping unfused = MapUnfused(graphs, pricer, dims).value();
    std::int64_t before = 0;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      for (const FusedGroup& fused : unfused[g].groups) {
        if (graphs[g].CallOf(fused.group.ops[0]) == nullptr) {
          before += (g == 0 ? 32 : 1) * fused.choice.shards;
        }
      }
    }
    const Nanos apart = CoreTimeOf(graphs, unfused, pricer, dims).value();
    const Model plan = compiler.Compile(Edges{edge}).value();
    const auto fused = testing::CostOf(*plan, *device, "main", name, dims);
    testing::Costed by_hand;
    if (edge >= 256) by_hand = testing::CostOf(*shipped, *device, "main", name, dims);
    std::printf(
        "%-7s batch %lld steps %lld -> %llu core time %.3f -> %.3f ms, by hand %.3f ms; %.2f GB, "
        "by "
        "hand %.2f GB\n",
        name.c_str(), static_cast<long long>(plan->entries[0].variants[0].envelope[1].max),
        static_cast<long long>(before), static_cast<unsigned long long>(fused.steps),
        static_cast<double>(apart.count()) / 1e6,
        static_cast<double>(fused.core_time.count()) / 1e6,
        static_cast<double>(by_hand.core_time.count()) / 1e6, fused.dram_bytes / 1e9,
        by_hand.dram_bytes / 1e9);
    for (const plan::Entry& entry : plan->entries) {
      for (const plan::Group& group : entry.variants[0].groups) {
        std::printf("  %s x%lld", group.name.c_str(), static_cast<long long>(group.shards(dims)));
      }
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace leeway::compile
