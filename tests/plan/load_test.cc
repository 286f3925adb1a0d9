#include "plan/load.h"

#include <ctime>
#include <string>

#include "leeway/plan.h"
#include "leeway/plan_builder.h"
#include "plan/reader.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

constexpr char kMinimal[] = R"(
  header { model: "m" }
  tensors { name: "x" kind: INPUT dtype: F32 shape: "4" }
  tensors { name: "y" kind: OUTPUT dtype: F32 shape: "4" }
  entries { name: "main"
    operators { name: "a" inputs: "x" outputs: "y" }
    variants { name: "v" fusion_groups { name: "g" ops: "a" profile { points { p50_ns: 5 } } } } })";

TEST_CASE("a plan of one opaque operator with a measured profile loads", "[plan]") {
  const auto body = Load(kMinimal);
  CHECK(body->entries[0].variants[0].groups[0].profile[0].p50_ns == 5);
}

TEST_CASE("truncated bytes are data loss, wherever they end", "[plan][hostile]") {
  const std::string bytes = Encode(kMinimal);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Result<Loaded> loaded = LoadPlan(std::string_view(bytes).substr(0, size), "cut.pb");
    if (loaded.ok()) {
      // The cut fell between two fields of the plan.
      CHECK_FALSE(loaded->check.ok);
      continue;
    }
    CHECK(loaded.status().code() == StatusCode::kDataLoss);
    CHECK_THAT(std::string(loaded.status().message()),
               Catch::StartsWith("cut.pb: not a leeway.plan.v1.Plan: "));
  }
}

TEST_CASE("a plan that needs a newer reader is refused as that", "[plan]") {
  const std::string bytes = Encode("header { model: \"m\" min_reader_version: 7 }");
  const Result<Loaded> loaded = LoadPlan(bytes, "new.pb");
  CHECK(loaded.status().code() == StatusCode::kFailedPrecondition);
  CHECK(loaded.status().message() ==
        "new.pb: header.min_reader_version: the plan needs a reader of schema version 7; this one "
        "reads up to 1");
}

TEST_CASE("a name that is not UTF-8 is a finding of its field", "[plan][hostile]") {
  std::string bytes = Encode(kMinimal);
  const std::size_t at = bytes.find("main");
  bytes[at] = '\xff';
  CHECK_THAT(FindingsOf(bytes),
             Catch::Contains("entries[0].name: text \"\\xffain\" is not UTF-8 without NUL"));
}

TEST_CASE("text is clean if it is UTF-8 without NUL", "[plan]") {
  CHECK(IsCleanText("grüße, 世界, 🚀"));
  CHECK_FALSE(IsCleanText(std::string_view("a\0b", 3)));
  CHECK_FALSE(IsCleanText("\xc0\x80"));          // overlong
  CHECK_FALSE(IsCleanText("\xed\xa0\x80"));      // surrogate
  CHECK_FALSE(IsCleanText("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(IsCleanText("\xe4\xb8"));          // cut short
}

TEST_CASE("when and from what a plan was made does not change its digest", "[plan]") {
  const auto with = [](const std::string& fields) {
    std::string text = kMinimal;
    return text.insert(text.find("model:"), fields + " ");
  };
  const std::string text = kMinimal;
  const std::string stamped =
      with("created_unix_ns: 123 parent: \"01234567890123456789012345678901\"");
  CHECK(Load(stamped)->digest == Load(text)->digest);
  CHECK(Load(stamped)->serialized != Load(text)->serialized);
  CHECK(Load(with("producer: \"p\""))->digest != Load(text)->digest);
}

TEST_CASE("unknown fields survive a round trip and count in the digest", "[plan]") {
  const std::string bytes = Encode(kMinimal) + std::string("\xfa\x3e\x03xyz", 6);
  const auto body = LoadValidPlan(bytes, "future.pb");
  REQUIRE(body.ok());
  CHECK_THAT((*body)->serialized, Catch::EndsWith("xyz"));
  CHECK((*body)->digest != Load(kMinimal)->digest);
}

TEST_CASE("a thousand findings are reported in full and the rest counted", "[plan]") {
  std::string text = "header { model: \"m\" } entries { name: \"main\" ";
  for (int i = 0; i < 1500; ++i) {
    text += "operators { name: \"o" + std::to_string(i) + "\" inputs: \"ghost\" }";
  }
  const Result<Loaded> loaded = LoadPlan(Encode(text + "}"), "many.pb");
  REQUIRE(loaded.ok());
  CHECK(loaded->check.findings.size() == CheckResult::kMaxFindings);
  CHECK(loaded->check.total >= 1500);
  CHECK_FALSE(loaded->check.ok);
}

TEST_CASE("a tensor that only holds the scales of another is used", "[plan]") {
  std::string text = kMinimal;
  const std::string input = "kind: INPUT dtype: F32 shape: \"4\"";
  text.insert(text.find(input) + input.size(), " quant { scale_tensor: \"s\" }");
  const std::string scales = R"( tensors { name: "s" kind: WEIGHT dtype: F32 shape: "1" } )";
  text.insert(text.find("entries"), scales);
  CHECK(FindingsOf(Encode(text)).empty());
}

TEST_CASE("an entry without variants loads with a warning", "[plan]") {
  const std::string bytes = Encode(R"(header { model: "m" } entries { name: "main" })");
  const Result<Loaded> loaded = LoadPlan(bytes, "graph.pb");
  REQUIRE(loaded.ok());
  CHECK(loaded->body != nullptr);
  REQUIRE(loaded->check.findings.size() == 1);
  CHECK(loaded->check.findings[0].severity == Severity::kWarning);
}

TEST_CASE("too many dimensions are refused", "[plan][hostile]") {
  std::string text = R"(header { model: "m" } entries { name: "main" })";
  for (int i = 0; i < 100; ++i) text += "dims { name: \"d" + std::to_string(i) + "\" max: 1 }";
  CHECK_THAT(FindingsOf(Encode(text)), Catch::Contains("dims: 100 dimensions exceed 64"));
}

// A plan whose unfused groups form a chain with skips.
std::string Chain(int operators) {
  PlanBuilder b("chain", Producer{"t", "1"});
  const Size n = b.Dim("n", {1, 32}, BatchRule::kCount);
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kBf16, {n, 64});
  std::vector<OpRef> ops;
  for (int i = 0; i < operators; ++i) {
    std::vector<TensorRef> inputs = {ops.empty() ? x : TensorRef(ops.back())};
    if (ops.size() > 8) inputs.push_back(ops[ops.size() - 8]);
    const OpRef op = e.Op("op_" + std::to_string(i), leeway::Vector{n * 64, 2}, inputs);
    ops.push_back(op.As(DType::kBf16, {n, 64}));
  }
  VariantRef v = e.Variant("v");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    v.Group("group_" + std::to_string(i), {ops[i]}).Prefer("matrix:0");
  }
  return std::move(b).Build().value().Serialize();
}

TEST_CASE("a hundred thousand operators load in linear time", "[plan][hostile]") {
  const std::string bytes = Chain(100'000);
  const std::clock_t start = std::clock();
  const auto body = LoadValidPlan(bytes, "big.pb");
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  REQUIRE(body.ok());
  CHECK((*body)->entries[0].variants[0].groups.size() == 100'000);
  // CPU time. A quadratic step would take minutes; sanitizers get their share.
  CHECK(seconds < 20);
}

TEST_CASE("slots of a tensor whose shape takes long to compute end in bounded time",
          "[plan][hostile]") {
  // Each variant is some forty bytes and refers to 40 extents of a thousand instructions.
  std::string extent = "min(n, 1)";
  for (int i = 0; i < 250; ++i) extent += " * min(n, 1)";
  std::string text =
      "header { model: \"m\" } dims { name: \"n\" min: 1 max: 2 }"
      "tensors { name: \"x\" kind: INPUT dtype: F32 ";
  for (int i = 0; i < 40; ++i) text += "shape: \"" + extent + "\" ";
  text += "}";
  for (int e = 0; e < 4; ++e) {
    text += "entries { name: \"e" + std::to_string(e) + "\"";
    for (int v = 0; v < 1000; ++v) {
      text += "variants { name: \"v" + std::to_string(v) +
              "\" arenas { name: \"a\" bytes: \"4\" slots { tensor: \"x\" } } }";
    }
    text += "}";
  }
  const std::string bytes = Encode(text);
  const std::clock_t start = std::clock();
  const std::string findings = FindingsOf(bytes);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK_THAT(findings, Catch::Contains("tensor \"x\" cannot be shown to fit"));
  CHECK(seconds < 20);
}

TEST_CASE("a warning is no error, and a check without a device needs none", "[plan]") {
  const Result<Plan> plan = Plan::Parse(Encode(kMinimal), "minimal.pb");
  REQUIRE(plan.ok());
  CHECK(plan->digest().size() == 64);
  CHECK(Plan::Load("/nonexistent/plan.pb").status().code() == StatusCode::kNotFound);
  CHECK(Plan::Load("bert_base").ok());
}

}  // namespace
}  // namespace leeway::plan
