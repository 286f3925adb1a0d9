// The few single edges whose change saves most: what a retune asks for, instead of a new ladder.
//
// Greedy: each step takes the one addition or replacement of an edge that saves the most work,
// every candidate priced exactly by prefix sums; then each new edge is placed anew, the others
// held, until none moves. New edges lie at observed lengths (rounded up to the alignment): an
// optimal one always does. O(moves · edges · lengths).
//
// Threading: pure functions.

#ifndef LEEWAY_RETUNE_EDGE_MOVES_H_
#define LEEWAY_RETUNE_EDGE_MOVES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "retune/bucketing.h"
#include "retune/length_histogram.h"

namespace leeway::retune {

// An addition has no `from`, a drop no `to`, a replacement both.
struct EdgeMove {
  std::optional<std::int64_t> from, to;

  friend bool operator==(const EdgeMove&, const EdgeMove&) = default;
};

struct EdgeMoveOptions {
  std::size_t max_moves = 3;
  // A step that saves a smaller share of the work is not taken.
  double least_gain = 0.005;
  // No edge is above it: the end of the domain.
  std::int64_t domain_max = 0;
};

struct EdgeMoves {
  // In the order they were found.
  std::vector<EdgeMove> moves;
  Edges after;
  double cost_before = 0, cost_after = 0;
};

// Returns the edges with the moves done. Requires each `from` to be one of them.
Edges Applied(const Edges& edges, const std::vector<EdgeMove>& moves);

// Returns the moves from ascending `edges` under `lengths`. spec.max_buckets bounds the edges
// afterwards: where there are more, those that cost least are dropped first. spec.covers bounds the
// top edge from below; spec.tail must be kFallback. An empty histogram moves nothing.
EdgeMoves FindEdgeMoves(const Edges& edges, const LengthHistogram& lengths, const BucketSpec& spec,
                        const EdgeMoveOptions& options);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_EDGE_MOVES_H_
