#include "retune/bucketing.h"

#include <algorithm>
#include <string>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/retune/support/rivals.h"

namespace leeway::retune {
namespace {

using testing::DivideAndConquerCost;
using testing::ExhaustiveCost;
using testing::QuadraticCost;

struct Instance {
  LengthHistogram lengths;
  BucketSpec spec;
};

// Steps with flats, so that several lengths cost the same.
double StairCost(std::int64_t x) { return 5.0 + static_cast<double>(x / 7) * 3.0; }
// Dear where it is short, and not rising: a generic path has costs of its own.
double BumpyCost(std::int64_t x) { return 30.0 + static_cast<double>(x * 7 % 23) * 10.0; }
double SquareCost(std::int64_t x) { return static_cast<double>(x) * static_cast<double>(x); }

Instance RandomInstance(std::uint64_t seed, std::uint64_t most_lengths) {
  base::Prng prng(seed);
  Instance in;
  const std::uint64_t n = 1 + prng.Below(most_lengths);
  for (std::uint64_t i = 0; i < n; ++i) {
    // A fifth weigh nothing; small whole weights make ties.
    const double weight = prng.Below(5) == 0 ? 0 : static_cast<double>(1 + prng.Below(4));
    in.lengths.Add(static_cast<std::int64_t>(1 + prng.Below(60)), weight);
  }
  in.spec.max_buckets = static_cast<int>(1 + prng.Below(6));
  in.spec.fallback_factor = 1.0 + static_cast<double>(prng.Below(5)) / 2;
  in.spec.align = static_cast<std::int64_t>(prng.Below(2) == 0 ? 1 : 1 + prng.Below(9));
  in.spec.tail = prng.Below(3) == 0 ? Tail::kCovered : Tail::kFallback;
  const std::uint64_t shape = prng.Below(3);
  if (shape == 1) in.spec.cost = StairCost;
  if (shape == 2) in.spec.cost = SquareCost;
  if (prng.Below(2) == 0) in.spec.generic = BumpyCost;
  return in;
}

TEST_CASE("fitted buckets cost what the best of all edge sets costs", "[retune][property]") {
  const auto seed = GENERATE(range(0u, 400u));
  CAPTURE(seed);
  const Instance in = RandomInstance(seed, 11);
  const FittedBuckets fitted = FitBuckets(in.lengths, in.spec);
  CHECK(fitted.cost == Approx(ExhaustiveCost(in.lengths, in.spec)).epsilon(1e-12).margin(1e-12));
}

TEST_CASE("fitted buckets cost what the quadratic recurrence finds", "[retune][property]") {
  const auto seed = GENERATE(range(1000u, 1200u));
  CAPTURE(seed);
  const Instance in = RandomInstance(seed, 60);
  const FittedBuckets fitted = FitBuckets(in.lengths, in.spec);
  CHECK(fitted.cost == Approx(QuadraticCost(in.lengths, in.spec)).epsilon(1e-12).margin(1e-12));
}

TEST_CASE("a plan has at most K ascending aligned edges and pays what it says",
          "[retune][property]") {
  const auto seed = GENERATE(range(2000u, 2200u));
  CAPTURE(seed);
  const Instance in = RandomInstance(seed, 40);
  const FittedBuckets fitted = FitBuckets(in.lengths, in.spec);

  CHECK(fitted.edges.size() <= static_cast<std::size_t>(in.spec.max_buckets));
  CHECK(std::is_sorted(fitted.edges.begin(), fitted.edges.end()));
  for (const std::int64_t edge : fitted.edges) CHECK(edge % in.spec.align == 0);
  if (in.spec.tail == Tail::kCovered) {
    CHECK(fitted.tail == 0);
    CHECK(fitted.edges.back() >= in.lengths.max_length());
  }
  const BucketWork work = Evaluate(fitted.edges, in.lengths, in.spec);
  CHECK(work.cost == fitted.cost);
  CHECK(work.fallback_cost == fitted.tail);
  CHECK(work.cost >= work.useful);
}

TEST_CASE("divide and conquer over thousands of lengths finds the same cost",
          "[retune][property]") {
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  base::Prng prng(seed);
  LengthHistogram lengths;
  for (std::int64_t x = 1; x <= 3000; ++x) {
    lengths.Add(x, prng.Exponential() / static_cast<double>(x));
  }
  BucketSpec spec;
  spec.max_buckets = 12;
  CHECK(FitBuckets(lengths, spec).cost ==
        Approx(DivideAndConquerCost(lengths, spec)).epsilon(1e-11));
}

TEST_CASE("one length needs one edge whatever K is", "[retune][bucketing]") {
  LengthHistogram lengths;
  lengths.Add(37, 4);
  BucketSpec spec;
  spec.max_buckets = GENERATE(1, 8);
  const FittedBuckets fitted = FitBuckets(lengths, spec);
  CHECK(fitted.edges == Edges{37});
  CHECK(fitted.cost == 4 * 37);
}

TEST_CASE("as many buckets as lengths waste nothing", "[retune][bucketing]") {
  LengthHistogram lengths;
  for (const std::int64_t x : {3, 10, 11, 500}) lengths.Add(x, 2);
  BucketSpec spec;
  spec.max_buckets = 9;
  const FittedBuckets fitted = FitBuckets(lengths, spec);
  CHECK(fitted.edges == Edges{3, 10, 11, 500});
  CHECK(Evaluate(fitted.edges, lengths, spec).waste() == 0);
}

TEST_CASE("a lone giant is left to the fallback path when covering it would cost more",
          "[retune][bucketing]") {
  LengthHistogram lengths;
  lengths.Add(10, 100);
  lengths.Add(12, 100);
  lengths.Add(1000, 1);
  BucketSpec spec;
  spec.max_buckets = 2;
  // Edges {10, 12}: 1000 + 1200 + 2·1000 = 4200. Edges {12, 1000}: 2400 + 1000 = 3400.
  CHECK(FitBuckets(lengths, spec).edges == Edges{12, 1000});
  // With a saving of 2·100 from the second edge below and 1.1·1000 for the giant, 3300 < 3400.
  spec.fallback_factor = 1.1;
  const FittedBuckets fitted = FitBuckets(lengths, spec);
  CHECK(fitted.edges == Edges{10, 12});
  CHECK(fitted.tail == Approx(1100));
  spec.tail = Tail::kCovered;
  CHECK(FitBuckets(lengths, spec).edges == Edges{12, 1000});
}

TEST_CASE("a promised length stays covered at the least cost that allows, whatever was seen",
          "[retune][oracle]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  LengthHistogram lengths;
  for (int i = 0; i < 7; ++i) {
    lengths.Add(1 + static_cast<std::int64_t>(prng.Below(40)),
                1 + static_cast<double>(prng.Below(9)));
  }
  BucketSpec spec;
  spec.max_buckets = 1 + static_cast<int>(prng.Below(3));
  spec.covers = 1 + static_cast<std::int64_t>(prng.Below(50));
  const FittedBuckets fitted = FitBuckets(lengths, spec);
  REQUIRE_FALSE(fitted.edges.empty());
  CHECK(fitted.edges.back() >= spec.covers);
  // Every top edge from the promise on, with the best edges below it.
  double least = -1;
  for (std::int64_t top = spec.covers; top <= 50; ++top) {
    for (std::int64_t a = 1; a <= top; ++a) {
      for (std::int64_t b = a; b <= top; ++b) {
        Edges edges{top};
        if (spec.max_buckets >= 2) edges.insert(edges.begin(), a);
        if (spec.max_buckets >= 3) edges.insert(edges.begin() + 1, b);
        const double cost = Evaluate(edges, lengths, spec).cost;
        if (least < 0 || cost < least) least = cost;
        if (spec.max_buckets < 3) break;
      }
      if (spec.max_buckets < 2) break;
    }
  }
  CHECK(fitted.cost == Approx(least));
}

TEST_CASE("of equal plans the one with the lowest edges is kept", "[retune][bucketing]") {
  // With one bucket for 1 and 2 at weights 1 and 1 and phi = 2: {1} costs 1 + 4, {2} costs 4.
  // At phi = 1.5 both cost 4.
  LengthHistogram lengths;
  lengths.Add(1, 1);
  lengths.Add(2, 1);
  BucketSpec spec;
  spec.max_buckets = 1;
  CHECK(FitBuckets(lengths, spec).edges == Edges{2});
  spec.fallback_factor = 1.5;
  CHECK(FitBuckets(lengths, spec).edges == Edges{1});
}

TEST_CASE("an edge that saves nothing is left out", "[retune][bucketing]") {
  LengthHistogram lengths;
  lengths.Add(5, 0);
  lengths.Add(9, 3);
  BucketSpec spec;
  spec.max_buckets = 4;
  CHECK(FitBuckets(lengths, spec).edges == Edges{9});
}

TEST_CASE("no traffic needs no edges", "[retune][bucketing]") {
  const FittedBuckets fitted = FitBuckets({}, {});
  CHECK(fitted.edges.empty());
  CHECK(fitted.cost == 0);
}

TEST_CASE("a request pays the smallest covering edge or the fallback", "[retune][bucketing]") {
  LengthHistogram lengths;
  lengths.Add(8, 1);   // edge 8
  lengths.Add(9, 2);   // edge 16
  lengths.Add(17, 3);  // past the top: 2·17
  const BucketWork work = Evaluate(Edges{8, 16}, lengths, {});
  CHECK(work.requests == 6);
  CHECK(work.useful == 8 + 2 * 9 + 3 * 17);
  CHECK(work.cost == 8 + 2 * 16 + 3 * 2 * 17);
  CHECK(work.fallback_requests == 3);
  CHECK(work.fallback_cost == 3 * 2 * 17);
}

TEST_CASE("without an edge everything takes the fallback path", "[retune][bucketing]") {
  LengthHistogram lengths;
  lengths.Add(10, 3);
  CHECK(Evaluate(Edges{}, lengths, {}).cost == 60);
}

TEST_CASE("the powers of two end at the domain's maximum", "[retune][bucketing]") {
  CHECK(Pow2Ladder(1) == Edges{1});
  CHECK(Pow2Ladder(8) == Edges{1, 2, 4, 8});
  CHECK(Pow2Ladder(9) == Edges{1, 2, 4, 8, 9});
  CHECK(Pow2Ladder(INT64_MAX).size() == 64);
}

TEST_CASE("the exponential ladder grows by one factor in quanta of 128", "[retune][bucketing]") {
  // (8192/128)^(i/3): 1, 4, 16, 64.
  CHECK(ExponentialLadder(4, 8192) == Edges{128, 512, 2048, 8192});
  // ⌈128·√8⌉ = 363, up to 384.
  CHECK(ExponentialLadder(3, 1024) == Edges{128, 384, 1024});
  CHECK(ExponentialLadder(1, 1000) == Edges{1024});
  CHECK(ExponentialLadder(8, 100) == Edges{128});
}

}  // namespace
}  // namespace leeway::retune
