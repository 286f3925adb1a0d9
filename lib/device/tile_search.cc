#include "device/tile_search.h"

#include <algorithm>
#include <limits>

#include "base/math.h"
#include "device/cycles.h"
#include "device/dma.h"

namespace leeway::device {
namespace {

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();
constexpr double kAccumulatorBytes = 4;  // f32 or i32 partial sums
// Sides of the sub-tiles that DMA moves, in array sides: the smallest whose computation hides its
// own transfer on the shipped devices (COST_MODEL section 5: time >= latency + bytes / bandwidth).
constexpr std::int64_t kSubTile = 2;
constexpr double kTrafficWeight = 64;

class Search {
 public:
  Search(const GroupShape& shape, const CoreClass& core, double bytes_per_ns)
      : shape_(shape),
        core_(core),
        lines_(DramLinesOf(core)),
        fair_(bytes_per_ns),
        sub_rows_(kSubTile * core.array_rows),
        sub_cols_(kSubTile * core.array_cols),
        depth_(sub_rows_) {}

  TileResult Run(const plan::Tiling& tiling) {
    if (shape_.products.empty()) {
      Streamed();
    } else if (tiling.m > 0) {
      given_ = tiling.n > 0;
      if (tiling.k > 0) depth_ = tiling.k;
      All(tiling.m, tiling.n > 0 ? tiling.n : kWhole);
    } else {
      Octaves();
    }
    return result_;
  }

 private:
  // Row blocks in octaves of the array's rows; smaller ones waste its weight loads, but may be all
  // that fits.
  void Octaves() {
    const std::int64_t side = core_.array_rows;
    floor_ = Floor();
    All(kWhole, kWhole);
    for (std::int64_t rows = 64 * side; rows >= side; rows /= 2) Candidate(rows);
    for (std::int64_t rows = side / 4; rows > 0; rows /= 4) Candidate(rows);
  }

  // What no tiling betters: one block, every operand read once.
  double Floor() const {
    TileCost least;
    least.dram_bytes = shape_.read_bytes + shape_.constant_bytes + shape_.write_bytes;
    for (const Product& product : shape_.products) {
      least.dram_bytes += product.right_bytes() * static_cast<double>(product.count);
      least.matrix_cycles += ProductCycles(core_, product, kWhole);
    }
    EdgeTiles(least);
    Time(least);
    return least.score;
  }

  void Candidate(std::int64_t rows) {
    // One that holds everything is the whole again.
    if (rows >= shape_.rows) return;
    if (result_.best && result_.best->score <= floor_) return;
    All(rows, kWhole);
  }

  void All(std::int64_t rows, std::int64_t cols) {
    cycles_ = 0;
    for (const Product& product : shape_.products) cycles_ += ProductCycles(core_, product, rows);
    RowBlocks(rows);
    if (!shape_.any_order) return;
    const double blocks = Blocks(shape_.products[0], rows);
    StreamBoth(rows, cols, blocks);
    HoldRight(rows, cols, blocks);
  }

  // All work in blocks of `rows` rows; the left panel stays, right operands stream by.
  void RowBlocks(std::int64_t rows) {
    const bool whole = rows >= shape_.rows;
    if (shape_.inner_right && !whole) return;
    const auto block = static_cast<double>(std::min(rows, shape_.rows));
    const bool several = !whole || shape_.instances > 1;
    TileCost cost;
    cost.dram_bytes = shape_.read_bytes + shape_.constant_bytes + shape_.write_bytes;
    double right_tile = 0;
    double all_right = 0;
    double widest = 0;
    std::int64_t last_cols = 1;
    for (const Product& product : shape_.products) {
      const std::int64_t cols = std::min<std::int64_t>(product.n, core_.array_cols);
      const std::int64_t depth = std::min(product.k, depth_);
      right_tile = std::max(right_tile, 2 * static_cast<double>(depth) * static_cast<double>(cols) *
                                            product.right_element);
      all_right += product.right_bytes() * product.span;
      widest = std::max(widest, static_cast<double>(cols));
      last_cols = product.n;
    }
    const double share =
        std::min(1.0, static_cast<double>(core_.array_cols) / static_cast<double>(last_cols));
    cost.sram_bytes = block * (shape_.input_row * (several ? 2 : 1) + shape_.inner_row +
                               shape_.tile_row * share) +
                      shape_.constant_bytes + right_tile;
    const double accumulators = block * widest * kAccumulatorBytes;
    const bool hold_right = Fits(cost.sram_bytes - right_tile + all_right, accumulators);
    if (hold_right) cost.sram_bytes += all_right - right_tile;
    const LoopOrder order = hold_right ? LoopOrder::kHoldAll : LoopOrder::kRowBlocks;
    for (const Product& product : shape_.products) {
      const double blocks = Blocks(product, rows);
      const double passes = hold_right ? 1 : Passes(product, blocks);
      cost.dram_bytes += product.right_bytes() * static_cast<double>(product.count) * passes +
                         product.halo_bytes * (blocks - 1);
    }
    cost.matrix_cycles = cycles_;
    EdgeTiles(cost);
    Offer(cost, {order, std::min(rows, shape_.rows), shape_.products.front().n}, accumulators);
  }

  // Output tiles of rows × cols; both operands pass once for each tile row or column.
  void StreamBoth(std::int64_t rows, std::int64_t cols, double blocks) {
    const Product& product = shape_.products[0];
    const auto block = static_cast<double>(std::min(rows, product.m));
    const auto depth = static_cast<double>(std::min(product.k, depth_));
    const double left = 2 * block * depth * product.left_element;
    const double per_col = 2 * depth * product.right_element + TileCol(product, block);
    cols = Cols(product, cols, left + shape_.constant_bytes, per_col, block);
    if (cols == 0) return;
    TileCost cost;
    cost.sram_bytes = left + shape_.constant_bytes + per_col * static_cast<double>(cols);
    ReRead(product, cols, blocks, Passes(product, blocks), cost);
    Offer(cost, {LoopOrder::kBothStream, std::min(rows, product.m), cols},
          block * static_cast<double>(cols) * kAccumulatorBytes);
  }

  // Panels of `cols` columns of the right operand stay; the left one passes once for each.
  void HoldRight(std::int64_t rows, std::int64_t cols, double blocks) {
    const Product& product = shape_.products[0];
    const auto block = static_cast<double>(std::min(rows, product.m));
    const auto depth = static_cast<double>(std::min(product.k, depth_));
    const double left = 2 * block * depth * product.left_element;
    const double per_col =
        2 * static_cast<double>(product.k) * product.right_element + TileCol(product, block);
    cols = Cols(product, cols, left + shape_.constant_bytes, per_col, block);
    if (cols == 0) return;
    TileCost cost;
    cost.sram_bytes = left + shape_.constant_bytes + per_col * static_cast<double>(cols);
    ReRead(product, cols, blocks, 1, cost);
    Offer(cost, {LoopOrder::kHoldRight, std::min(rows, product.m), cols},
          block * static_cast<double>(cols) * kAccumulatorBytes);
  }

  static double Blocks(const Product& product, std::int64_t rows) {
    if (rows >= product.m) return 1;
    return static_cast<double>(base::CeilDiv(product.m, rows));
  }

  // Of the right operand: a row block skips what its mask skips.
  static double Passes(const Product& product, double blocks) {
    return std::max(1.0, blocks * product.density);
  }

  // Results and residuals of a column of a tile.
  double TileCol(const Product& product, double block) const {
    return block * shape_.tile_row / static_cast<double>(product.n);
  }

  // A searched tile is as wide as fits; a given one is never cut.
  std::int64_t Cols(const Product& product, std::int64_t wanted, double fixed, double per_col,
                    double block) const {
    if (given_) return std::min(wanted, product.n);
    return std::min(wanted, MostCols(product, fixed, per_col, block));
  }

  // The most columns, whole array sides or all, that fit beside `fixed` bytes. Wider is never
  // slower: it only spares reads of the left operand.
  std::int64_t MostCols(const Product& product, double fixed, double per_col, double block) const {
    const double sums = block * kAccumulatorBytes;
    if (core_.accumulator_bytes == 0) per_col += 2 * sums;
    double room = (static_cast<double>(core_.tile_bytes()) - fixed) / per_col;
    if (core_.accumulator_bytes > 0) room = std::min(room, AccumulatorRoom() / sums);
    if (!(room >= 1)) return 0;
    if (room >= static_cast<double>(product.n)) return product.n;
    const auto cols = static_cast<std::int64_t>(room);
    return cols - cols % core_.array_cols;
  }

  void ReRead(const Product& product, std::int64_t cols, double blocks, double right_passes,
              TileCost& cost) {
    const double left_passes =
        cols == product.n ? 1 : static_cast<double>(base::CeilDiv(product.n, cols));
    cost.dram_bytes = shape_.read_bytes + shape_.constant_bytes + shape_.write_bytes +
                      (left_passes - 1) * product.left_bytes +
                      left_passes * (blocks - 1) * product.halo_bytes +
                      right_passes * product.right_bytes() * static_cast<double>(product.count);
    cost.matrix_cycles = cycles_;
    EdgeTiles(cost);
  }

  // No product: chunks of what a DMA's latency hides pass through the vector unit.
  void Streamed() {
    const DramLine& line = lines_.read;
    const double room = (static_cast<double>(core_.tile_bytes()) - shape_.scratch_bytes) / 4;
    const double chunk =
        std::max<double>(std::min(line.latency_ns * line.bytes_per_ns, room), line.granule_bytes);
    TileCost cost;
    cost.dram_bytes = shape_.read_bytes + shape_.constant_bytes + shape_.write_bytes;
    cost.first_bytes = std::min(shape_.read_bytes + shape_.constant_bytes, chunk);
    cost.last_bytes = std::min(shape_.write_bytes, chunk);
    cost.sram_bytes = 2 * (cost.first_bytes + cost.last_bytes) + shape_.scratch_bytes;
    Offer(cost, {}, 0);
  }

  // What must be there before the first fold can start, and what leaves after the last.
  void EdgeTiles(TileCost& cost) const {
    const Product& first = shape_.products.front();
    const Product& last = shape_.products.back();
    const auto top = static_cast<double>(std::min(shape_.rows, sub_rows_));
    const auto depth = static_cast<double>(std::min(first.k, depth_));
    const auto cols = static_cast<double>(std::min(first.n, sub_cols_));
    const double left = first.left_element > 0 ? depth * first.left_element : shape_.input_row;
    cost.first_bytes = top * left + depth * cols * first.right_element;
    const double share =
        std::min(1.0, static_cast<double>(sub_cols_) / static_cast<double>(last.n));
    cost.last_bytes = top * shape_.write_row * share;
  }

  double AccumulatorRoom() const { return static_cast<double>(core_.accumulator_bytes) / 2; }

  // Accumulators are double-buffered too (ONNXim: scratchpad and accumulators each in two halves).
  bool Fits(double sram, double accumulators) const {
    if (core_.accumulator_bytes == 0) sram += 2 * accumulators;
    const bool sums = core_.accumulator_bytes == 0 || accumulators <= AccumulatorRoom();
    return sums && sram <= static_cast<double>(core_.tile_bytes());
  }

  // Completes the cost, and keeps it if it is the best.
  void Offer(TileCost cost, const Tile& tile, double accumulators) {
    const double need = cost.sram_bytes + 2 * accumulators;
    if (result_.least_need == 0 || need < result_.least_need) result_.least_need = need;
    if (!Fits(cost.sram_bytes, accumulators)) return;
    if (core_.accumulator_bytes == 0) cost.sram_bytes = need;
    Time(cost);
    if (result_.best && !(cost.score < result_.best->score)) return;
    result_.best = cost;
    result_.tile = tile;
  }

  void Time(TileCost& cost) const {
    const double plain = shape_.plain_macs > 0 ? Ceil(shape_.plain_macs / PeakMacs(core_)) : 0;
    cost.matrix_cycles += plain;
    // The units run side by side on different row blocks.
    cost.cycles = std::max(cost.matrix_cycles, shape_.vector_cycles);
    cost.compute_ns = cost.cycles * 1e9 / static_cast<double>(core_.clock_hz);
    cost.fill_ns = lines_.read.Ns(cost.first_bytes);
    cost.drain_ns = lines_.write.Ns(cost.last_bytes);
    cost.transfer_ns = lines_.TransferNs(cost.dram_bytes, shape_.write_bytes, fair_);
    cost.time_ns = cost.fill_ns + std::max(cost.compute_ns, cost.transfer_ns) + cost.drain_ns;
    cost.score = cost.time_ns + cost.transfer_ns / kTrafficWeight;
  }

  const GroupShape& shape_;
  const CoreClass& core_;
  DramLines lines_;
  double fair_;
  std::int64_t sub_rows_, sub_cols_;
  std::int64_t depth_;  // of what is moved at once
  bool given_ = false;  // the columns of a tile are the plan's
  double floor_ = 0;
  double cycles_ = 0;  // of the products, at the row block under consideration
  TileResult result_;
};

}  // namespace

TileResult SearchTile(const GroupShape& shape, const CoreClass& core, const plan::Tiling& tiling,
                      double bytes_per_ns) {
  return Search(shape, core, bytes_per_ns).Run(tiling);
}

}  // namespace leeway::device
