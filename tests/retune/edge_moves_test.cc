#include "retune/edge_moves.h"

#include <algorithm>
#include <set>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::retune {
namespace {

LengthHistogram RandomLengths(base::Prng& prng, int distinct, std::int64_t max) {
  LengthHistogram lengths;
  for (int i = 0; i < distinct; ++i) {
    lengths.Add(1 + static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(max))),
                1 + static_cast<double>(prng.Below(50)));
  }
  return lengths;
}

Edges RandomEdges(base::Prng& prng, int count, std::int64_t max) {
  std::set<std::int64_t> edges{max};
  while (static_cast<int>(edges.size()) < count) {
    edges.insert(1 + static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(max))));
  }
  return Edges(edges.begin(), edges.end());
}

// The least work that `moves` changes of one edge each can reach, by trying all.
double Exhaustive(const Edges& edges, const LengthHistogram& lengths, const BucketSpec& spec,
                  int moves) {
  double best = Evaluate(edges, lengths, spec).cost;
  if (moves == 0) return best;
  std::vector<Edges> bases;
  if (edges.size() < static_cast<std::size_t>(spec.max_buckets)) bases.push_back(edges);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    Edges rest = edges;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    bases.push_back(std::move(rest));
  }
  for (const Edges& base : bases) {
    for (const LengthWeight& e : lengths) {
      if (std::find(base.begin(), base.end(), e.length) != base.end()) continue;
      Edges after = base;
      after.insert(std::lower_bound(after.begin(), after.end(), e.length), e.length);
      if (after.back() < spec.covers) continue;
      best = std::min(best, Exhaustive(after, lengths, spec, moves - 1));
    }
  }
  return best;
}

TEST_CASE("one move is the best there is, by exhaustive search", "[retune][oracle]") {
  const auto seed = GENERATE(range(0u, 80u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const LengthHistogram lengths = RandomLengths(prng, 14, 60);
  const Edges edges = RandomEdges(prng, 1 + static_cast<int>(prng.Below(5)), 50);
  BucketSpec spec;
  spec.max_buckets = static_cast<int>(edges.size() + prng.Below(2));
  spec.covers = prng.Below(2) == 0 ? 0 : edges.back();
  const EdgeMoves found =
      FindEdgeMoves(edges, lengths, spec, {.max_moves = 1, .least_gain = 0, .domain_max = 60});
  CHECK(found.cost_before == Evaluate(edges, lengths, spec).cost);
  CHECK(found.cost_after == Approx(Exhaustive(edges, lengths, spec, 1)));
  CHECK(found.cost_after == Evaluate(found.after, lengths, spec).cost);
}

TEST_CASE("three greedy moves come close to the best three", "[retune][oracle]") {
  double reached = 0, possible = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    base::Prng prng(seed);
    const LengthHistogram lengths = RandomLengths(prng, 8, 60);
    const Edges edges = RandomEdges(prng, 4, 60);
    BucketSpec spec;
    spec.max_buckets = 5;
    spec.covers = 60;
    const EdgeMoves found =
        FindEdgeMoves(edges, lengths, spec, {.max_moves = 3, .least_gain = 0, .domain_max = 60});
    const double best = Exhaustive(edges, lengths, spec, 3);
    CHECK(found.cost_after >= best * (1 - 1e-12));
    reached += found.cost_before - found.cost_after;
    possible += found.cost_before - best;
  }
  // What greed gives away, on average, over all instances.
  CHECK(reached >= 0.97 * possible);
}

TEST_CASE("with moves to spare nothing is cheaper than the exact optimum", "[retune][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const LengthHistogram lengths = RandomLengths(prng, 30, 200);
  const Edges edges = RandomEdges(prng, 4, 200);
  BucketSpec spec;
  spec.max_buckets = 4;
  spec.covers = 200;
  const EdgeMoves found =
      FindEdgeMoves(edges, lengths, spec, {.max_moves = 8, .least_gain = 0, .domain_max = 200});
  CHECK(found.cost_after >= FitBuckets(lengths, spec).cost * (1 - 1e-12));
  CHECK(found.cost_after <= found.cost_before);
  CHECK(found.after.back() == 200);
  CHECK(found.after.size() <= 4);
  CHECK(std::is_sorted(found.after.begin(), found.after.end()));
  CHECK(Applied(edges, found.moves) == found.after);
}

TEST_CASE("edges that fit are left alone", "[retune][unit]") {
  const LengthHistogram lengths({{10, 5}, {20, 5}, {30, 5}});
  BucketSpec spec;
  spec.max_buckets = 3;
  const EdgeMoves found = FindEdgeMoves({10, 20, 30}, lengths, spec, {.domain_max = 30});
  CHECK(found.moves.empty());
  CHECK(found.after == Edges{10, 20, 30});
  CHECK(FindEdgeMoves({10}, {}, spec, {.domain_max = 30}).moves.empty());
}

TEST_CASE("new edges are aligned and within the domain", "[retune][unit]") {
  const LengthHistogram lengths({{70, 100}, {250, 100}});
  BucketSpec spec;
  spec.max_buckets = 3;
  spec.align = 64;
  spec.covers = 250;
  const EdgeMoves found = FindEdgeMoves({250}, lengths, spec, {.domain_max = 250});
  CHECK(found.after == Edges{128, 250});
  CHECK(found.moves == std::vector<EdgeMove>{{std::nullopt, 128}});
}

TEST_CASE("lengths past the domain stay with the fallback", "[retune][unit]") {
  const LengthHistogram lengths({{100, 10}, {5000, 1}});
  BucketSpec spec;
  spec.max_buckets = 2;
  const EdgeMoves found = FindEdgeMoves({1000}, lengths, spec, {.domain_max = 1000});
  CHECK(found.after == Edges{100, 1000});
  CHECK(found.cost_after == 10 * 100 + 2 * 5000);
}

TEST_CASE("above the limit the edges that cost least are dropped", "[retune][unit]") {
  const LengthHistogram lengths({{10, 1}, {99, 1}, {100, 1}});
  BucketSpec spec;
  spec.max_buckets = 2;
  spec.covers = 100;
  const EdgeMoves found = FindEdgeMoves({10, 99, 100}, lengths, spec, {.domain_max = 100});
  CHECK(found.after == Edges{10, 100});
  CHECK(found.moves == std::vector<EdgeMove>{{99, std::nullopt}});
}

}  // namespace
}  // namespace leeway::retune
