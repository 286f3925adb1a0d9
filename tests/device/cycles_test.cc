#include "device/cycles.h"

#include <algorithm>
#include <iterator>

#include "tests/catch.h"

namespace leeway::device {
namespace {

// One array of 128 × 128 whose weights take 128 cycles to load.
CoreClass OneArray() {
  CoreClass core;
  core.array_rows = core.array_cols = 128;
  core.arrays = 1;
  core.first_load_cycles = 255;
  core.weight_load_cycles = 128;
  core.pipeline_cycles = 254;
  return core;
}

Product ProductOf(std::int64_t m, std::int64_t k = 128, std::int64_t n = 128) {
  Product product;
  product.m = m;
  product.n = n;
  product.k = k;
  return product;
}

// An array in mode scalesim.
CoreClass ScaleSim(std::uint32_t rows, std::uint32_t cols, Dataflow dataflow) {
  CoreClass core;
  core.mode = ComputeMode::kScaleSim;
  core.dataflow = dataflow;
  core.array_rows = rows;
  core.array_cols = cols;
  core.arrays = 1;
  return core;
}

constexpr Dataflow kDataflows[] = {Dataflow::kOutputStationary, Dataflow::kWeightStationary,
                                   Dataflow::kInputStationary};

// When the last cell of a full fold has used the last of the stream: row i and column j see
// everything i + j cycles late, after what the cells hold has come in row by row.
double LastUse(const CoreClass& core, std::int64_t held_rows, std::int64_t held_cols,
               std::int64_t stream) {
  std::int64_t last = 0;
  const bool outputs = core.dataflow == Dataflow::kOutputStationary;
  for (std::int64_t row = 0; row < held_rows; ++row) {
    for (std::int64_t col = 0; col < held_cols; ++col) {
      last = std::max(last, (outputs ? 0 : held_rows) + (stream - 1) + row + col);
    }
  }
  return static_cast<double>(last + 1);
}

}  // namespace

TEST_CASE("a product's cycles are those of its whole blocks and of the rest", "[device][unit]") {
  const CoreClass core = OneArray();
  // Two blocks of 128 rows, and 44 rows that wait for the weights' 128 cycles all the same.
  CHECK(ProductCycles(core, ProductOf(300), 128) == 255 + 2 * 128 + 128 + 254);
  CHECK(ProductCycles(core, ProductOf(256), 128) == 255 + 2 * 128 + 254);
  CHECK(ProductCycles(core, ProductOf(300), 300) == 255 + 300 + 254);
  CHECK(ProductCycles(core, ProductOf(300), 1000) == 255 + 300 + 254);
}

TEST_CASE("blocks follow one another: cutting a product in two at a block's end saves nothing",
          "[device][property]") {
  const std::int64_t rows = GENERATE(1, 7, 64, 128, 200);
  const std::int64_t m = GENERATE(1, 63, 128, 129, 300, 1024);
  const CoreClass core = OneArray();
  const auto busy = [&](std::int64_t of) {
    const double ends = core.first_load_cycles + core.pipeline_cycles;
    return ProductCycles(core, ProductOf(of, 512, 384), rows) - ends;
  };
  CAPTURE(rows, m);
  CHECK(busy(m + rows) == busy(m) + busy(rows));
  // Each of the folds is loaded once a block, and all rows stream through each.
  const double folds = 4 * 3;
  const auto blocks = static_cast<double>((m + rows - 1) / rows);
  CHECK(busy(m) >= folds * std::max(static_cast<double>(m), blocks * 128));
  CHECK(busy(m) <= folds * (static_cast<double>(m) + blocks * 128));
}

TEST_CASE("a fold of SCALE-Sim is its stream and skew, and R cycles more to preload or to drain",
          "[device][unit]") {
  CoreClass outputs = ScaleSim(32, 16, Dataflow::kOutputStationary);
  CHECK(FoldCycles(outputs, 100) == 32 + 16 + 100 - 2);
  outputs.drain = true;
  CHECK(FoldCycles(outputs, 100) == 2 * 32 + 16 + 100 - 2);
  for (const Dataflow held : {Dataflow::kWeightStationary, Dataflow::kInputStationary}) {
    CHECK(FoldCycles(ScaleSim(32, 16, held), 100) == 2 * 32 + 16 + 100 - 2);
  }
}

TEST_CASE("a full fold lasts until its last cell has used the last of the stream",
          "[device][property]") {
  const Dataflow dataflow = GENERATE(from_range(std::begin(kDataflows), std::end(kDataflows)));
  const std::uint32_t rows = GENERATE(1u, 4u, 9u);
  const std::uint32_t cols = GENERATE(1u, 5u, 16u);
  const std::int64_t stream = GENERATE(1, 3, 50);
  const CoreClass core = ScaleSim(rows, cols, dataflow);
  CHECK(FoldCycles(core, static_cast<double>(stream)) == LastUse(core, rows, cols, stream));
}

TEST_CASE(
    "each multiply-add happens on a cell of a fold: folds cover the product and no more than a "
    "fold's side beyond it",
    "[device][property]") {
  const Dataflow dataflow = GENERATE(from_range(std::begin(kDataflows), std::end(kDataflows)));
  const std::int64_t m = GENERATE(1, 31, 33, 200);
  const std::int64_t k = GENERATE(1, 32, 100);
  const std::int64_t n = GENERATE(1, 16, 17, 90);
  const CoreClass core = ScaleSim(32, 16, dataflow);
  const Product product = ProductOf(m, k, n);
  const Folds folds = FoldsOf(core, product, m);
  const double macs = static_cast<double>(m * n * k);
  const double slots = folds.rows * 32 * folds.cols * 16 * folds.stream;
  CAPTURE(m, k, n);
  CHECK(slots >= macs);
  const double most = (static_cast<double>(std::max({m, k, n})) + 31);
  CHECK(slots <= most * most * most);
  const ArrayAccesses accesses = AccessesOf(core, product);
  // Every operand is read at least once, every result written at least once.
  CHECK(accesses.left >= static_cast<double>(m * k));
  CHECK(accesses.right >= static_cast<double>(k * n));
  CHECK(accesses.out >= static_cast<double>(m * n));
}

TEST_CASE("several arrays take at least their share of one array's time and at most all of it",
          "[device][property]") {
  const std::int64_t m = GENERATE(1, 100, 1000);
  const std::int64_t k = GENERATE(100, 128, 1000);
  const std::int64_t n = GENERATE(64, 300, 4096);
  const std::uint32_t arrays = GENERATE(2u, 3u, 4u, 16u);
  const std::uint32_t lanes = GENERATE(0u, 1024u);
  const ComputeMode mode = GENERATE(ComputeMode::kOverlapped, ComputeMode::kScaleSim);
  CoreClass one = OneArray();
  one.mode = mode;
  one.vector_lanes = lanes;
  CoreClass many = one;
  many.arrays = arrays;
  const Product product = ProductOf(m, k, n);
  CAPTURE(m, k, n, arrays, lanes);
  const double alone = ShareFolds(one, product, m).cycles();
  const double shared = ShareFolds(many, product, m).cycles();
  CHECK(shared * arrays >= alone);
  CHECK(shared <= alone);
}

TEST_CASE("arrays without a vector unit never share the sum of a column", "[device][unit]") {
  CoreClass core = OneArray();
  core.arrays = 4;
  // Two folds deep and one wide: nothing to divide but the stream.
  const Product deep = ProductOf(1000, 256, 128);
  CHECK(ShareFolds(core, deep, 1000).way == FoldShare::Way::kStream);
  const Product few_rows = ProductOf(8, 512, 128);
  CHECK(ShareFolds(core, few_rows, 8).turns == 4);
  core.vector_lanes = 1024;
  // 3 · 8 · 128 additions of the parts take 3 cycles.
  CHECK(ShareFolds(core, few_rows, 8).way == FoldShare::Way::kDealt);
  CHECK(ShareFolds(core, few_rows, 8).cycles() == 128 + 3);
}

TEST_CASE("by taps a window's positions are folds of their own", "[device][unit]") {
  const CoreClass core = OneArray();
  Product conv = ProductOf(12'544, 147, 64);
  CHECK(ProductCycles(core, conv, 12'544) == 255 + 2 * 12'544 + 254);
  conv.taps = 49;
  CHECK(ProductCycles(core, conv, 12'544) == 255 + 49 * 12'544 + 254);
}

}  // namespace leeway::device
