// Cycles of the two units of a core, in mode overlapped.
//
// Threading: pure functions.

#ifndef LEEWAY_DEVICE_CYCLES_H_
#define LEEWAY_DEVICE_CYCLES_H_

#include <cstdint>

#include "device/group_shape.h"
#include "device/spec.h"

namespace leeway::device {

// Rounds up without libm. From 2⁵³ on a double has no fraction.
inline double Ceil(double x) {
  if (!(x < 0x1p53)) return x;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

// A product in row blocks of `rows`, weight stationary, weights and accumulators double-buffered
// (ONNXim, SystolicWS): each fold of rows × cols weights costs max(rows streamed, weight load); the
// first load and the pipeline's length show once, since folds, blocks and instances follow one
// another. Several arrays divide either the folds or the rows, whichever is faster. Density leaves
// out row tiles.
double ProductCycles(const CoreClass& core, const Product& product, std::int64_t rows);

// ceil(ops / (lanes · issue)) · dtype factor after the unit's latency (COST_MODEL section 3).
double VectorCycles(const CoreClass& core, double ops, double dtype_factor);

// Multiply-adds a cycle with everything busy: arrays, or the vector unit of a core without any.
double PeakMacs(const CoreClass& core);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_CYCLES_H_
