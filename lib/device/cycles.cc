#include "device/cycles.h"

#include <algorithm>

#include "base/math.h"

namespace leeway::device {
namespace {

double AsDouble(std::int64_t value) { return static_cast<double>(value); }

double FoldsAlong(std::int64_t whole, std::uint32_t side) {
  return AsDouble(base::CeilDiv(whole, side));
}

bool HoldsOutputs(const CoreClass& core) {
  return core.mode == ComputeMode::kScaleSim && core.dataflow == Dataflow::kOutputStationary;
}

double LaneCycles(const CoreClass& core, double ops) {
  return Ceil(ops / (static_cast<double>(core.vector_lanes) * core.vector_issue));
}

// What of a product's folds does not depend on its rows; 0 for what does.
Folds FixedFolds(const CoreClass& core, const Product& product) {
  if (HoldsOutputs(core)) {
    return {0, FoldsAlong(product.n, core.array_cols), AsDouble(product.k)};
  }
  const double depth =
      product.taps == 1 ? FoldsAlong(product.k, core.array_rows)
                        : AsDouble(product.taps) *
                              FoldsAlong(base::CeilDiv(product.k, product.taps), core.array_rows);
  if (core.dataflow == Dataflow::kInputStationary) return {depth, 0, AsDouble(product.n)};
  return {depth, FoldsAlong(product.n, core.array_cols), 0};
}

Folds AtRows(const CoreClass& core, Folds folds, std::int64_t m) {
  if (core.dataflow == Dataflow::kWeightStationary) {
    folds.stream = AsDouble(m);
  } else if (HoldsOutputs(core)) {
    folds.rows = FoldsAlong(m, core.array_rows);
  } else {
    folds.cols = FoldsAlong(m, core.array_cols);
  }
  return folds;
}

FoldShare Share(const CoreClass& core, const Folds& folds, double count) {
  using Way = FoldShare::Way;
  const double all = folds.rows * folds.cols * count;
  const double fold = FoldCycles(core, folds.stream);
  if (core.arrays == 1) return {Way::kDealt, all, fold};
  const double arrays = core.arrays;
  FoldShare dealt{Way::kDealt, Ceil(all / arrays), fold};
  // No two folds add to the same result.
  if (HoldsOutputs(core)) return dealt;
  const FoldShare columns{Way::kColumns, Ceil(folds.cols * count / arrays) * folds.rows, fold};
  const FoldShare stream{Way::kStream, all, FoldCycles(core, Ceil(folds.stream / arrays))};
  const FoldShare& best = stream.cycles() < columns.cycles() ? stream : columns;
  if (core.vector_lanes == 0) return best;
  // A column is cut in two at most arrays - 1 times; the vector unit adds the parts.
  const double sums = (arrays - 1) * folds.stream * static_cast<double>(core.array_cols);
  dealt.join_cycles = LaneCycles(core, sums);
  return dealt.cycles() < best.cycles() ? dealt : best;
}

}  // namespace

Folds FoldsOf(const CoreClass& core, const Product& product, std::int64_t m) {
  return AtRows(core, FixedFolds(core, product), m);
}

double FoldCycles(const CoreClass& core, double stream) {
  if (core.mode == ComputeMode::kOverlapped) {
    return std::max(stream, static_cast<double>(core.weight_load_cycles));
  }
  const double rows = core.array_rows;
  const bool extra = core.dataflow != Dataflow::kOutputStationary || core.drain;
  return (extra ? rows : 0) + rows + core.array_cols + stream - 2;
}

FoldShare ShareFolds(const CoreClass& core, const Product& product, std::int64_t rows) {
  return Share(core, FoldsOf(core, product, rows), AsDouble(product.count));
}

double ProductCycles(const CoreClass& core, const Product& product, std::int64_t rows) {
  const Folds fixed = FixedFolds(core, product);
  const double count = AsDouble(product.count);
  const std::int64_t block = std::min(rows, product.m);
  const std::int64_t full = product.m / block;
  const std::int64_t rest = product.m - full * block;
  double busy = AsDouble(full) * Share(core, AtRows(core, fixed, block), count).cycles();
  // What is left is a block of its own.
  if (rest > 0) busy += Share(core, AtRows(core, fixed, rest), count).cycles();
  const double spent = product.dtype_factor * product.density * busy;
  if (core.mode == ComputeMode::kScaleSim) return spent;
  return core.first_load_cycles + spent + core.pipeline_cycles;
}

ArrayAccesses AccessesOf(const CoreClass& core, const Product& product) {
  const Folds folds = FoldsOf(core, product, product.m);
  const double count = AsDouble(product.count);
  const double left = AsDouble(product.m) * AsDouble(product.k) * count;
  const double right = AsDouble(product.k) * AsDouble(product.n) * count;
  const double out = AsDouble(product.m) * AsDouble(product.n) * count;
  if (HoldsOutputs(core)) return {left * folds.cols, right * folds.rows, out};
  if (core.dataflow == Dataflow::kInputStationary) {
    return {left, right * folds.cols, out * folds.rows};
  }
  return {left * folds.cols, right, out * folds.rows};
}

double VectorCycles(const CoreClass& core, double ops, double dtype_factor) {
  return core.vector_latency_cycles + LaneCycles(core, ops) * dtype_factor;
}

double PeakMacs(const CoreClass& core) {
  if (core.arrays > 0) {
    return static_cast<double>(core.array_rows) * core.array_cols * core.arrays;
  }
  // A multiply-add is two operations of a lane.
  return static_cast<double>(core.vector_lanes) * core.vector_issue / 2;
}

}  // namespace leeway::device
