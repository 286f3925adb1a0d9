// Parts of a plan that are plain values: what PlanBuilder takes beside sizes and handles.
// plan.proto has the definitions, field by field.
//
// Threading: values.

#ifndef LEEWAY_PLAN_PARTS_H_
#define LEEWAY_PLAN_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/size.h"
#include "leeway/time.h"
#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

enum class MemorySpace { kDram = 1, kSram, kHost };

// How a tensor's elements stand for numbers: one scale, one a slice along `axis`, or one a block of
// `block` elements along it. Scales that are a tensor are given to TensorRef::ScaledBy.
struct Quantization {
  std::vector<double> scale = {};
  std::vector<std::int64_t> zero_point = {};
  int axis = 0;
  std::int64_t block = 0;
  DType scale_dtype = DType::kF32;
};

struct Numerics {
  DType compute = DType::kF32;
  DType accumulation = DType::kF32;
  bool uses_sparsity = false;
  std::vector<std::pair<std::string, std::string>> notes = {};
};

// Row-major, in the tensor's own memory space and element size, unless it says otherwise.
struct TensorLayout {
  std::vector<int> minor_to_major = {};
  std::vector<std::vector<std::int64_t>> tiles = {};
  std::int64_t element_bits = 0;
  std::optional<MemorySpace> memory = {};
};

// Up to three extents each, x first.
struct LaunchShape {
  std::vector<Size> grid = {};
  std::vector<std::int64_t> block = {};
  std::int64_t shared_memory_bytes = 0;
  std::vector<std::int64_t> cluster = {};
};

// What a group does and moves, instead of the sum of its operators' own work.
struct GroupWork {
  Size flops = 0, read_bytes = 0, write_bytes = 0, scratch_bytes = 0;
};

// A point of a profile. A p90 of 0 is not known.
struct Prediction {
  Nanos p50{0}, p90{0};
  std::int64_t dram_bytes = 0, sram_peak_bytes = 0;
  std::string source = {};
  std::uint64_t samples = 0;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_PLAN_PARTS_H_
