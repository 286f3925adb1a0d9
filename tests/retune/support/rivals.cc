#include "tests/retune/support/rivals.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

namespace leeway::retune::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double FallbackOf(std::int64_t length, const BucketSpec& spec) {
  const double stretched = spec.fallback_factor * spec.cost(length);
  if (!spec.generic) return stretched;
  return stretched < spec.generic(length) ? spec.generic(length) : stretched;
}

Edges AlignedEdges(const LengthHistogram& lengths, std::int64_t align) {
  std::set<std::int64_t> edges;
  for (const LengthWeight& e : lengths) edges.insert((e.length + align - 1) / align * align);
  return {edges.begin(), edges.end()};
}

double CostOf(const Edges& edges, const LengthHistogram& lengths, const BucketSpec& spec) {
  double cost = 0;
  for (const LengthWeight& e : lengths) {
    const auto covering = std::find_if(edges.begin(), edges.end(),
                                       [&](std::int64_t edge) { return edge >= e.length; });
    if (covering != edges.end()) {
      cost += e.weight * spec.cost(*covering);
    } else if (spec.tail == Tail::kCovered) {
      return kInfinity;
    } else {
      cost += e.weight * FallbackOf(e.length, spec);
    }
  }
  return cost;
}

// cost[j][i] of one bucket with its edge at point i that begins past point j (j = 0: at the start).
double BucketCost(const std::vector<double>& f, const std::vector<double>& prefix, std::size_t j,
                  std::size_t i) {
  return f[i] * (prefix[i] - prefix[j]);
}

struct Rows {
  std::vector<double> f;       // one-based: f[0] stands for nothing
  std::vector<double> prefix;  // prefix[0] = 0
  std::vector<double> tail;    // fallback cost past i
};

Rows MakeRows(const LengthHistogram& lengths, const BucketSpec& spec) {
  const Edges edges = AlignedEdges(lengths, spec.align);
  Rows rows{{0}, {0}, {}};
  for (const std::int64_t edge : edges) {
    rows.f.push_back(spec.cost(edge));
    double weight = 0;
    for (const LengthWeight& e : lengths) weight += e.length <= edge ? e.weight : 0;
    rows.prefix.push_back(weight);
  }
  for (std::size_t i = 0; i < rows.f.size(); ++i) {
    double past = 0;
    for (const LengthWeight& e : lengths) {
      if (i == 0 || e.length > edges[i - 1]) past += e.weight * FallbackOf(e.length, spec);
    }
    rows.tail.push_back(past);
  }
  return rows;
}

void Conquer(const Rows& rows, const std::vector<double>& before, std::vector<double>& after,
             std::size_t lo, std::size_t hi, std::size_t from, std::size_t to) {
  if (lo >= hi) return;
  const std::size_t mid = lo + (hi - lo) / 2;
  std::size_t best = from;
  double least = kInfinity;
  for (std::size_t j = from; j <= std::min(mid - 1, to); ++j) {
    const double cost = before[j] + BucketCost(rows.f, rows.prefix, j, mid);
    if (cost < least) {
      least = cost;
      best = j;
    }
  }
  after[mid] = least;
  Conquer(rows, before, after, lo, mid, from, best);
  Conquer(rows, before, after, mid + 1, hi, best, to);
}

}  // namespace

double ExhaustiveCost(const LengthHistogram& lengths, const BucketSpec& spec) {
  const Edges all = AlignedEdges(lengths, spec.align);
  double least = kInfinity;
  for (std::uint32_t mask = 0; mask < (1u << all.size()); ++mask) {
    Edges edges;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (mask >> i & 1) edges.push_back(all[i]);
    }
    if (edges.size() > static_cast<std::size_t>(spec.max_buckets)) continue;
    least = std::min(least, CostOf(edges, lengths, spec));
  }
  return least;
}

double QuadraticCost(const LengthHistogram& lengths, const BucketSpec& spec) {
  const Rows rows = MakeRows(lengths, spec);
  std::vector<double> best(rows.f.size(), kInfinity);
  best[0] = 0;
  for (int k = 0; k < spec.max_buckets; ++k) {
    std::vector<double> next = best;
    for (std::size_t i = 1; i < next.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        next[i] = std::min(next[i], best[j] + BucketCost(rows.f, rows.prefix, j, i));
      }
    }
    best = next;
  }
  if (spec.tail == Tail::kCovered) return best.back();
  double least = kInfinity;
  for (std::size_t i = 0; i < best.size(); ++i) least = std::min(least, best[i] + rows.tail[i]);
  return least;
}

double DivideAndConquerCost(const LengthHistogram& lengths, const BucketSpec& spec) {
  Rows rows{{0}, {0}, std::vector<double>(lengths.size() + 1)};
  for (const LengthWeight& e : lengths) {
    rows.f.push_back(spec.cost(e.length));
    rows.prefix.push_back(rows.prefix.back() + e.weight);
  }
  for (std::size_t i = lengths.size(); i-- > 0;) {
    rows.tail[i] = rows.tail[i + 1] + lengths[i].weight * FallbackOf(lengths[i].length, spec);
  }
  std::vector<double> best(rows.f.size(), kInfinity);
  best[0] = 0;
  std::vector<double> next = best;
  for (int k = 0; k < spec.max_buckets; ++k) {
    Conquer(rows, best, next, 1, next.size(), 0, next.size() - 1);
    best = next;
  }
  double least = kInfinity;
  for (std::size_t i = 0; i < best.size(); ++i) least = std::min(least, best[i] + rows.tail[i]);
  return least;
}

}  // namespace leeway::retune::testing
