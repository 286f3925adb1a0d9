// Cycles of the units of a core.
//
// Two modes of the matrix unit. `overlapped`: weights and accumulators are double-buffered, so that
// folds follow one another (ONNXim's SystolicWS, TPU v2 and later). `scalesim`: every fold loads,
// streams and drains by itself, as SCALE-Sim counts.
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

// How one instance of a product of m rows lies on an array: the cells hold rows × columns of one
// matrix in so many pieces (folds), and `stream` vectors pass through each.
struct Folds {
  double rows = 0, cols = 0;
  double stream = 0;
};
// Output stationary: cells hold m × n, k streams. Weight stationary: k × n, m. Input stationary:
// k × m, n.
Folds FoldsOf(const CoreClass& core, const Product& product, std::int64_t m);

// Cycles that one fold occupies an array for. Overlapped: the stream, or the load of the next
// weights if that is longer. SCALE-Sim: R to preload (weight, input stationary) or to drain (output
// stationary, where asked for) + stream + R + C − 2.
double FoldCycles(const CoreClass& core, double stream);

// How the core's arrays share the folds of all instances at one row block: `turns` folds of `fold`
// cycles one after another on the busiest array, and what the vector unit adds behind them.
struct FoldShare {
  enum class Way {
    kDealt,    // one by one: folds that add to one result may meet on two arrays
    kColumns,  // columns of folds, whole sums over k
    kStream,   // every array sees all folds and its part of the stream
  };
  Way way = Way::kDealt;
  double turns = 0, fold = 0, join_cycles = 0;

  double cycles() const { return turns * fold + join_cycles; }
};
FoldShare ShareFolds(const CoreClass& core, const Product& product, std::int64_t rows);

// A product in row blocks of `rows`. In mode overlapped the first load and the pipeline's length
// show once, since folds, blocks and instances follow one another. Density leaves out row tiles.
// One more than SCALE-Sim's figure, which is the index of the last cycle.
double ProductCycles(const CoreClass& core, const Product& product, std::int64_t rows);

// Elements that the arrays read of the left operand and of the right one, and write of the result,
// partial sums included, in all instances.
struct ArrayAccesses {
  double left = 0, right = 0, out = 0;
};
ArrayAccesses AccessesOf(const CoreClass& core, const Product& product);

// ceil(ops / (lanes · issue)) · dtype factor after the unit's latency (COST_MODEL section 3).
double VectorCycles(const CoreClass& core, double ops, double dtype_factor);

// Multiply-adds a cycle with everything busy: arrays, or the vector unit of a core without any.
double PeakMacs(const CoreClass& core);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_CYCLES_H_
