// What one operator costs on one core of a device, and why.
//
// Threading: pure functions.
// Time:      at the core's nominal clock, with the device's DRAM shared by the shards alone.
// Errors:    returned; nothing is printed.

#ifndef LEEWAY_COST_H_
#define LEEWAY_COST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/device.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"
#include "leeway/work.h"

namespace leeway {
inline namespace v0 {

// A tile of m × n results; operands come in pieces of depth k. 0: searched.
struct TileSizes {
  std::int64_t m = 0, n = 0, k = 0;
};

// An operator by itself: its operands come from DRAM and its result goes there.
struct OperatorSpec {
  std::string name = "op";
  // Sizes are numbers. GEMM, CONV, VECTOR, REDUCE, MOVE and CUSTOM are modelled.
  Work work = Custom{0, 0};
  // As in a plan, "gelu": what a device says of a kind of operator counts for its operators.
  std::string kind = {};
  DType dtype = DType::kBf16;
  // Of a product.
  TileSizes tile = {};
  // The cost is that of the largest of so many equal parts, each on a core.
  std::int64_t shards = 1;
  // The first that can run it if empty.
  std::string core_class = {};
};

// What decided a step's time.
enum class CostBound { kCompute, kBandwidth, kLaunch, kSram, kVector };
// "compute", …
const char* CostBoundName(CostBound bound);

// A term of a formula: "matrix" = "255 + 36 · 512 + 254" = 18941 cycles.
struct CostTerm {
  std::string name, formula;
  double value = 0;
  std::string unit;
};

// Elements that the arrays read of the left and the right operand and write of the result, partial
// sums included.
struct ArrayTraffic {
  std::int64_t left = 0, right = 0, out = 0;
};

struct OperatorCost {
  std::string name, core_class;
  // Occupied by the unit that computes; 0 for what only moves. SCALE-Sim prints the index of the
  // last cycle, one less.
  std::int64_t cycles = 0;
  // Share of that unit's peak over those cycles.
  double utilization = 0;
  std::int64_t macs = 0, vector_ops = 0;
  std::int64_t dram_bytes = 0, sram_peak_bytes = 0;
  ArrayTraffic array_traffic;
  // Of the step; a run's own launch is not in.
  Nanos launch{0}, fill{0}, body{0}, drain{0};
  // Joules: of the events of this step, and of the whole device's static power over time(). Each
  // is absent where the device states no such power, and energy_reason says so.
  std::optional<double> dynamic_energy_j, static_energy_j;
  // Both; absent without the dynamic one.
  std::optional<double> energy_j;
  std::string energy_reason;
  CostBound bound = CostBound::kCompute;
  std::string bound_reason;
  std::vector<CostTerm> terms;

  Nanos time() const { return launch + fill + body + drain; }
};

// Returns the cost by the model that plans are compiled and simulated with (docs/cost_model.md).
// kInvalidArgument if the operator is none (a size that is no number, shards below 1), kNotFound if
// the device has no such core class, kFailedPrecondition if it has no core with the unit needed,
// kResourceExhausted if no tile fits the SRAM, kOutOfRange for sizes beyond the model's,
// kUnimplemented for kinds of work that it does not cover.
Result<OperatorCost> CostOf(const Device& device, const OperatorSpec& op);

// Operations that an element of an operator of this kind ("add", "softmax", "gelu", …) usually
// takes on a vector unit; 0 for a kind that the table does not have.
double TypicalOpsPerElement(std::string_view kind);

// Reads a topology of SCALE-Sim: rows of name, input height and width, filter height and width,
// channels, filters, stride (or two), or of name, M, N, K. As there, a partial last window counts
// and nothing is padded. `name` stands for the file in messages. kInvalidArgument with the line of
// what is neither.
Result<std::vector<OperatorSpec>> ParseScaleSimTopology(std::string_view text,
                                                        std::string_view name);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_COST_H_
