// Optimal buckets in one dimension. A plan is a set of ascending edges: a request of length x is
// padded to the smallest edge b >= x and costs f(b); a longer one than every edge takes the
// fallback path and costs phi·f(x).
//
// With lengths x_1 < … < x_n, weights w and prefix sums W the best cost of k edges, the last at
// x_i, is D_k(i) = f(x_i)·W_i + min_{j<i} (D_{k−1}(j) − f(x_i)·W_j). The bracket is a line in
// f(x_i) of slope −W_j: slopes descend with j and queries ascend with i, so one lower hull walked
// by a pointer answers all n minima in O(n): O(k·n) in all, exact for every non-decreasing f.
//
// Threading:   pure functions.
// Determinism: doubles with + − × ÷ only. Of plans whose costs compare equal the one with the
//              lowest top edge is kept, then the lowest next edge, and so on down; an edge that
//              saves nothing is therefore left out.

#ifndef LEEWAY_RETUNE_BUCKETING_H_
#define LEEWAY_RETUNE_BUCKETING_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "retune/length_histogram.h"

namespace leeway::retune {

// The work of serving a request padded to a length. Must be positive, finite and non-decreasing;
// called once per distinct length and fit, so memoise what is dear.
using CostFn = std::function<double(std::int64_t)>;

// Returns x: work counted in tokens.
double TokenCost(std::int64_t length);

enum class Tail {
  kFallback,  // lengths past the top edge may be left to the fallback path
  kCovered,   // the top edge covers every length of the histogram
};

struct BucketSpec {
  // The most edges a plan may have, at least 1.
  int max_buckets = 8;
  // phi: what the fallback path costs as a multiple of the useful work, at least 1.
  double fallback_factor = 2.0;
  // Edges are multiples of it, at least 1.
  std::int64_t align = 1;
  CostFn cost = TokenCost;
  // What the fallback path takes for a length by its own model: it costs no less. Empty: phi alone.
  CostFn generic = {};
  Tail tail = Tail::kFallback;
  // The top edge is no lower than this, whatever was seen: a plan that replaces another keeps its
  // promises. 0: no such bound.
  std::int64_t covers = 0;

  // What the fallback path costs for a length whose useful work f(length) is known.
  double Fallback(std::int64_t length, double useful) const {
    const double stretched = fallback_factor * useful;
    return generic ? std::max(generic(length), stretched) : stretched;
  }
};

using Edges = std::vector<std::int64_t>;

struct FittedBuckets {
  Edges edges;
  // Work of the histogram under `edges`, and the part of it that the fallback path pays.
  double cost = 0;
  double tail = 0;
};

// Returns the optimal plan for the histogram: at most max_buckets edges; none for an empty one or,
// unless spec.covers wants some, where aligned edges pad so much that the fallback path is cheaper
// for all.
// O(max_buckets · n) time and memory.
FittedBuckets FitBuckets(const LengthHistogram& lengths, const BucketSpec& spec);

struct BucketWork {
  double requests = 0;
  double useful = 0;  // Σ w·f(x)
  double cost = 0;    // what was spent, fallback included
  double fallback_requests = 0;
  double fallback_cost = 0;

  BucketWork& operator+=(const BucketWork& other);
  // The padded share of the work, 0 where there is none.
  double waste() const { return cost > 0 ? 1 - useful / cost : 0; }
};

// Returns the work of serving `lengths` by ascending `edges`. `spec` gives f and phi.
BucketWork Evaluate(std::span<const std::int64_t> edges, const LengthHistogram& lengths,
                    const BucketSpec& spec);

// Returns 1, 2, 4 … and the maximum itself. Requires max_length >= 1.
Edges Pow2Ladder(std::int64_t max_length);
// Returns ⌈128·(max/128)^(i/(count−1))⌉ rounded up to 128, i = 0 … count−1, without repeats.
Edges ExponentialLadder(int count, std::int64_t max_length);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_BUCKETING_H_
