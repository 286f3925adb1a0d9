#include "retune/regret.h"

#include "tests/catch.h"
#include "tests/retune/support/synthetic_traffic.h"

namespace leeway::retune {
namespace {

TEST_CASE("regret is the cost above the window's own optimum", "[retune][regret]") {
  // Two buckets fit both lengths exactly: 10 + 20. One edge at 20 pays 40.
  const LengthHistogram lengths({{10, 1}, {20, 1}});
  BucketSpec spec;
  spec.max_buckets = 2;
  CHECK(Regret(Edges{20}, lengths, spec) == Approx(40.0 / 30 - 1));
  CHECK(Regret(Edges{10, 20}, lengths, spec) == 0);
}

TEST_CASE("cross-fitted regret scores each half by the other's optimum", "[retune][regret]") {
  // With one bucket and no history the optimum of {10} is 10 and of {20} is 20: half A costs 20
  // under B's edge, half B takes the fallback under A's and costs 40. The plan {20} costs 40.
  BucketSpec spec;
  spec.max_buckets = 1;
  const Halves halves{LengthHistogram({{10, 1}}), LengthHistogram({{20, 1}})};
  CHECK(CrossFittedRegret(Edges{20}, halves, {}, 1.0, spec) == Approx(40.0 / 60 - 1));
}

TEST_CASE("a blend counts the window and the history by share, not by volume", "[retune][regret]") {
  const LengthHistogram window({{1, 1000}});
  const LengthHistogram history({{2, 5}});
  CHECK(BlendWithHistory(window, history, 0.75) == LengthHistogram({{1, 0.75}, {2, 0.25}}));
  CHECK(BlendWithHistory(window, {}, 0.75) == LengthHistogram({{1, 1}}));
  CHECK(BlendWithHistory({}, history, 0.75) == LengthHistogram({{2, 1}}));
}

TEST_CASE("without drift small windows regret in sample but not cross-fitted",
          "[retune][property]") {
  // Every window is a draw of one distribution, whose optimum is served: any regret is noise.
  const auto service = testing::MakeService(testing::Service::kStationary, 1, 3);
  testing::Windows same(60, service.front());
  const testing::Windows drawn = testing::Draw(same, 1000, 17);
  BucketSpec spec;
  const Edges truth = FitBuckets(service.front().lengths, spec).edges;
  base::Prng prng(1);
  int in_sample = 0;
  int cross_fitted = 0;
  double sum = 0;
  for (const TrafficWindow& w : drawn) {
    const auto halves = HalvesOf(w, prng);
    REQUIRE(halves.has_value());
    const double rho = CrossFittedRegret(truth, *halves, {}, 1.0, spec);
    in_sample += Regret(truth, w.lengths, spec) > 0.01;
    cross_fitted += rho > 0.01;
    sum += rho;
  }
  // RETUNING: in sample over 1 % in half of the windows, cross-fitted in none.
  CHECK(in_sample > 20);
  CHECK(cross_fitted == 0);
  CHECK(sum < 0);
}

TEST_CASE("halves are the arrival order where it is known, else a thinning of small windows",
          "[retune][regret]") {
  base::Prng prng(1);
  TrafficWindow raw{LengthHistogram({{4, 3}}), LengthHistogram({{4, 2}}),
                    LengthHistogram({{4, 1}})};
  REQUIRE(HalvesOf(raw, prng).has_value());
  CHECK(HalvesOf(raw, prng)->first.total() == 2);

  CHECK(HalvesOf({LengthHistogram({{4, 9999}}), {}, {}}, prng).has_value());
  CHECK_FALSE(HalvesOf({LengthHistogram({{4, 10000}}), {}, {}}, prng).has_value());
  // One request has no two halves.
  CHECK_FALSE(HalvesOf({LengthHistogram({{4, 1}}), {}, {}}, prng).has_value());
}

}  // namespace
}  // namespace leeway::retune
