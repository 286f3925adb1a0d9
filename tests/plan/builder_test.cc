#include "leeway/plan_builder.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/body.h"
#include "tests/catch.h"
#include "tests/plan/schema_fields.h"

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

// Every part of a plan that the schema knows, in the order of a compiler's output.
PlanBuilder Everything() {
  const std::string digest(64, 'a');
  PlanBuilder b("everything", Producer{"mycc", "1.4"});
  b.Target(digest);
  b.Parent(digest);
  b.Created(1'700'000'000s);
  b.Annotate("flags", "-O3");
  const Size seq = b.Dim("seq", {1, 1024}, BatchRule::kMax);
  const Size n = b.Dim("n", {1, 16}, BatchRule::kCount);
  const Size hits = b.Dim("hits", {0, 64}, BatchRule::kMax);
  b.SequenceDim("position", {1, 1024}, BatchRule::kEqual);
  b.Expect({{"seq", 128}, {"n", 4}, {"hits", 8}, {"position", 1}}, 1);
  b.ExpectedBy("made up");

  EntryRef body = b.InternalEntry("body");
  const TensorRef cache = body.State("cache", DType::kBf16, {n, 1024, 64});
  const OpRef step = body.Op("step", Vector{n * 64, 2}, {cache}).Updates(cache);
  body.Variant("v").Group("step", {step}).Predict(n * 40 + 100);

  EntryRef e = b.Entry("main").Annotate("computation", "main.7");
  const TensorRef x = e.Input("x", DType::kBf16, {n, seq, 64}).In(MemorySpace::kHost);
  const TensorRef scales = e.Weight("scales", DType::kF8E8M0, {64, 2});
  const TensorRef zeros = e.Weight("zeros", DType::kUint8, {64, 2});
  const TensorRef w = e.Weight("w", DType::kInt4, {64, 64})
                          .Quantize({.axis = 1, .block = 32, .scale_dtype = DType::kF8E8M0})
                          .ScaledBy(scales)
                          .ShiftedBy(zeros)
                          .Sparse(2, 4)
                          .Holds(digest)
                          .Annotate("name", "layer.0");
  const TensorRef f =
      e.Weight("f", DType::kInt8, {3, 1, 64, 8}).Quantize({.scale = {0.5}, .zero_point = {3}});
  const OpRef mm = e.Op("mm", Gemm{seq, 64, 64, n, 0.5}, {x, w, scales, zeros})
                       .As(DType::kBf16, {n, seq, 64})
                       .Annotate("loc", "a.mlir:7");
  const TensorRef half = e.Input("half", DType::kBf16, {n, seq, 32}).ViewOf(mm, n * seq * 64);
  const OpRef pick = e.Op("pick", Reduce{n * seq * 64, n}, {mm}).Kind("nonzero");
  const TensorRef index = pick.Output("index", DType::kInt32, {hits});
  pick.Produces(hits, 1);
  const OpRef conv = e.Op("conv", Conv{n, seq, 1, 64, 8, 3, 1, {2, 1}, 1, 1}, {x, f});
  const OpRef move = e.Op("move", Move{hits * 64, 64}, {half, index});
  const OpRef sum =
      e.Op("sum", Collective{CollectiveKind::kAllReduce, 64, 2, {{0, 1}, {2, 3}}}, {move, conv});
  const OpRef send = e.Op("send", Send{64, "stage 1", "3"}, {sum}).SideEffects();
  const OpRef take = e.Op("take", Receive{64, "stage 1", "4"}, {send}).After({send});
  const OpRef host = e.Op("host", HostWork{2us}, {take});
  const OpRef view = e.Op("view", Custom{hits, hits * 4}, {host});
  const OpRef loop = e.Op("loop", Call{"body", CeilDiv(seq, 128)}, {view});
  e.Variant("v")
      .Dynamic(seq, 1, 256, 512, 64)
      .Envelope(n, 1, 4, 8)
      .Require(seq * n, 1, 4096, 1)
      .Require(seq, 1, 512, 1)
      .Require(n, 1, 16, 2)
      .Elide(view, "a view")
      .Layout(w, {.minor_to_major = {0, 1},
                  .tiles = {{8, 64}, {2, 1}},
                  .element_bits = 8,
                  .memory = MemorySpace::kSram})
      .Resident(w, "matrix")
      .Order("matrix:1", {"front"})
      .Order("1/matrix:2", {"rest"})
      .Wait("rest", "front")
      .Compute({.compute = DType::kBf16, .uses_sparsity = true, .notes = {{"rounding", "even"}}})
      .Arena("temporaries", n * seq * 256, {{mm}, {conv, n * seq * 128}})
      .Annotate("profile", "0")
      .Group("front", {mm, pick})
      .Kind("kOutput")
      .Tiling(128, 64, 64)
      .Shards(Min(4, n))
      .Kernel("fused_dot", n * 4096)
      .Blob(digest)
      .Launch({.grid = {CeilDiv(seq, 128), n},
               .block = {128},
               .shared_memory_bytes = 49152,
               .cluster = {2}})
      .Prefer("0/matrix:1")
      .Work({n * seq, n * 64, n * 64, 4096})
      .Compute({.compute = DType::kTf32})
      .Predict({{"seq", 256}}, {.p50 = 41us,
                                .p90 = 45us,
                                .dram_bytes = 100,
                                .sram_peak_bytes = 50,
                                .source = "measured",
                                .samples = 9})
      .Annotate("tactic", "0x21")
      .Group("rest", {mm, conv, move, sum, send, take})
      .Recompute({mm})
      .Group("host", {host})
      .Group("loop", {loop});
  return b;
}

TEST_CASE("every field of the schema can be built", "[plan][builder]") {
  const Result<Plan> plan = Everything().Build();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  const std::set<std::string> set = plan::SetFields(Schema::kPlan, plan->Serialize());
  CHECK(plan::MissingFields(Schema::kPlan, set) == std::vector<std::string>{});
}

TEST_CASE("a digest that is none and a dimension that is none are findings", "[plan][builder]") {
  PlanBuilder b("bad", Producer{"t", "1"});
  b.Target("12ab");
  b.Parent(std::string(64, 'x'));
  const Size n = b.Dim("n", {1, 8}, BatchRule::kCount);
  EntryRef e = b.Entry("main");
  e.Op("y", Vector{n}, {e.Input("x", DType::kF32, {n})}).Produces(n * 2);
  const Status status = std::move(b).Build().status();
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("bad: digest \"12ab\" is not 64 lower-case hexadecimal digits"));
  CHECK_THAT(std::string(status.message()), Catch::Contains("bad: digest \"xxxx"));
  CHECK_THAT(
      std::string(status.message()),
      Catch::Contains("bad: dims: operator \"y\" produces \"n * 2\", which is no dimension"));
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
