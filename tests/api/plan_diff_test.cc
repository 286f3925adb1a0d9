#include "leeway/plan_diff.h"

#include <set>
#include <string>
#include <vector>

#include "leeway/compile.h"
#include "leeway/plan_builder.h"
#include "tests/catch.h"

namespace leeway {
namespace {

using Catch::Matchers::Contains;
using Kind = PlanChangeKind;

// Two groups of one operator each, with predictions of their own at seq = 64.
Plan Toy(Nanos first, Nanos second, Nanos elsewhere = Nanos(5000)) {
  PlanBuilder builder("toy", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, 64}, BatchRule::kMax);
  const EntryRef entry = builder.Entry("main");
  const TensorRef x = entry.Input("x", DType::kF32, {seq});
  const OpRef a = entry.Op("a", Vector{seq, 1}, {x});
  const OpRef b = entry.Op("b", Vector{seq, 1}, {a});
  const VariantRef variant = entry.Variant("v").Dynamic(seq, 1, 32, 64, 1);
  variant.Group("ga", {a}).Predict({{"seq", 32}}, first).Predict({{"seq", 64}}, elsewhere);
  variant.Group("gb", {b}).Predict({{"seq", 32}}, second);
  return std::move(builder).Build().value();
}

std::vector<Kind> KindsOf(const PlanDiff& diff) {
  std::vector<Kind> kinds;
  for (const PlanChange& change : diff.changes) kinds.push_back(change.kind);
  return kinds;
}

TEST_CASE("a prediction that moves is told with its share, and so is the sum", "[api][diff]") {
  const Plan before = Toy(Nanos(1000), Nanos(3000)), after = Toy(Nanos(1500), Nanos(3000));
  const PlanDiff diff = Diff(before, after);
  REQUIRE(KindsOf(diff) == std::vector{Kind::kPrediction, Kind::kTotalPrediction});
  CHECK(diff.changes[0].ratio == 0.5);
  CHECK(diff.changes[0].text == "group \"main/v/ga\": predicted time 1000 ns -> 1500 ns (+50.0 %)");
  CHECK(diff.changes[1].ratio == 4500.0 / 4000 - 1);
  CHECK(diff.changes[1].text ==
        "variant \"main/v\": predicted time of all groups 4000 ns -> 4500 ns (+12.5 %)");
  const PlanDiff back = Diff(after, before);
  REQUIRE(KindsOf(back) == KindsOf(diff));
  CHECK(back.changes[0].before == diff.changes[0].after);
  CHECK(back.changes[0].ratio == 1000.0 / 1500 - 1);
}

TEST_CASE("predictions below the threshold are counted, from either side", "[api][diff]") {
  const Plan before = Toy(Nanos(1000), Nanos(3000)), after = Toy(Nanos(1500), Nanos(3000));
  // The group moves by 50 %, the sum by 12.5 %.
  const auto kinds = [&](double threshold) {
    const PlanDiff there = Diff(before, after, {.threshold = threshold}).value();
    const PlanDiff back = Diff(after, before, {.threshold = threshold}).value();
    CHECK(KindsOf(there) == KindsOf(back));
    CHECK(there.small_predictions == back.small_predictions);
    CHECK(there.changes.size() + there.small_predictions == 2);
    CHECK_FALSE(there.same_digest);
    return KindsOf(there);
  };
  CHECK(kinds(0.125).size() == 2);
  CHECK(kinds(0.13) == std::vector{Kind::kPrediction});
  CHECK(kinds(0.5) == std::vector{Kind::kPrediction});
  CHECK(kinds(0.51).empty());
}

TEST_CASE("a profile that changes away from where it is looked at is a change without a move",
          "[api][diff]") {
  const Plan before = Toy(Nanos(1000), Nanos(3000)),
             after = Toy(Nanos(1000), Nanos(3000), Nanos(1));
  const PlanDiff diff = Diff(before, after);
  REQUIRE(KindsOf(diff) == std::vector{Kind::kPrediction});
  CHECK(diff.changes[0].ratio == 0.0);
  CHECK_THAT(diff.changes[0].text, Contains("stays 1000 ns, profile "));
  // Looked at there, it moves.
  const PlanDiff there = Diff(before, after, {.at = {{"seq", 64}}}).value();
  REQUIRE(KindsOf(there) == std::vector{Kind::kPrediction, Kind::kTotalPrediction});
  CHECK(there.changes[0].text.find("5000 ns -> 1 ns") != std::string::npos);
}

TEST_CASE("with a device, what has no profile is compared by the model", "[api][diff]") {
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const auto plan = [](std::int64_t width) {
    PlanBuilder builder("toy", {"test", "1"});
    const EntryRef entry = builder.Entry("main");
    const TensorRef x = entry.Input("x", DType::kBf16, {512, 512});
    const TensorRef w = entry.Weight("w", DType::kBf16, {512, 512});
    const OpRef mm = entry.Op("mm", Gemm{512, 512, width}, {x, w});
    entry.Variant("v").Group("g", {mm});
    return std::move(builder).Build().value();
  };
  const Plan before = plan(512), after = plan(4096);
  CHECK(KindsOf(Diff(before, after)) == std::vector{Kind::kOperator});
  const PlanDiff diff = Diff(before, after, {.device = &device}).value();
  REQUIRE(KindsOf(diff) == std::vector{Kind::kOperator, Kind::kPrediction, Kind::kTotalPrediction});
  CHECK(*diff.changes[1].ratio > 0);
  CHECK(diff.changes[1].ratio == diff.changes[2].ratio);
}

TEST_CASE("shipped plans and what the compiler makes of them do not differ from themselves",
          "[api][diff]") {
  const std::string model = GENERATE("bert_base", "llama2_7b_prefill");
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const Plan plan = Plan::Load(model).value();
  const Plan compiled = Compile(plan, device, {.buckets = {64, 128}}).value();
  for (const Plan& one : {plan, compiled}) {
    const Plan again = Plan::Parse(one.Serialize(), "again").value();
    REQUIRE(again.digest() == one.digest());
    const PlanDiff diff = Diff(one, again, {.device = &device}).value();
    CHECK(diff.same_digest);
    CHECK(diff.changes.empty());
    CHECK(diff.small_predictions == 0);
  }
  CHECK_FALSE(Diff(plan, compiled).changes.empty());
}

TEST_CASE("dims and thresholds that mean nothing are refused", "[api][diff]") {
  const Plan plan = Toy(Nanos(1), Nanos(1));
  for (const double threshold : {-0.1, 1.0 / 0.0, 0.0 / 0.0}) {
    CHECK(Diff(plan, plan, {.threshold = threshold}).status().code() ==
          StatusCode::kInvalidArgument);
  }
  const Status unknown = Diff(plan, plan, {.at = {{"sec", 1}}}).status();
  CHECK_THAT(std::string(unknown.message()), Contains("neither plan has a dim \"sec\""));
  CHECK(Diff(plan, plan, {.at = {{"seq", 65}}}).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("every kind of change has a word of its own", "[api][diff]") {
  std::set<std::string_view> words;
  const int count = static_cast<int>(Kind::kOther) + 1;
  for (int kind = 0; kind < count; ++kind) words.insert(PlanChangeWord(static_cast<Kind>(kind)));
  CHECK(words.size() == static_cast<std::size_t>(count));
  CHECK(words.count("") == 0);
  CHECK(PlanChangeWord(Kind::kOperatorMoved) == "operator_moved");
  CHECK(PlanChangeWord(Kind::kOther) == "other");
}

}  // namespace
}  // namespace leeway
