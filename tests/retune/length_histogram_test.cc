#include "retune/length_histogram.h"

#include <vector>

#include "tests/catch.h"

namespace leeway::retune {
namespace {

std::vector<LengthWeight> Entries(const LengthHistogram& h) { return {h.begin(), h.end()}; }

TEST_CASE("a histogram holds distinct lengths in order whatever the order of arrival",
          "[retune][histogram]") {
  LengthHistogram h;
  for (const std::int64_t x : {7, 3, 9, 3, 7, 7}) h.Add(x);
  CHECK(Entries(h) == std::vector<LengthWeight>{{3, 2}, {7, 3}, {9, 1}});
  CHECK(h == LengthHistogram({{9, 1}, {7, 1}, {3, 1}, {7, 2}, {3, 1}}));
  CHECK(h.total() == 6);
  CHECK(h.max_length() == 9);
}

TEST_CASE("merging adds weights, scaling multiplies them, normalising makes them sum to one",
          "[retune][histogram]") {
  LengthHistogram h({{1, 1}, {2, 1}});
  h.Merge(LengthHistogram({{2, 3}, {5, 3}}));
  CHECK(Entries(h) == std::vector<LengthWeight>{{1, 1}, {2, 4}, {5, 3}});
  CHECK(Entries(h.Normalised()) == std::vector<LengthWeight>{{1, 0.125}, {2, 0.5}, {5, 0.375}});
  h.Scale(2);
  CHECK(h.total() == 16);
  h.DropBelow(3);
  CHECK(Entries(h) == std::vector<LengthWeight>{{2, 8}, {5, 6}});
}

TEST_CASE("nothing normalises to nothing", "[retune][histogram]") {
  CHECK(LengthHistogram().Normalised().empty());
  CHECK(LengthHistogram({{4, 0}}).Normalised().empty());
  CHECK(LengthHistogram().max_length() == 0);
}

TEST_CASE("a blend weighs the union of both sides", "[retune][histogram]") {
  const LengthHistogram a({{1, 4}, {3, 4}});
  const LengthHistogram b({{2, 8}, {3, 8}, {9, 8}});
  CHECK(Entries(Blend(0.5, a, 0.25, b)) ==
        std::vector<LengthWeight>{{1, 2}, {2, 2}, {3, 4}, {9, 2}});
}

TEST_CASE("halves of counts sum to the whole", "[retune][property]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const LengthHistogram whole({{3, 1}, {8, 1000}, {9, 0}, {20, 17}});
  const auto [first, second] = Thin(whole, prng);
  const LengthHistogram sum = Blend(1, first, 1, second);
  CHECK(Entries(sum) == std::vector<LengthWeight>{{3, 1}, {8, 1000}, {20, 17}});
}

TEST_CASE("halves of expectations are whole counts around half the mean", "[retune][property]") {
  base::Prng prng(5);
  const LengthHistogram whole({{8, 40000.5}});
  const auto [first, second] = Thin(whole, prng);
  for (const LengthHistogram* half : {&first, &second}) {
    REQUIRE(half->size() == 1);
    const double weight = (*half)[0].weight;
    CHECK(weight == static_cast<double>(static_cast<std::int64_t>(weight)));
    // Six standard deviations of a Poisson count of mean 20,000.
    CHECK(weight == Approx(20000).margin(6 * 142));
  }
}

TEST_CASE("equal seeds give equal halves", "[retune][histogram]") {
  base::Prng one(9);
  base::Prng same(9);
  const LengthHistogram whole({{8, 100.5}, {9, 200}});
  CHECK(Thin(whole, one) == Thin(whole, same));
}

TEST_CASE("history is an average that forgets", "[retune][histogram]") {
  LengthHistory history(0.25);
  CHECK(history.mean().empty());
  history.Fold(LengthHistogram({{1, 1}}));
  history.Fold(LengthHistogram());  // an empty window changes nothing
  CHECK(Entries(history.mean()) == std::vector<LengthWeight>{{1, 1}});
  history.Fold(LengthHistogram({{2, 1}}));
  CHECK(Entries(history.mean()) == std::vector<LengthWeight>{{1, 0.75}, {2, 0.25}});
  // 0.75^n falls below 1e-12 at n = 97.
  for (int i = 0; i < 100; ++i) history.Fold(LengthHistogram({{2, 1}}));
  CHECK(history.mean().size() == 1);
  CHECK(history.mean().total() == Approx(1));
}

}  // namespace
}  // namespace leeway::retune
