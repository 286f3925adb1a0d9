#include "retune/plan_buckets.h"

#include "leeway/plan_builder.h"
#include "retune/profile_curve.h"
#include "tests/catch.h"
#include "tests/retune/support/toy_plan.h"

namespace leeway::retune {
namespace {

using leeway::testing::MakeToyPlan;

PlanBuckets BucketsOf(const Plan& plan) {
  return PlanBuckets(*plan.body(), plan.body()->entries[0], LengthDims(*plan.body()).front());
}

TEST_CASE("a plan's edges are its envelopes' ends, and cost what edges cost", "[retune][buckets]") {
  const Plan plan = MakeToyPlan({.edges = {1000, 100, 400}});
  const PlanBuckets buckets = BucketsOf(plan);
  CHECK(buckets.edges() == Edges{100, 400, 1000});
  CHECK(buckets.contiguous());
  const LengthHistogram lengths({{1, 2}, {100, 3}, {101, 5}, {1000, 7}, {1001, 11}});
  const BucketSpec spec;
  const BucketWork ours = buckets.Work(lengths, spec);
  const BucketWork by_edges = Evaluate(buckets.edges(), lengths, spec);
  CHECK(ours.cost == by_edges.cost);
  CHECK(ours.useful == by_edges.useful);
  CHECK(ours.fallback_requests == by_edges.fallback_requests);
}

TEST_CASE(
    "a length between two envelopes is not covered, one in a dynamic envelope is padded to "
    "its granule",
    "[retune][buckets]") {
  PlanBuilder b("toy", Producer{"test", "1"});
  const Size seq = b.Dim("seq", {1, 1000}, BatchRule::kMax);
  const EntryRef e = b.Entry("main");
  const OpRef op = e.Op("op", Vector{seq, 1}, {e.Input("x", DType::kBf16, {seq})});
  e.Variant("low").Envelope(seq, 1, 100, 100).Group("g", {op}).Any();
  e.Variant("high").Dynamic(seq, 200, 400, 400, 50).Group("g", {op}).Any();
  const Plan plan = std::move(b).Build().value();
  const PlanBuckets buckets = BucketsOf(plan);
  CHECK_FALSE(buckets.contiguous());
  const BucketSpec spec;
  CHECK(buckets.Work(LengthHistogram({{50, 1}}), spec).cost == 100);
  CHECK(buckets.Work(LengthHistogram({{150, 1}}), spec).cost == 300);
  CHECK(buckets.Work(LengthHistogram({{210, 1}}), spec).cost == 250);
}

TEST_CASE("an entry is found by name, or by being the only one", "[retune][buckets]") {
  const Plan plan = MakeToyPlan({.edges = {100}});
  CHECK(FindEntry(*plan.body(), "").value() == 0);
  CHECK(FindEntry(*plan.body(), "main").value() == 0);
  CHECK(FindEntry(*plan.body(), "decode").status().code() == StatusCode::kNotFound);
}

TEST_CASE("the profile's curve goes through what the variants predict", "[retune][profile]") {
  const Plan plan = MakeToyPlan({.edges = {100, 400}, .per_token = 10ns});
  const auto curve = ProfileCurve::Make(*plan.body(), 0, 0);
  REQUIRE(curve);
  CHECK((*curve)(100) == 1000);
  CHECK((*curve)(400) == 4000);
  CHECK((*curve)(250) == Approx(2500));
  CHECK((*curve)(50) == Approx(500));    // proportional below
  CHECK((*curve)(800) == Approx(8000));  // and beyond
}

TEST_CASE("a curve never falls, and a plan that is silent on a group has none",
          "[retune][profile]") {
  auto plan = [](bool both) {
    PlanBuilder b("toy", Producer{"test", "1"});
    const Size seq = b.Dim("seq", {1, 1000}, BatchRule::kMax);
    const EntryRef e = b.Entry("main");
    const OpRef op = e.Op("op", Vector{seq, 1}, {e.Input("x", DType::kBf16, {seq})});
    e.Variant("a").Envelope(seq, 1, 100, 100).Group("g", {op}).Predict({{"seq", 100}}, 9us);
    const GroupRef g = e.Variant("b").Envelope(seq, 1, 200, 200).Group("g", {op});
    if (both) g.Predict({{"seq", 200}}, 5us);
    return std::move(b).Build().value();
  };
  const auto curve = ProfileCurve::Make(*plan(true).body(), 0, 0);
  REQUIRE(curve);
  CHECK((*curve)(100) == 9000);
  CHECK((*curve)(200) == 9000);
  CHECK_FALSE(ProfileCurve::Make(*plan(false).body(), 0, 0));
}

TEST_CASE("a group's prediction counts once a shard, a called entry's once a call",
          "[retune][profile]") {
  PlanBuilder b("toy", Producer{"test", "1"});
  const Size seq = b.Dim("seq", {1, 1000}, BatchRule::kMax);
  const EntryRef layer = b.InternalEntry("layer");
  const OpRef inner = layer.Op("op", Vector{seq, 1}, {layer.Input("x", DType::kBf16, {seq})});
  layer.Variant("s")
      .Envelope(seq, 1, 100, 100)
      .Group("g", {inner})
      .Shards(2)
      .Predict({{"seq", 100}}, 3us);
  const EntryRef e = b.Entry("main");
  const OpRef loop = e.Op("loop", Call{"layer", 10}, {e.Input("y", DType::kBf16, {seq})});
  e.Variant("s").Envelope(seq, 1, 100, 100).Group("loop", {loop});
  const Result<Plan> plan = std::move(b).Build();
  REQUIRE(plan.ok());
  const plan::Index main = FindEntry(*plan->body(), "").value();
  const auto curve = ProfileCurve::Make(*plan->body(), main, 0);
  REQUIRE(curve);
  CHECK((*curve)(100) == 60'000);
}

}  // namespace
}  // namespace leeway::retune
