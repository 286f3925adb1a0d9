#include "leeway/cost.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "device/spec.h"
#include "leeway/plan_builder.h"
#include "leeway/simulate.h"
#include "tests/catch.h"

namespace leeway {
namespace {

using Catch::Matchers::Contains;

Device Default() {
  auto device = Device::Load("onnxim_tpuv4_c4");
  REQUIRE(device.ok());
  return *device;
}

OperatorSpec Product(std::int64_t m, std::int64_t n, std::int64_t k) {
  OperatorSpec op;
  op.work = Gemm{.m = m, .n = n, .k = k};
  return op;
}

OperatorCost Cost(const OperatorSpec& op, const Device& device) {
  const auto cost = CostOf(device, op);
  INFO(cost.status().ToString());
  REQUIRE(cost.ok());
  return *cost;
}

OperatorCost Cost(const OperatorSpec& op) { return Cost(op, Default()); }

const CostTerm& TermOf(const OperatorCost& cost, const std::string& name) {
  const auto found = std::find_if(cost.terms.begin(), cost.terms.end(),
                                  [&](const CostTerm& term) { return term.name == name; });
  REQUIRE(found != cost.terms.end());
  return *found;
}

TEST_CASE("a product's cost has its cycles, its bytes and its terms with numbers in them",
          "[api][cost]") {
  const OperatorCost cost = Cost(Product(512, 768, 768));
  // 6 · 6 folds of 512 rows after 255 cycles of the first load, 254 of pipeline.
  CHECK(cost.cycles == 255 + 36 * 512 + 254);
  CHECK(cost.macs == 512 * 768 * 768);
  CHECK(cost.utilization == Approx(512.0 * 768 * 768 / (128 * 128) / (255 + 36 * 512 + 254)));
  CHECK(cost.dram_bytes == 2 * (512 * 768 + 768 * 768 + 512 * 768));
  CHECK(cost.bound == CostBound::kCompute);
  CHECK(cost.array_traffic.left == 512 * 768 * 6);
  CHECK(cost.array_traffic.right == 768 * 768);
  CHECK(cost.array_traffic.out == 512 * 768 * 6);
  CHECK(TermOf(cost, "folds").formula == "ceil(768 / 128) · ceil(768 / 128)");
  CHECK(TermOf(cost, "matrix").formula == "255 first load + 36 · 512 + 254 pipeline");
  CHECK(TermOf(cost, "matrix").value == static_cast<double>(cost.cycles));
}

// A plan that is one product, one shard, as a variant of one group.
Plan PlanOfProduct(std::int64_t m, std::int64_t n, std::int64_t k) {
  PlanBuilder builder("product", {"test", "1"});
  const Size dim = builder.Dim("rows", {1, 1 << 13}, BatchRule::kMax);
  const EntryRef entry = builder.Entry("main");
  const OpRef op =
      entry.Op("op", Gemm{.m = dim, .n = n, .k = k},
               {entry.Input("x", DType::kBf16, {dim, k}), entry.Input("w", DType::kBf16, {k, n})});
  entry.Variant("v").Dynamic(dim, 1, m, 1 << 13, 1).Group("g", {op}).Any().Shards(1);
  return std::move(builder).Build().value();
}

// One arrival at the origin; runs cost their steps alone.
double SimulatedJoules(const Plan& plan, const Device& device, std::int64_t rows, Nanos span) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("leeway_cost_test_" + std::to_string(::getpid()) + ".csv");
  std::ofstream(path) << "t,rows\n0," << rows << "\n";
  const auto traffic =
      Traffic::Open(path.string(), {.format = "csv", .map = "arrival=t:ms,rows=rows"});
  INFO(traffic.status().ToString());
  REQUIRE(traffic.ok());
  const auto result = Simulate(plan, device, *traffic);
  std::filesystem::remove(path);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  REQUIRE(result->summary().steps == 1);
  CHECK(result->summary().makespan == span);
  return result->summary().energy_j;
}

TEST_CASE("the energy of a step is what a simulation of exactly that step books", "[api][cost]") {
  for (const char* name : {"onnxim_tpuv4_c4", "ascend910a", "a100_llmcompass"}) {
    device::Spec spec = *Device::Load(name).value().spec();
    spec.run_launch = Nanos{0};
    spec.power.thermal.reset();
    spec.power.dvfs.reset();
    const Device device(std::make_shared<const device::Spec>(std::move(spec)));
    for (const std::int64_t rows : {1, 300, 5000}) {
      CAPTURE(name, rows);
      const OperatorCost cost = Cost(Product(rows, 768, 512), device);
      const double booked =
          SimulatedJoules(PlanOfProduct(rows, 768, 512), device, rows, cost.time());
      if (device.spec()->power.static_watts == 0 && !cost.energy_j) {
        CHECK(booked == 0);
        CHECK_FALSE(cost.energy_reason.empty());
        continue;
      }
      REQUIRE(cost.energy_j.has_value());
      CHECK(*cost.energy_j == booked);
      CHECK(*cost.dynamic_energy_j > 0);
      CHECK(*cost.energy_j == *cost.dynamic_energy_j + *cost.static_energy_j);
    }
  }
}

TEST_CASE("the terms of the energy hold the events and the time", "[api][cost]") {
  const OperatorCost cost = Cost(Product(512, 768, 768));
  const CostTerm& dynamic = TermOf(cost, "dynamic");
  CHECK_THAT(dynamic.formula, Contains("multiply-adds"));
  CHECK_THAT(dynamic.formula, Contains("DRAM bytes"));
  CHECK(dynamic.value == Approx(*cost.dynamic_energy_j * 1e12));
  CHECK(TermOf(cost, "static").value == Approx(*cost.static_energy_j * 1e9));
  // Half a million products of 0.98 pJ each, by NeuSim's 16.92 W an array.
  CHECK(*cost.dynamic_energy_j > 512. * 768 * 768 * 0.98e-12);
}

TEST_CASE("a device that states no power has no energy, and says which it lacks", "[api][cost]") {
  device::Spec spec = *Default().spec();
  spec.power = {};
  spec.power.static_watts = 10;
  const Device idle(std::make_shared<const device::Spec>(spec));
  const OperatorCost only_static = Cost(Product(64, 64, 64), idle);
  CHECK_FALSE(only_static.energy_j.has_value());
  CHECK_FALSE(only_static.dynamic_energy_j.has_value());
  CHECK(only_static.static_energy_j.has_value());
  CHECK_THAT(only_static.energy_reason, Contains("states no power of its units"));
  spec.power = {};
  spec.power.matrix_watts = 10;
  const Device busy(std::make_shared<const device::Spec>(spec));
  const OperatorCost only_dynamic = Cost(Product(64, 64, 64), busy);
  CHECK(only_dynamic.energy_j == only_dynamic.dynamic_energy_j);
  CHECK(only_dynamic.energy_j.has_value());
  CHECK_FALSE(only_dynamic.static_energy_j.has_value());
  CHECK_THAT(only_dynamic.energy_reason, Contains("no static power"));
}

TEST_CASE("nothing uses more than the peak of its type", "[api][cost]") {
  for (const char* name : {"ascend910a", "onnxim_tpuv4_c4", "tpu_v4", "tt_blackhole_p150"}) {
    const Device device = Device::Load(name).value();
    for (DType dtype : {DType::kInt8, DType::kBf16, DType::kF16, DType::kF32}) {
      for (std::int64_t side : {64, 1024, 8192}) {
        OperatorSpec op = Product(side, side, side);
        op.dtype = dtype;
        const double utilization = Cost(op, device).utilization;
        CAPTURE(name, static_cast<int>(dtype), side, utilization);
        CHECK(utilization > 0);
        CHECK(utilization <= 1);
      }
    }
  }
}

TEST_CASE("the terms of a cost add up to its time", "[api][cost]") {
  const Device device = Default();
  OperatorSpec vector, move, halves = Product(4096, 4096, 512);
  vector.work = Vector{.elements = 1'000'000, .ops_per_element = 25};
  move.work = Move{.bytes = 1'000'000, .contiguous_bytes = 40};
  halves.shards = 2;
  for (const OperatorSpec& op :
       {Product(1, 4096, 4096), Product(100, 60, 7), vector, move, halves}) {
    const OperatorCost cost = Cost(op, device);
    const double body = std::max(TermOf(cost, "compute").value, TermOf(cost, "transfer").value);
    const double time = static_cast<double>(cost.launch.count()) + TermOf(cost, "fill").value +
                        body + TermOf(cost, "drain").value;
    CHECK(static_cast<double>(cost.time().count()) == Approx(time).margin(3));
    CHECK(TermOf(cost, "time").value == static_cast<double>(cost.time().count()));
    CHECK(TermOf(cost, "dram").value == static_cast<double>(cost.dram_bytes));
    CHECK_FALSE(cost.bound_reason.empty());
  }
}

TEST_CASE("each bound has an operator that it decides", "[api][cost]") {
  const Device device = Default();
  CHECK(Cost(Product(4096, 4096, 4096), device).bound == CostBound::kCompute);
  CHECK(Cost(Product(64, 64, 64), *Device::Load("a100_llmcompass")).bound == CostBound::kLaunch);
  OperatorSpec vector;
  vector.work = Vector{.elements = 4'000'000, .ops_per_element = 1};
  CHECK(Cost(vector, device).bound == CostBound::kBandwidth);
  vector.work = Vector{.elements = 4'000'000, .ops_per_element = 100};
  CHECK(Cost(vector, device).bound == CostBound::kVector);
  // Narrow tiles of a part of 2048 rows read both operands 16 times, with a quarter of the DRAM;
  // once they would hide behind the arrays.
  OperatorSpec narrow = Product(8192, 2048, 131'072);
  narrow.tile = {.m = 128, .n = 128, .k = 128};
  narrow.shards = 4;
  const OperatorCost sram = Cost(narrow, device);
  CHECK(sram.bound == CostBound::kSram);
  CHECK_THAT(sram.bound_reason, Contains("operands that do not fit"));
}

TEST_CASE("what cannot be costed says why", "[api][cost]") {
  const Device device = Default();
  const auto code = [&](const OperatorSpec& op) { return CostOf(device, op).status().code(); };
  OperatorSpec op = Product(512, 512, 512);
  op.shards = 0;
  CHECK(code(op) == StatusCode::kInvalidArgument);
  op.shards = 1;
  op.core_class = "scalar";
  CHECK(code(op) == StatusCode::kNotFound);
  op.core_class = "matrix";
  CHECK(code(op) == StatusCode::kOk);
  op.work = Gemm{.m = Size::Named("seq"), .n = 8, .k = 8};
  CHECK(code(op) == StatusCode::kInvalidArgument);
  op.work = Send{.bytes = 8, .peer = "a", .channel = "b"};
  CHECK(code(op) == StatusCode::kUnimplemented);
  op = Product(1 << 13, 1 << 13, 1 << 13);
  op.tile = {.m = 1 << 13, .n = 1 << 13, .k = 0};
  CHECK(code(op) == StatusCode::kResourceExhausted);
}

TEST_CASE(
    "a topology of SCALE-Sim becomes convolutions and products, a partial last window included",
    "[api][cost]") {
  const auto layers = ParseScaleSimTopology(
      "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
      "Strides,\nConv1, 224, 224, 7, 7, 3, 64, 2,\r\n\nCB3a_1, 56, 56, 1, 1, 256, 128, 2,\nFC, 1, "
      "1000, 2048,\n",
      "net.csv");
  INFO(layers.status().ToString());
  REQUIRE(layers.ok());
  REQUIRE(layers->size() == 3);
  const Device device = Default();
  // ceil((224 - 7 + 2) / 2) = 110 and ceil((56 - 1 + 2) / 2) = 29 positions a side.
  CHECK(Cost((*layers)[0], device).macs == 110 * 110 * 64 * 147);
  CHECK(Cost((*layers)[1], device).macs == 29 * 29 * 128 * 256);
  CHECK(Cost((*layers)[2], device).macs == 1000 * 2048);
  CHECK((*layers)[1].name == "CB3a_1");
}

TEST_CASE("a topology that is none names its line", "[api][cost]") {
  const auto message = [](const char* text) {
    return std::string(ParseScaleSimTopology(text, "t.csv").status().message());
  };
  CHECK_THAT(message(""), Contains("t.csv: no layers"));
  CHECK_THAT(message("name, M, N, K\n"), Contains("t.csv: no layers"));
  CHECK_THAT(message("a, 1, 2, 3\nb, 1, 2\n"), Contains("t.csv:2: 3 fields"));
  CHECK_THAT(message("a, 1, 2, 3\nb, 1, x, 3\n"), Contains("t.csv:2: field 3: \"x\" is not"));
  CHECK_THAT(message("a, 1, 2, 3\nb, 1, 0, 3\n"), Contains("t.csv:2: field 3: \"0\" is not"));
  CHECK_THAT(message("c, 5, 5, 7, 7, 3, 8, 1\n"), Contains("t.csv:1: the filter is larger"));
  CHECK_THAT(message("c, 5, 5, 3, 3, 3, 8, 1, 1, 2:4\n"), Contains("t.csv:1: 10 fields"));
}

}  // namespace
}  // namespace leeway
