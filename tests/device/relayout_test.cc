#include "device/relayout.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/math.h"
#include "base/prng.h"
#include "device/step_cost.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using testing::PlanMaker;
using Shape = std::vector<std::int64_t>;

plan::Tensor TensorOf(const Shape& shape, DType dtype) {
  plan::Tensor tensor;
  tensor.dtype = dtype;
  for (const std::int64_t extent : shape) tensor.shape.push_back(plan::Expr::Constant(extent));
  return tensor;
}

plan::Layout Ordered(std::vector<plan::Index> minor_to_major, std::vector<Shape> tiles = {}) {
  plan::Layout layout;
  layout.minor_to_major = std::move(minor_to_major);
  layout.tiles = std::move(tiles);
  return layout;
}

// Where the element of this row-major number lies, in elements, by XLA's definition: the index in
// the order of the dimensions; each tile divides the most minor ones into which tile and where in
// it.
std::int64_t AddressOf(std::int64_t element, const Shape& shape, const plan::Layout& layout) {
  Shape index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; element /= shape[d]) index[d] = element % shape[d];
  Shape at, bound;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::size_t from =
        layout.minor_to_major.empty() ? shape.size() - 1 - d : layout.minor_to_major[d];
    at.push_back(index[from]);
    bound.push_back(shape[from]);
  }
  for (const Shape& tile : layout.tiles) {
    const std::size_t first = at.size() - tile.size();
    Shape within;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      within.push_back(at[first + i] % tile[i]);
      at[first + i] /= tile[i];
      bound[first + i] = (bound[first + i] + tile[i] - 1) / tile[i];
    }
    at.insert(at.end(), within.begin(), within.end());
    bound.insert(bound.end(), tile.begin(), tile.end());
  }
  std::int64_t address = 0;
  for (std::size_t i = 0; i < at.size(); ++i) address = address * bound[i] + at[i];
  return address;
}

}  // namespace

TEST_CASE("what a layout takes and which runs it keeps are those of every element's address",
          "[device][layout]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    base::Prng prng(seed);
    Shape shape(1 + prng.Below(4));
    for (std::int64_t& extent : shape) extent = 1 + static_cast<std::int64_t>(prng.Below(9));
    std::vector<plan::Index> order(shape.size());
    std::iota(order.rbegin(), order.rend(), plan::Index{0});
    for (std::size_t i = prng.Below(2) * (order.size() - 1); i > 0; --i) {
      std::swap(order[i], order[prng.Below(i + 1)]);
    }
    plan::Layout layout = Ordered(order);
    if (prng.Below(2) == 0) {
      Shape& tile = layout.tiles.emplace_back(1 + prng.Below(shape.size()));
      for (std::int64_t& extent : tile) extent = 1 + static_cast<std::int64_t>(prng.Below(4));
      if (prng.Below(3) == 0) layout.tiles.push_back({2, 1});
    }
    if (layout.tiles.size() == 2 && shape.size() + layout.tiles[0].size() < 2) continue;
    const Relayout relayout = RelayoutOf(TensorOf(shape, DType::kInt8), layout, {}, 1);
    const auto elements = std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                          [](std::int64_t a, std::int64_t b) { return a * b; });
    CHECK(relayout.plain_bytes == static_cast<double>(elements));
    std::set<std::int64_t> addresses;
    const auto run = static_cast<std::int64_t>(relayout.run_bytes);
    for (std::int64_t e = 0; e < elements; ++e) {
      addresses.insert(AddressOf(e, shape, layout));
      // Rows begin runs: a row is cut into runs, the last of which may be shorter.
      const std::int64_t row = std::max(run, shape.back());
      const bool begins = e % row % run == 0;
      if (e > 0 && !begins && layout.tiles.size() < 2) {
        CHECK(AddressOf(e, shape, layout) == AddressOf(e - 1, shape, layout) + 1);
      }
    }
    CHECK(addresses.size() == static_cast<std::size_t>(elements));
    CHECK(static_cast<double>(*addresses.rbegin()) < relayout.laid_bytes);
    // Padding is less than a tile in each direction.
    double most = relayout.plain_bytes;
    for (const Shape& tile : layout.tiles) {
      for (const std::int64_t extent : tile) most *= static_cast<double>(extent);
    }
    CHECK(relayout.laid_bytes <= most);
    CHECK(relayout.efficiency == 1);
  }
}

TEST_CASE("tiles of XLA's TPU pad a small array, and channels last read single elements",
          "[device][layout]") {
  // T(8,128): 10 × 200 elements stand in 16 × 256.
  const Relayout tiled =
      RelayoutOf(TensorOf({10, 200}, DType::kF32), Ordered({1, 0}, {{8, 128}}), {}, 512);
  CHECK(tiled.plain_bytes == 10 * 200 * 4);
  CHECK(tiled.laid_bytes == 16 * 256 * 4);
  CHECK(tiled.run_bytes == 128 * 4);
  CHECK(tiled.efficiency == 1);
  // NCHW as NHWC: minor to major C, W, H, N. Two bytes of each granule of 32 count.
  const Relayout last =
      RelayoutOf(TensorOf({2, 16, 8, 8}, DType::kBf16), Ordered({1, 3, 2, 0}), {}, 32);
  CHECK(last.laid_bytes == last.plain_bytes);
  CHECK(last.run_bytes == 2);
  CHECK(last.efficiency == 2.0 / 32);
  CHECK(last.traffic() == 2 * 16 * 8 * 8 * 2 * (1 + 16.0));
  // Images changed places with channels: whole images of 8 × 8 stay together.
  const Relayout swapped =
      RelayoutOf(TensorOf({2, 16, 8, 8}, DType::kBf16), Ordered({3, 2, 0, 1}), {}, 32);
  CHECK(swapped.run_bytes == 8 * 8 * 2);
  CHECK(swapped.efficiency == 1);
  // Elements of four bits, one to a byte.
  plan::Layout unpacked = Ordered({1, 0});
  unpacked.element_bits = 8;
  CHECK(RelayoutOf(TensorOf({4, 6}, DType::kInt4), unpacked, {}, 1).laid_bytes == 24);
  CHECK(RelayoutOf(TensorOf({4, 6}, DType::kInt4), unpacked, {}, 1).plain_bytes == 12);
}

TEST_CASE("a group that converts moves the copy's bytes more and takes as much longer as it says",
          "[device][layout]") {
  const Spec device = testing::Shipped();
  for (const std::int64_t rows : {16, 4096}) {
    for (const std::int64_t shards : {1, 4}) {
      CAPTURE(rows, shards);
      PlanMaker plan;
      const std::string m = std::to_string(rows);
      plan.Tensor("x", plan::TensorKind::kInput, m + " * 512");
      plan.Tensor("w", plan::TensorKind::kWeight, "512 * 512");
      plan.Tensor("y", plan::TensorKind::kOutput, m + " * 512");
      plan.Gemm("mm", {"x", "w"}, "y", m, "512", "512");
      plan::Group& group = plan.Group("g", {"mm"});
      const StepCost plain = testing::CostOfGroup(plan, group, {}, device, shards);
      CHECK(plain.relayout == Nanos{0});
      plan::Tensor& x = plan.body().tensors[0];
      x.shape = {plan::Expr::Constant(rows), plan::Expr::Constant(512)};
      group.converts.push_back(Ordered({0, 1}));
      const StepCost copied = testing::CostOfGroup(plan, group, {}, device, shards);
      const double traffic =
          RelayoutOf(x, group.converts[0], {}, device.classes[0].dma_granule_bytes).traffic();
      CHECK(copied.dram_bytes - plain.dram_bytes ==
            base::CeilDiv(static_cast<std::int64_t>(traffic), shards));
      const ByteUnits rate = device.dram_rate();
      CHECK(copied.Alone(rate) == plain.Alone(rate) + copied.relayout);
      // No faster than the port moves the copy, and no slower but for rounding.
      const double port = static_cast<double>(device.classes[0].dma_bytes_per_second) / 1e9;
      const double least = traffic / static_cast<double>(shards) / port;
      CHECK(static_cast<double>(copied.relayout.count()) >= least - 1);
      CHECK(static_cast<double>(copied.relayout.count()) <= least + 2);
      CHECK(copied.energy_pj > plain.energy_pj);
    }
  }
}

}  // namespace leeway::device
