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

double BlockCycles(const CoreClass& core, const Product& product, std::int64_t rows) {
  return rows == 0 ? 0 : ShareFolds(core, product, rows).cycles();
}

}  // namespace

Folds FoldsOf(const CoreClass& core, const Product& product, std::int64_t m) {
  const std::uint32_t rows = core.array_rows;
  const std::uint32_t cols = core.array_cols;
  if (HoldsOutputs(core))
    return {FoldsAlong(m, rows), FoldsAlong(product.n, cols), AsDouble(product.k)};
  const double taps = AsDouble(product.taps);
  const double depth = taps * FoldsAlong(base::CeilDiv(product.k, product.taps), rows);
  if (core.dataflow == Dataflow::kInputStationary) {
    return {depth, FoldsAlong(m, cols), AsDouble(product.n)};
  }
  return {depth, FoldsAlong(product.n, cols), AsDouble(m)};
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
  using Way = FoldShare::Way;
  const Folds folds = FoldsOf(core, product, rows);
  const double count = AsDouble(product.count);
  const double all = folds.rows * folds.cols * count;
  const double fold = FoldCycles(core, folds.stream);
  const double arrays = core.arrays;
  FoldShare dealt{Way::kDealt, Ceil(all / arrays), fold};
  // No two folds add to the same result.
  if (core.arrays == 1 || HoldsOutputs(core)) return dealt;
  const FoldShare columns{Way::kColumns, Ceil(folds.cols * count / arrays) * folds.rows, fold};
  const FoldShare stream{Way::kStream, all, FoldCycles(core, Ceil(folds.stream / arrays))};
  const FoldShare& best = stream.cycles() < columns.cycles() ? stream : columns;
  if (core.vector_lanes == 0) return best;
  // A column is cut in two at most arrays - 1 times; the vector unit adds the parts.
  const double sums = (arrays - 1) * folds.stream * static_cast<double>(core.array_cols);
  dealt.join_cycles = LaneCycles(core, sums);
  return dealt.cycles() < best.cycles() ? dealt : best;
}

double ProductCycles(const CoreClass& core, const Product& product, std::int64_t rows) {
  const std::int64_t block = std::min(rows, product.m);
  // Whole blocks; the rest is a block of its own.
  const std::int64_t full = product.m / block;
  const double busy = AsDouble(full) * BlockCycles(core, product, block) +
                      BlockCycles(core, product, product.m % block);
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
