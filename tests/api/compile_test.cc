#include "leeway/compile.h"

#include <vector>

#include "leeway/plan_builder.h"
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

}  // namespace
}  // namespace leeway
