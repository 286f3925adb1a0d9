#include "leeway/compile.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "device/spec.h"
#include "leeway/plan_builder.h"
#include "leeway/simulate.h"
#include "leeway/text.h"
#include "tests/catch.h"

namespace leeway {
namespace {

Plan Toy(bool with_variants) {
  PlanBuilder builder("toy", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, 512}, BatchRule::kMax);
  const Size batch = builder.Dim("batch", {1, 4}, BatchRule::kCount);
  const EntryRef entry = builder.Entry("main");
  const TensorRef x = entry.Input("x", DType::kBf16, {batch, seq, 256});
  const TensorRef w = entry.Weight("w", DType::kBf16, {256, 256});
  const OpRef mm = entry.Op("mm", Gemm{batch * seq, 256, 256}, {x, w});
  const OpRef gelu = entry.Op("gelu", Vector{batch * seq * 256, 12}, {mm});
  if (with_variants) {
    entry.Variant("long").Group("a", {mm}).Group("b", {gelu});
    entry.Variant("short").Envelope(seq, 1, 64, 64).Group("a", {mm}).Group("b", {gelu});
    entry.Variant("same").Envelope(seq, 1, 32, 64).Group("a", {mm}).Group("b", {gelu});
  }
  return std::move(builder).Build().value();
}

Device Shipped() { return Device::Load("onnxim_tpuv4_c4").value(); }

std::vector<std::int64_t> EdgesOf(const std::vector<VariantPrediction>& variants) {
  std::vector<std::int64_t> edges;
  for (const VariantPrediction& variant : variants) edges.push_back(variant.edge);
  return edges;
}

TEST_CASE("a model without variants compiles for the buckets that are asked for",
          "[api][compile]") {
  const Plan plan = Compile(Toy(false), Shipped(), {.buckets = {16, 512}, .max_batch = 3}).value();
  const auto variants = PredictVariants(plan, Shipped()).value();
  CHECK(EdgesOf(variants) == std::vector<std::int64_t>{16, 512});
  CHECK(variants[0].name == "s16");
  CHECK(variants[0].max_batch == 3);
  CHECK(variants[0].groups == 1);
  CHECK(variants[0].steps == variants[0].groups);
  CHECK(variants[1].predicted >= variants[0].predicted);
  CHECK(variants[1].core_time >= variants[1].predicted);
}

TEST_CASE("without buckets a model's own are taken, each once and rising", "[api][compile]") {
  const Plan plan = Compile(Toy(true), Shipped()).value();
  CHECK(EdgesOf(PredictVariants(plan, Shipped()).value()) == std::vector<std::int64_t>{64, 512});
  CHECK(Compile(Toy(false), Shipped()).status() ==
        Status(StatusCode::kInvalidArgument,
               "entry \"main\" has no variants to take buckets from: name bucket edges"));
}

TEST_CASE("what is compiled can be compiled again and is the same", "[api][compile]") {
  const Plan once = Compile(Toy(false), Shipped(), {.buckets = {100, 200}}).value();
  const Plan twice = Compile(once, Shipped()).value();
  CHECK(twice.digest() == once.digest());
  const Plan parsed = Plan::Parse(once.Serialize(), "again").value();
  CHECK(parsed.digest() == once.digest());
}

TEST_CASE("predictions are made for plans of other compilers too", "[api][compile]") {
  const auto variants = PredictVariants(Toy(true), Shipped()).value();
  CHECK(EdgesOf(variants) == std::vector<std::int64_t>{512, 64, 64});
  CHECK(variants[0].groups == 2);
  CHECK(variants[0].max_batch == 4);
}

// A product whose shape profile has these lengths, each with its weight.
Plan Expecting(const std::vector<std::pair<std::int64_t, double>>& points) {
  PlanBuilder builder("toy", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, 512}, BatchRule::kMax);
  const EntryRef entry = builder.Entry("main");
  const TensorRef x = entry.Input("x", DType::kBf16, {seq, 256});
  entry.Op("mm", Gemm{seq, 256, 256}, {x, entry.Weight("w", DType::kBf16, {256, 256})});
  for (const auto& [length, weight] : points) builder.Expect({{"seq", length}}, weight);
  return std::move(builder).Build().value();
}

TEST_CASE("chosen buckets cost the shape profile no more than any other so many",
          "[api][compile]") {
  const std::vector<std::pair<std::int64_t, double>> points = {
      {20, 5}, {60, 1}, {130, 3}, {300, 2}, {500, 0.5}};
  const Plan model = Expecting(points);
  const auto edges_of = [&](const CompileOptions& options) {
    return EdgesOf(PredictVariants(Compile(model, Shipped(), options).value(), Shipped()).value());
  };
  // Every plan of three edges that covers the longest, by what its variants cost a request.
  const auto cost = [&](const std::vector<std::int64_t>& edges) {
    const Plan plan = Compile(model, Shipped(), {.buckets = edges}).value();
    const std::vector<VariantPrediction> variants = PredictVariants(plan, Shipped()).value();
    double sum = 0;
    for (const auto& [length, weight] : points) {
      for (const VariantPrediction& variant : variants) {
        if (variant.edge < length) continue;
        sum += weight * static_cast<double>(variant.core_time.count());
        break;
      }
    }
    return sum;
  };
  double least = cost({500});
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    for (std::size_t j = i + 1; j + 1 < points.size(); ++j) {
      least = std::min(least, cost({points[i].first, points[j].first, 500}));
    }
    least = std::min(least, cost({points[i].first, 500}));
  }
  const std::vector<std::int64_t> chosen = edges_of({.variants = 3});
  CHECK(chosen.size() <= 3);
  CHECK(chosen.back() >= 500);
  CHECK(cost(chosen) == Approx(least));
  // Enough buckets for every length are one each, or fewer where one costs no less.
  CHECK(cost(edges_of({.variants = 9})) == Approx(cost({20, 60, 130, 300, 500})).epsilon(1e-9));
  CHECK(edges_of({.buckets = {64}, .variants = 3}) == std::vector<std::int64_t>{64});
}

TEST_CASE("buckets cannot be chosen without a shape profile, nor fewer than none",
          "[api][compile]") {
  const Status without = Compile(Expecting({}), Shipped(), {.variants = 2}).status();
  CHECK(without.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(without.message()), Catch::Contains("no shape profile"));
  CHECK(Compile(Expecting({{8, 1}}), Shipped(), {.variants = -1}).status().code() ==
        StatusCode::kInvalidArgument);
}

// Kernels that say nothing but how long they take, and depend on each other at random.
Plan Branching(std::uint64_t seed) {
  base::Prng prng(seed);
  std::string tensors = "tensors { name: 't' kind: INPUT dtype: F32 shape: 'seq' }";
  std::string operators, groups;
  std::vector<std::string> made = {"'t'"};
  for (int i = 0; i < 40; ++i) {
    const std::string name = "'op" + std::to_string(i) + "'";
    std::set<std::string> inputs;
    for (std::size_t n = 1 + prng.Below(2); n > 0; --n) {
      inputs.insert(made[prng.Below(made.size())]);
    }
    tensors += "tensors { name: " + name + " kind: OUTPUT dtype: F32 shape: 'seq' }";
    operators += "operators { name: " + name + " kind: 'engine'";
    for (const std::string& input : inputs) operators += " inputs: " + input;
    operators += " outputs: " + name + " }";
    groups += "fusion_groups { name: " + name + " ops: " + name + " profile { cost_ns: '" +
              std::to_string(20'000 + prng.Below(200'000)) + "' } }";
    made.push_back(name);
  }
  const std::string text =
      "header { model: 'branching' min_reader_version: 1 }"
      "dims { name: 'seq' min: 1 max: 64 batch_rule: MAX }" +
      tensors + "entries { name: 'main' " + operators + "variants { name: 'v' " + groups + "} }";
  return Plan::Parse(TextToBinary(Schema::kPlan, text, "branching").value(), "branching").value();
}

TEST_CASE(
    "a run that has the device to itself ends when its plan said, where cores have orders too",
    "[api][compile][schedule]") {
  const Traffic traffic = Traffic::Poisson(5, 10s, "seq", {64}).value();
  int scheduled = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const Plan plan = Compile(Branching(seed), Shipped(), {.buckets = {64}}).value();
    const std::string text = BinaryToText(Schema::kPlan, plan.Serialize()).value();
    scheduled += text.find("schedule {") != std::string::npos;
    const Nanos predicted = PredictVariants(plan, Shipped()).value().at(0).predicted;
    const SimResult result = Simulate(plan, Shipped(), traffic).value();
    CHECK(result.summary().latency.min == Shipped().spec()->run_launch + predicted);
  }
  CHECK(scheduled > 3);
}

}  // namespace
}  // namespace leeway
