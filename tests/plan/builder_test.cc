#include "leeway/plan_builder.h"

#include <string>
#include <utility>

#include "plan/body.h"
#include "tests/catch.h"

namespace leeway {
namespace {

// The first program of the README, line by line.
PlanBuilder Toy() {
  PlanBuilder b("toy", Producer{"mycc", "1.4"});
  auto seq = b.Dim("seq", {1, 4096}, BatchRule::kMax), n = b.Dim("batch", {1, 32}, BatchRule::kSum);
  auto e = b.Entry("main");
  auto x = e.Input("x", DType::kBf16, {n, seq, 768});
  auto w = e.Weight("w", DType::kInt8, {768, 768});
  auto h = e.Op("mm", Gemm{n * seq, 768, 768}, {x, w}).Annotate("mlir.loc", "a.mlir:7");
  auto y = e.Op("gelu", Vector{n * seq * 768, 12}, {h});
  e.Variant("s512")
      .Envelope(seq, 1, 384, 512)
      .Group("ffn", {h, y})
      .Kernel("ffn_s512")
      .Prefer("matrix:0")
      .Predict({{"seq", 512}, {"batch", 1}}, 41us);
  return b;
}

const plan::Tensor& TensorOf(const Plan& plan, std::string_view name) {
  for (const plan::Tensor& tensor : plan.body()->tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " << name);
  return plan.body()->tensors[0];
}

TEST_CASE("a built plan is the plan that its bytes load as", "[plan][builder]") {
  const Result<Plan> plan = Toy().Build();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  const Result<Plan> again = Plan::Parse(plan->Serialize(), "toy.pb");
  REQUIRE(again.ok());
  CHECK(again->digest() == plan->digest());
  CHECK(again->Serialize() == plan->Serialize());
  CHECK(again->ToText() == plan->ToText());
  CHECK(plan->model() == "toy");
}

TEST_CASE("the text of a plan has a line for every group", "[plan][builder]") {
  const Result<Plan> plan = Toy().Build();
  REQUIRE(plan.ok());
  CHECK_THAT(plan->ToText(),
             Catch::Contains("    group ffn ops mm gelu placement preferred matrix:0 shards 1 "
                             "kernel ffn_s512 profile 1\n"));
  CHECK_THAT(plan->ToText(), Catch::Contains("  variant s512 seq=[1, 384, 512] padded "
                                             "batch=[1, 32, 32] dynamic/1\n"));
}

TEST_CASE("an output has the shape that the work implies", "[plan][builder]") {
  PlanBuilder b("shapes", Producer{"t", "1"});
  const Size n = b.Dim("n", {1, 8}, BatchRule::kCount);
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kInt8, {n, 56, 56, 64});
  const OpRef conv = e.Op("conv", Conv{n, 56, 56, 64, 128, 3, 3, 2, 1, 1, 1}, {x});
  const OpRef heads = e.Op("heads", Gemm{10, 20, 30, n * 4}, {conv});
  const OpRef sum = e.Op("sum", Reduce{n * 800, n}, {heads}).As(DType::kF32, {n, 1});
  e.Op("copy", Move{n * 4}, {sum});
  const Result<Plan> plan = std::move(b).Build();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  const std::vector<std::int64_t> dims = {2};
  CHECK(TensorOf(*plan, "conv").Bytes(dims) == 2 * 28 * 28 * 128);
  CHECK(TensorOf(*plan, "heads").Bytes(dims) == 2 * 4 * 10 * 20);
  CHECK(TensorOf(*plan, "sum").Bytes(dims) == 2 * 4);
  CHECK(TensorOf(*plan, "copy").Bytes(dims) == 2 * 4);
}

TEST_CASE("what no operator reads is an output", "[plan][builder]") {
  const Result<Plan> plan = Toy().Build();
  REQUIRE(plan.ok());
  CHECK(TensorOf(*plan, "mm").kind == plan::TensorKind::kActivation);
  CHECK(TensorOf(*plan, "gelu").kind == plan::TensorKind::kOutput);
}

TEST_CASE("calls, states, control edges and elided operators can be built", "[plan][builder]") {
  PlanBuilder b("all", Producer{"t", "1"});
  const Size seq = b.Dim("seq", {1, 64}, BatchRule::kMax);
  b.Expect({{"seq", 32}}, 1);
  b.Annotate("team", "nlp");
  EntryRef layer = b.InternalEntry("layer");
  const TensorRef in = layer.Input("in", DType::kBf16, {seq, 8});
  const TensorRef cache = layer.State("cache", DType::kBf16, {64, 8});
  const OpRef append = layer.Op("append", Move{seq * 16}, {in}).Updates(cache);
  const OpRef out = layer.Op("out", Custom{seq * 100, seq * 16}, {in, cache}).After({append});
  layer.Variant("v").Group("g", {append, out}).Any("matrix").Shards(Min(seq, 4)).Tiling(8, 8, 8);

  EntryRef main = b.Entry("main");
  const TensorRef x = main.Input("x", DType::kBf16, {seq, 8});
  const OpRef view = main.Op("view", Move{0}, {x}).Kind("reshape");
  const OpRef loop = main.Op("loop", Call{"layer", 4}, {view});
  main.Variant("v")
      .Dynamic(seq, 1, 32, 64, 8)
      .Require(Mod(seq, 8), 0, 7)
      .Elide(view, "a view")
      .Group("loop", {loop})
      .Annotate("why", "alone");
  const Result<Plan> plan = std::move(b).Build();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  const plan::Group& group = plan->body()->entries[0].variants[0].groups[0];
  CHECK(group.ops.size() == 2);
  CHECK(group.shards(std::vector<std::int64_t>{3}) == 3);
}

TEST_CASE("building reports every finding with its path", "[plan][builder]") {
  PlanBuilder b("bad", Producer{"t", "1"});
  const Size seq = b.Dim("seq", {1, 64}, BatchRule::kMax);
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kBf16, {seq - 2});
  const OpRef y = e.Op("y", Vector{seq}, {x});
  e.Variant("v").Envelope(seq, 1, 64, 65).Group("g", {y}).Pin("");
  const Status status = std::move(b).Build().status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains("bad: tensors[0].shape[0]: "));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("bad: entries[0].variants[0].envelope[0].max: "));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("bad: entries[0].variants[0].fusion_groups[0].placement.cores: "));
}

TEST_CASE("a handle of another builder or entry is a finding", "[plan][builder]") {
  PlanBuilder a("a", Producer{"t", "1"}), b("b", Producer{"t", "1"});
  const TensorRef x = a.Entry("main").Input("x", DType::kF32, {1});
  EntryRef e = b.Entry("main"), f = b.Entry("other");
  const OpRef y = e.Op("y", Vector{1}, {x});
  f.Variant("v").Group("g", {y}).Prefer("matrix:one");
  const Status status = std::move(b).Build().status();
  CHECK_THAT(std::string(status.message()), Catch::Contains("belongs to another builder"));
  CHECK_THAT(std::string(status.message()), Catch::Contains("belongs to another entry"));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("core \"matrix:one\" is neither CLASS nor CLASS:INDEX"));
}

TEST_CASE("sizes keep the order of operations", "[plan][builder]") {
  const Size a = Size::Named("a"), b = Size::Named("b");
  CHECK(((a + b) * 2).text() == "(a + b) * 2");
  CHECK((a - (b - 1)).text() == "a - (b - 1)");
  CHECK((a - b - 1).text() == "a - b - 1");
  CHECK((a * (b * 2)).text() == "a * (b * 2)");
  CHECK(CeilDiv(a + 1, Max(b, 2)).text() == "(a + 1) ceildiv max(b, 2)");
  CHECK((FloorDiv(a, b) + Mod(a, b)).text() == "a floordiv b + a mod b");
}

}  // namespace
}  // namespace leeway
