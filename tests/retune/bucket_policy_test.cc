#include "retune/bucket_policy.h"

#include <string>

#include "retune/reference_rule.h"
#include "tests/catch.h"

namespace leeway::retune {
namespace {

using Kind = BucketDecision::Kind;

TrafficWindow Window(std::vector<LengthWeight> entries) {
  return {LengthHistogram(std::move(entries)), {}, {}};
}

// Enough requests that histograms count as exact.
const TrafficWindow kShort = Window({{10, 50'000}, {12, 50'000}});
const TrafficWindow kLong = Window({{100, 50'000}, {120, 50'000}});

BucketPolicyOptions TwoBuckets() {
  BucketPolicyOptions options;
  options.spec.max_buckets = 2;
  options.max_length = 1000;
  return options;
}

std::unique_ptr<BucketPolicy> Policy(const std::string& name) {
  return MakeBucketPolicy(name, TwoBuckets()).value();
}

TEST_CASE("an unknown policy, a negative threshold and a ladder without a domain are refused",
          "[retune][policy]") {
  BucketPolicyOptions options;
  CHECK(MakeBucketPolicy("best", options).status().code() == StatusCode::kInvalidArgument);
  CHECK(MakeBucketPolicy("pow2", options).status().code() == StatusCode::kInvalidArgument);
  CHECK(MakeBucketPolicy("exponential", options).status().code() == StatusCode::kInvalidArgument);
  options.threshold = -0.01;
  CHECK(MakeBucketPolicy("ref", options).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("every policy but a ladder starts from the optimum of the first window",
          "[retune][policy]") {
  const std::string name = GENERATE("frozen", "ref", "refx", "library", "leeway");
  CAPTURE(name);
  CHECK(Policy(name)->Begin(kShort) == Edges{10, 12});
}

TEST_CASE("frozen and the ladders never decide anything", "[retune][policy]") {
  const std::string name = GENERATE("frozen", "pow2", "exponential");
  CAPTURE(name);
  const auto policy = Policy(name);
  PlanLibrary library{{policy->Begin(kShort)}, 0};
  for (int i = 0; i < 30; ++i) CHECK(policy->Close(kLong, library).kind == Kind::kKeep);
}

TEST_CASE("the reference rule adopts the optimum of the blend when the window paid tau too much",
          "[retune][policy]") {
  ReferenceRule rule(TwoBuckets().spec, 0.03, ReferenceRule::Sample::kWhole, 0);
  const Edges serving = rule.Begin(kShort);
  CHECK_FALSE(rule.Close(kShort, serving).has_value());
  // Blend: short lengths weigh 0.125 each, long ones 0.375 each. Edges {12, 120} cost
  // 3 + 90 = 93; {100, 120} cost 25 + 37.5 + 45 = 107.5: the first is the optimum.
  const auto adopted = rule.Close(kLong, serving);
  REQUIRE(adopted.has_value());
  CHECK(*adopted == Edges{12, 120});
  // The history still holds short requests, so the candidate is the same and saves nothing.
  CHECK_FALSE(rule.Close(kLong, *adopted).has_value());
}

TEST_CASE("the library policy compiles seven plans in its first day and only switches afterwards",
          "[retune][policy]") {
  const auto policy = Policy("library");
  PlanLibrary library{{policy->Begin(kShort)}, 0};
  int compiles = 0;
  for (int window = 1; window <= 60; ++window) {
    BucketDecision decision = policy->Close(window % 2 == 0 ? kShort : kLong, library);
    if (decision.kind == Kind::kCompile) {
      CHECK(window % 3 == 0);
      CHECK(window <= 21);
      ++compiles;
      library.current = library.plans.size();
      library.plans.push_back(decision.edges);
    } else if (decision.kind == Kind::kSwitch) {
      library.current = decision.plan;
    }
  }
  CHECK(compiles == 7);
}

TEST_CASE("the best plan of a library is the cheapest, the serving one among equals",
          "[retune][policy]") {
  PlanLibrary library{{Edges{12}, Edges{10, 12}, Edges{10, 12}}, 2};
  CHECK(BestPlan(library, kShort.lengths, TwoBuckets().spec).plan == 2);
  library.current = 0;
  const ScoredPlan best = BestPlan(library, kShort.lengths, TwoBuckets().spec);
  CHECK(best.plan == 1);
  CHECK(best.cost == 50'000 * 22);
}

}  // namespace
}  // namespace leeway::retune
