#include "device/cycles.h"

#include <algorithm>

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

}  // namespace leeway::device
