// One shard of a step as the tile search sees it: products, and what a row block of it reads, holds
// and writes.
//
// A group runs in blocks of rows, as fused kernels do (FlashAttention, Dao et al. 2022): a block's
// outer inputs and the inner tensors that a later product or reduction needs whole are held as
// panels of its rows; the right operands (weights, keys, values) stream by once a block; results
// leave tile by tile. Instances (heads) of products that have several follow one another.
//
// Threading: values.

#ifndef LEEWAY_DEVICE_GROUP_SHAPE_H_
#define LEEWAY_DEVICE_GROUP_SHAPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "device/group_work.h"
#include "device/spec.h"

namespace leeway::device {

// How shards divide a group. Rows (and whole instances first): every shard reads all weights.
// Columns: every shard reads all left operands and repeats the elementwise work before the
// products.
enum class Split { kRows, kColumns };

struct Product {
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  std::int64_t taps = 1;  // k is cut into so many equal parts: a convolution tap by tap
  double density = 1;
  double dtype_factor = 1;
  // Bytes of an element; 0 for an operand that was made inside the group.
  double left_element = 0, right_element = 0, out_element = 0;
  double resident_element = 0;  // of a right operand that the core keeps: right_element is 0 then
  double left_bytes = 0;        // of all instances, read once; 0 if made inside
  double halo_bytes = 0;        // of the left operand, read again by each row block
  // Instances that one row block of the group spans.
  double span = 1;

  // Of one instance.
  double right_bytes() const {
    return static_cast<double>(n) * static_cast<double>(k) * right_element;
  }
};

struct GroupShape {
  std::vector<Product> products;
  std::int64_t rows = 1;       // of one instance of the products with the fewest instances
  std::int64_t instances = 1;  // of those
  // Traffic that no tiling changes: inputs read once, constants, outputs. Left operands are among
  // the inputs; right operands are not.
  double read_bytes = 0, constant_bytes = 0, write_bytes = 0;
  // A row's bytes: of outer inputs held as panels, of inner panels (the most alive at once), and of
  // what is held tile by tile, for a full row.
  double input_row = 0, inner_row = 0, tile_row = 0, write_row = 0;
  // A right operand is made inside: the group must run as one block.
  bool inner_right = false;
  double vector_cycles = 0, vector_ops = 0;
  // Work stated as a count of multiply-adds, and SRAM stated with it.
  double plain_macs = 0, scratch_bytes = 0;
  bool single = false;  // one operator
  // One product whose left operand comes from outside, and nothing that needs whole rows: any loop
  // order is open, not only row blocks.
  bool any_order = false;
};

// Returns the shard's shape, or nothing if the split does not apply: columns need products that
// neither feed one another nor have instances, and no reduction after them.
std::optional<GroupShape> ShapeOf(SizeReader& sizes, const Pieces& pieces, std::int64_t shards,
                                  Split split, const CoreClass& core);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_GROUP_SHAPE_H_
