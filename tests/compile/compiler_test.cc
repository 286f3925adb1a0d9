#include "compile/compiler.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "device/plan_fit.h"
#include "plan/load.h"
#include "tests/catch.h"
#include "tests/compile/support/models.h"
#include "tests/plan/text_plan.h"

namespace leeway::compile {
namespace {

using Edges = std::vector<std::int64_t>;
using testing::Device;
using testing::Model;
using testing::ModelShape;

Compiler MakeCompiler(const Model& model, const Device& device,
                      const CompilerOptions& options = {}) {
  Result<Compiler> compiler = Compiler::Create(model, device, options);
  INFO(compiler.status().ToString());
  REQUIRE(compiler.ok());
  return *std::move(compiler);
}

Model Compiled(Compiler& compiler, const Edges& edges) {
  Result<Model> body = compiler.Compile(edges);
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  return *body;
}

Status RefusedBy(const Model& model, const Device& device, const CompilerOptions& options = {}) {
  return Compiler::Create(model, device, options).status();
}

std::string MessageOf(const Status& status) { return std::string(status.message()); }

ModelShape RandomShape(std::uint64_t seed) {
  return {.operators = 4 + static_cast<std::uint32_t>(seed % 23),
          .max_seq = seed % 3 == 0 ? 4096 : 512,
          .calls = seed % 2 == 1};
}

Device RandomDevice(std::uint64_t seed) {
  return seed % 4 == 3 ? testing::MixedDevice() : testing::ShippedDevice();
}

// A text plan of one entry over dims seq in [1, 64] and batch in [1, 4].
Model TextModel(const std::string& rest) {
  return plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 1 max: 64 batch_rule: MAX }
    dims { name: "batch" min: 1 max: 4 batch_rule: COUNT }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["batch", "seq", "256"] }
    tensors { name: "y" kind: ACTIVATION dtype: BF16 shape: ["batch", "seq", "256"] }
    tensors { name: "z" kind: OUTPUT dtype: BF16 shape: ["batch", "seq", "256"] })" +
                    rest);
}

TEST_CASE("compiled variants of random models cover every operator once and load again",
          "[compile][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  const Model model = testing::RandomModel(seed, RandomShape(seed));
  Compiler compiler = MakeCompiler(model, RandomDevice(seed));
  const Edges edges = {1, 7, 128, 300, compiler.domain().max};
  const Model plan = Compiled(compiler, edges);
  for (const plan::Entry& entry : plan->entries) {
    REQUIRE(entry.variants.size() == edges.size());
    for (std::size_t v = 0; v < edges.size(); ++v) {
      CHECK(entry.variants[v].name == "s" + std::to_string(edges[v]));
      std::multiset<plan::Index> covered;
      for (const plan::Group& group : entry.variants[v].groups) {
        covered.insert(group.ops.begin(), group.ops.end());
      }
      std::multiset<plan::Index> once;
      for (plan::Index op = 0; op < entry.operators.size(); ++op) once.insert(op);
      CHECK(covered == once);
    }
  }
  // The loader refuses groups that need their own output.
  const auto again = plan::LoadValidPlan(plan->serialized, "again");
  REQUIRE(again.ok());
  CHECK((*again)->digest == plan->digest);
  CHECK(plan->digest != model->digest);
  for (const Finding& finding :
       device::CheckFit(*plan, *RandomDevice(seed), RandomDevice(seed)->core_count())) {
    FAIL_CHECK(finding.path << ": " << finding.message);
  }
}

TEST_CASE("the core time of an edge is what the scheduler makes of its variant",
          "[compile][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  const Device device = RandomDevice(seed);
  Compiler compiler = MakeCompiler(testing::RandomModel(seed, RandomShape(seed)), device);
  for (const std::int64_t edge : Edges{1, 5, 100, 128, 129, 512}) {
    CAPTURE(edge);
    const Model plan = Compiled(compiler, {edge});
    const Edges dims = {edge, 1};
    const auto costed = testing::CostOf(*plan, *device, "main", "s" + std::to_string(edge), dims);
    CHECK(compiler.CoreTime(edge).value() == costed.core_time);
  }
}

TEST_CASE("what is not fused costs the same unfused, and fusing a prefill saves core time",
          "[compile]") {
  const Model lone = TextModel(R"(
    entries { name: "main"
      operators { name: "a" inputs: "x" outputs: ["y", "z"]
        work { vector { elements: "batch * seq * 256" ops_per_element: 4 } } } })");
  Compiler compiler = MakeCompiler(lone, testing::ShippedDevice());
  for (const std::int64_t length : {1, 17, 64}) {
    CHECK(compiler.UnfusedTime(length).value() == compiler.CoreTime(length).value());
  }
  CHECK(compiler.UnfusedTime(65).status().code() == StatusCode::kInvalidArgument);
  Compiler prefill =
      MakeCompiler(testing::ShippedModel("llama2_7b_prefill"), testing::ShippedDevice());
  for (const std::int64_t length : {32, 512, 4096}) {
    CHECK(prefill.UnfusedTime(length).value() > prefill.CoreTime(length).value());
  }
}

TEST_CASE("how an edge is mapped does not depend on the other edges", "[compile][property]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  const Model model = testing::RandomModel(seed, RandomShape(seed));
  const Device device = RandomDevice(seed);
  Compiler several = MakeCompiler(model, device);
  const Model together = Compiled(several, {9, 200, 400});
  Compiler one = MakeCompiler(model, device);
  const Model alone = Compiled(one, {200});
  // Compared as the plans that each variant by itself makes.
  CHECK(Compiled(several, {200})->digest == alone->digest);
  for (std::size_t e = 0; e < model->entries.size(); ++e) {
    const plan::Variant& a = together->entries[e].variants[1];
    const plan::Variant& b = alone->entries[e].variants[0];
    REQUIRE(a.name == b.name);
    REQUIRE(a.groups.size() == b.groups.size());
    for (std::size_t g = 0; g < a.groups.size(); ++g) CHECK(a.groups[g].ops == b.groups[g].ops);
  }
}

TEST_CASE("the same request gives the same bytes", "[compile][property]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  const Device device = RandomDevice(seed);
  Compiler first = MakeCompiler(testing::RandomModel(seed, RandomShape(seed)), device);
  Compiler second = MakeCompiler(testing::RandomModel(seed, RandomShape(seed)), device);
  // What was asked before changes nothing.
  Compiled(second, {64, 65});
  CHECK(Compiled(first, {64, 512})->serialized == Compiled(second, {64, 512})->serialized);
}

TEST_CASE("a profile predicts its edge at batches of powers of two up to the variant's own",
          "[compile]") {
  Compiler compiler = MakeCompiler(testing::ShippedModel("llama2_7b_prefill"),
                                   testing::ShippedDevice(), {.max_batch = 6});
  const Model plan = Compiled(compiler, {256});
  const plan::Entry& layer = plan->entries[plan->FindEntry("layer").value()];
  REQUIRE(layer.variants.size() == 1);
  CHECK(layer.variants[0].envelope[1].max == 6);
  CHECK(layer.variants[0].envelope[1].opt == 1);
  CHECK(layer.variants[0].envelope[0].opt == 256);
  for (const plan::Group& group : layer.variants[0].groups) {
    CAPTURE(group.name);
    std::vector<std::int64_t> batches;
    for (const plan::ProfilePoint& point : group.profile) {
      CHECK(point.dims[0] == 256);
      CHECK(point.p50_ns > 0);
      batches.push_back(point.dims[1]);
    }
    CHECK(batches == Edges{1, 2, 4, 6});
    CHECK(!group.kernel_key.empty());
    CHECK(group.placement.mode == plan::PlacementMode::kPreferred);
    CHECK(group.placement.cores.size() == 4);
  }
}

TEST_CASE("batches shrink where the runs beside each other would not fit the DRAM", "[compile]") {
  const Model model = testing::ShippedModel("llama2_7b_prefill");
  const Device device = testing::ShippedDevice();
  std::int64_t last = 8;
  for (const int runs : {1, 4, 8}) {
    Compiler compiler = MakeCompiler(model, device, {.concurrent_runs = runs});
    const Model plan = Compiled(compiler, {16'384});
    CHECK(device::CheckFit(*plan, *device, runs).empty());
    const std::int64_t batch = plan->entries[0].variants[0].envelope[1].max;
    CHECK(batch <= last);
    last = batch;
  }
  CHECK(last < 8);
  Compiler compiler = MakeCompiler(model, device, {.concurrent_runs = 64});
  const Status status = compiler.Compile(Edges{32'768}).status();
  CHECK(status.code() == StatusCode::kResourceExhausted);
  CHECK_THAT(MessageOf(status), Catch::Contains("bucket 32768") && Catch::Contains("DRAM"));
}

TEST_CASE("edges outside the domain, repeated, falling or missing are refused", "[compile]") {
  Compiler compiler =
      MakeCompiler(testing::ShippedModel("llama2_7b_prefill"), testing::ShippedDevice());
  const auto refused = [&](const Edges& edges) {
    const Status status = compiler.Compile(edges).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    return MessageOf(status);
  };
  CHECK(refused({}) == "no bucket edges");
  CHECK(refused({0}) == "bucket edge 0 leaves the domain [1, 32768] of dim \"seq\"");
  CHECK(refused({1, 32'769}) == "bucket edge 32769 leaves the domain [1, 32768] of dim \"seq\"");
  CHECK(refused({8, 8}) == "bucket edge 8 does not rise above the one before it, 8");
  CHECK(refused({8, 4}) == "bucket edge 4 does not rise above the one before it, 8");
  CHECK(compiler.CoreTime(32'769).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("an entry or a dim that is missing, ambiguous or unfit is refused by name", "[compile]") {
  const Model llama = testing::ShippedModel("llama2_7b_prefill");
  const Device device = testing::ShippedDevice();
  CHECK(RefusedBy(llama, device, {.entry = "decode"}) ==
        Status(StatusCode::kNotFound, "the model has no entry \"decode\""));
  CHECK(RefusedBy(llama, device, {.entry = "layer"}) ==
        Status(StatusCode::kInvalidArgument, "entry \"layer\" is internal: only a call runs it"));
  CHECK(RefusedBy(llama, device, {.dim = "tokens"}) ==
        Status(StatusCode::kNotFound, "the model has no dim \"tokens\""));
  CHECK(RefusedBy(llama, device, {.dim = "batch"}) ==
        Status(StatusCode::kInvalidArgument, "dim \"batch\" is a batch dim: it is never padded"));
  CHECK(RefusedBy(llama, device, {.max_batch = 0}).code() == StatusCode::kInvalidArgument);
  CHECK(RefusedBy(llama, device, {.concurrent_runs = -1}).code() == StatusCode::kInvalidArgument);

  const Model two = plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "height" min: 1 max: 64 }
    dims { name: "width" min: 1 max: 64 }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["height", "width"] }
    tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["height", "width"] }
    tensors { name: "z" kind: OUTPUT dtype: BF16 shape: ["height", "width"] }
    entries { name: "a" operators { name: "f" inputs: "x" outputs: "y"
      work { vector { elements: "height * width" ops_per_element: 1 } } } }
    entries { name: "b" operators { name: "g" inputs: "x" outputs: "z"
      work { vector { elements: "height * width" ops_per_element: 1 } } } })");
  CHECK(RefusedBy(two, device) ==
        Status(StatusCode::kInvalidArgument,
               "the model has several entries, \"a\" and \"b\": name one"));
  CHECK(RefusedBy(two, device, {.entry = "a"}) ==
        Status(StatusCode::kInvalidArgument,
               "the model has several dims to bucket, name one of: height, width"));
  CHECK(RefusedBy(two, device, {.entry = "a", .dim = "width"}).ok());
}

TEST_CASE("a model with work that no core can do is refused", "[compile]") {
  device::Spec vectors = *testing::ShippedDevice();
  vectors.classes[0].arrays = 0;
  const auto device = std::make_shared<const device::Spec>(vectors);
  const Status status = RefusedBy(testing::ShippedModel("bert_base"), device);
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("needs a matrix unit"));

  const Model host = TextModel(R"(
    entries { name: "main"
      operators { name: "f" inputs: "x" outputs: "z" work { host { nanoseconds: 5 } } } })");
  const Status unmodelled = RefusedBy(host, testing::ShippedDevice());
  CHECK(unmodelled.code() == StatusCode::kUnimplemented);
  CHECK_THAT(MessageOf(unmodelled), Catch::Contains("operator \"f\"") && Catch::Contains("HOST"));
}

TEST_CASE("work that the model states of an operator is kept, and the operator stays alone",
          "[compile]") {
  Compiler compiler =
      MakeCompiler(testing::ShippedModel("llama2_7b_prefill"), testing::ShippedDevice());
  const Model plan = Compiled(compiler, {512});
  const plan::Group& embed = plan->entries[0].variants[0].groups[0];
  REQUIRE(embed.name == "embed");
  REQUIRE(embed.work.has_value());
  const Edges dims = {512, 2};
  CHECK(embed.work->read_bytes(dims) == 512 * 2 * 8196);
  CHECK(embed.work->write_bytes(dims) == 512 * 2 * 8192);
}

TEST_CASE("measured times of operators that say nothing of their work are kept, of all variants",
          "[compile]") {
  const Model model = TextModel(R"(
    entries { name: "main"
      operators { name: "engine" inputs: "x" outputs: "y" }
      operators { name: "after" inputs: "y" outputs: "z"
        work { vector { elements: "batch * seq * 256" ops_per_element: 1 } } }
      variants { name: "short"
        envelope { dim: "seq" min: 1 opt: 16 max: 16 }
        fusion_groups { name: "e" ops: "engine" shards: "2" profile { points {
          dims { dim: "seq" value: 16 } dims { dim: "batch" value: 1 } p50_ns: 20000 } } }
        fusion_groups { name: "a" ops: "after" } }
      variants { name: "long"
        fusion_groups { name: "e" ops: "engine" shards: "2" profile { points {
          dims { dim: "seq" value: 64 } dims { dim: "batch" value: 1 } p50_ns: 50000 } } }
        fusion_groups { name: "a" ops: "after" } } })");
  const Device device = testing::ShippedDevice();
  Compiler compiler = MakeCompiler(model, device);
  const Model plan = Compiled(compiler, {40});
  const plan::Group& engine = plan->entries[0].variants[0].groups[0];
  REQUIRE(engine.ops.size() == 1);
  REQUIRE(engine.profile.size() == 2);
  CHECK(engine.profile[0].p50_ns == 20'000);
  CHECK(engine.profile[1].p50_ns == 50'000);
  const Edges dims = {40, 1};
  CHECK(engine.shards(dims) == 2);
  const auto costed = testing::CostOf(*plan, *device, "main", "s40", dims);
  CHECK(compiler.CoreTime(40).value() == costed.core_time);
  CHECK(costed.core_time > Nanos{2 * 35'000});
}

TEST_CASE("other entries keep their variants unless they call what was mapped anew", "[compile]") {
  const std::string text = R"(
    entries { name: "main"
      operators { name: "run" inputs: "x" outputs: "z" work { call { entry: "body" times: "2" } } }
      variants { name: "v" fusion_groups { name: "run" ops: "run" } } }
    entries { name: "body" internal: true
      operators { name: "f" inputs: "x" outputs: "y"
        work { vector { elements: "batch * seq * 256" ops_per_element: 1 } } }
      variants { name: "v" fusion_groups { name: "f" ops: "f" } } }
    entries { name: "caller"
      operators { name: "again" inputs: "x" outputs: "z" work { call { entry: "body" times: "1" } } }
      variants { name: "v" fusion_groups { name: "again" ops: "again" } } }
    entries { name: "other"
      operators { name: "g" inputs: "x" outputs: "z"
        work { vector { elements: "batch * seq * 256" ops_per_element: 1 } } }
      variants { name: "v" fusion_groups { name: "g" ops: "g" } } })";
  const Model model = TextModel(text);
  Compiler compiler = MakeCompiler(model, testing::ShippedDevice(), {.entry = "main"});
  const Model plan = Compiled(compiler, {8, 64});
  const auto variants = [&](const std::string& entry) {
    return plan->entries[plan->FindEntry(entry).value()].variants;
  };
  CHECK(variants("main").size() == 2);
  CHECK(variants("body").size() == 2);
  CHECK(variants("caller").empty());
  REQUIRE(variants("other").size() == 1);
  CHECK(variants("other")[0].name == "v");
}

TEST_CASE("a batch that fits operator by operator is not lost to fusing", "[compile]") {
  // Wide, narrow, wide: fused, a request holds both wide tensors at once.
  const Model model = plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 1 max: 1024 batch_rule: MAX }
    dims { name: "batch" min: 1 max: 64 batch_rule: COUNT }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["batch", "seq", "4096"] }
    tensors { name: "h" kind: ACTIVATION dtype: BF16 shape: ["batch", "seq", "16"] }
    tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["batch", "seq", "4096"] }
    entries { name: "main"
      operators { name: "narrow" inputs: "x" outputs: "h"
        work { reduce { elements: "batch * seq * 4096" outputs: "batch * seq * 16"
          ops_per_element: 1 } } }
      operators { name: "widen" inputs: "h" outputs: "y"
        work { vector { elements: "batch * seq * 4096" ops_per_element: 1 } } } })");
  constexpr std::int64_t kWide = 1024 * 4096 * 2, kWaist = 1024 * 16 * 2;
  device::Spec spec = *testing::ShippedDevice();
  const auto variant = [&](std::int64_t capacity) {
    spec.dram_capacity_bytes = capacity;
    Compiler compiler = MakeCompiler(model, std::make_shared<const device::Spec>(spec),
                                     {.max_batch = 64, .concurrent_runs = 1});
    return Compiled(compiler, {1024})->entries[0].variants[0];
  };
  const plan::Variant tight = variant(40 * (kWide + kWaist));
  CHECK(tight.groups.size() == 2);
  CHECK(tight.envelope[1].max == 40);
  const plan::Variant roomy = variant(64 * 2 * kWide);
  CHECK(roomy.groups.size() == 1);
  CHECK(roomy.envelope[1].max == 64);
}

}  // namespace
}  // namespace leeway::compile
