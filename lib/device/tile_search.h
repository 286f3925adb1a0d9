// The tiling of a step: a small fixed set of candidates, the fastest that fits the SRAM.
//
// Every candidate's time, traffic and need grow with every size, and the set does not depend on the
// sizes: so does the minimum over those that fit. What is minimised is time plus 1/64 of the time
// that the traffic alone takes, so that of two tilings that computation hides the one wins that
// leaves more of the DRAM to others. The time alone may therefore fall by at most 1/64 as a size
// grows.
//
// Threading: pure functions.

#ifndef LEEWAY_DEVICE_TILE_SEARCH_H_
#define LEEWAY_DEVICE_TILE_SEARCH_H_

#include <optional>

#include "device/group_shape.h"
#include "device/spec.h"
#include "plan/body.h"

namespace leeway::device {

// What stays while the rest streams by.
enum class LoopOrder {
  kStream,      // no product: chunks pass through the vector unit
  kRowBlocks,   // blocks of rows of everything; right operands stream by once for each
  kHoldAll,     // the same, and right operands stay
  kBothStream,  // tiles of the result; both operands pass once for each tile row or column
  kHoldRight,   // panels of the right operand; the left one passes once for each
};

struct Tile {
  LoopOrder order = LoopOrder::kStream;
  std::int64_t rows = 0, cols = 0;  // 0: no product
};

// What follows from a tile. As small as can be: the search makes dozens.
struct TileCost {
  double cycles = 0;  // the body's compute
  double matrix_cycles = 0;
  double dram_bytes = 0;
  double first_bytes = 0, last_bytes = 0;  // before the first and after the last computation
  double sram_bytes = 0;                   // most in use at once
  double fill_ns = 0, compute_ns = 0, drain_ns = 0;
  double transfer_ns = 0;  // the body's, at the rate that the search assumed
  double time_ns = 0;      // fill + body + drain at the rate that the search assumed
  double score = 0;        // what is minimised
};

struct TileResult {
  std::optional<TileCost> best;
  Tile tile;  // of the best
  // Of the candidate that needs the least SRAM; accumulators of their own count as well.
  double least_need = 0;
};

// `bytes_per_ns`: what the DRAM gives the step. A tiling of the plan (m != 0) is the only
// candidate, in whichever order of loops is fastest; it is taken as it is or not at all. Its k is
// the depth of what is moved at once.
TileResult SearchTile(const GroupShape& shape, const CoreClass& core, const plan::Tiling& tiling,
                      double bytes_per_ns);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_TILE_SEARCH_H_
