#include "device/cycles.h"

#include <algorithm>

#include "base/math.h"

namespace leeway::device {
namespace {

// Cycles in which all folds of all instances see one block of `rows` rows.
double BlockCycles(const CoreClass& core, double folds, std::int64_t rows) {
  if (rows == 0) return 0;
  const auto streamed = static_cast<double>(rows);
  const double load = core.weight_load_cycles;
  const double arrays = core.arrays;
  const double folds_divided = Ceil(folds / arrays) * std::max(streamed, load);
  const double rows_divided = folds * std::max(Ceil(streamed / arrays), load);
  return std::min(folds_divided, rows_divided);
}

}  // namespace

double ProductCycles(const CoreClass& core, const Product& product, std::int64_t rows) {
  const std::int64_t block = std::min(rows, product.m);
  const double folds = static_cast<double>(base::CeilDiv(product.k, core.array_rows)) *
                       static_cast<double>(base::CeilDiv(product.n, core.array_cols)) *
                       static_cast<double>(product.count);
  // Whole blocks; the rest is a block of its own.
  const std::int64_t full = product.m / block;
  const double busy = static_cast<double>(full) * BlockCycles(core, folds, block) +
                      BlockCycles(core, folds, product.m % block);
  return core.first_load_cycles + product.dtype_factor * product.density * busy +
         core.pipeline_cycles;
}

double VectorCycles(const CoreClass& core, double ops, double dtype_factor) {
  const double width = static_cast<double>(core.vector_lanes) * core.vector_issue;
  return core.vector_latency_cycles + Ceil(ops / width) * dtype_factor;
}

double PeakMacs(const CoreClass& core) {
  if (core.arrays > 0) {
    return static_cast<double>(core.array_rows) * core.array_cols * core.arrays;
  }
  // A multiply-add is two operations of a lane.
  return static_cast<double>(core.vector_lanes) * core.vector_issue / 2;
}

}  // namespace leeway::device
