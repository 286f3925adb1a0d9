// What one step costs: one launch of one fusion group (or, in the fallback, one operator), or one
// shard of it, at bound dims, on one core of a class at its nominal clock.
//
// A step is launch, fill, body, drain. All are fixed but the body: a fluid of `dram_bytes` whose
// demand is capped at min(port, bytes / compute time), so that a double buffer never runs ahead and
// a compute-bound step does not hog DRAM (COST_MODEL: running steps).
//
// Shards. A shard takes ceil(work / shards). Rows are divided (whole instances first): every shard
// reads all weights; or columns, where the products of the group do not feed one another: every
// shard reads all left operands. The faster of the two is taken, and both leave no sum across
// shards to be joined. Elementwise work before the products is repeated by every shard that divides
// columns.
//
// Memory. A group reads and writes its outer tensors; inner ones stay on the core, in row blocks as
// large as the SRAM allows, and every right operand (weights, keys, values) that does not fit
// beside them is read again for each row block. One product with elementwise work behind it may
// also hold the right operand and read the left one again. Traffic follows from the operators'
// sizes, not from declared tensors: what is declared as a row block of a product passes as often as
// the product has blocks.
//
// HOST work on a processor of the host costs what host.h says, all of it in `fill`.
//
// Tiles are searched for the least time with DRAM / shards to itself, traffic counting a little
// even where computation hides it. That time grows with every size, but may fall by up to 1/64
// where a tiling of less traffic takes over (tile_search.h).
//
// Layouts. What comes from or goes to the caller in row-major order and is laid out otherwise in
// the variant is copied (relayout.h): its traffic joins the body, which takes as much longer as the
// port needs for it. A profile of a group of opaque operators holds its copies already.
//
// Weights that the core keeps between runs (kept_weights.h) are taken as there: they neither move
// nor take SRAM from tiles. Work and profiles that the plan states are taken as they are.
//
// Not modelled: joins of shards' sums, bank conflicts.
// A right operand computed inside a group makes the group run as one block.
//
// Sources: GEMM cycles in mode overlapped after ONNXim (SystolicWS) with the fill and drain as
// parameters of the device, in mode scalesim after SCALE-Sim; vector unit after LLMCompass and
// NeuSim op counts; fusion after XLA's GpuPerformanceModel: one launch, intermediates stay on chip.

#ifndef LEEWAY_DEVICE_STEP_COST_H_
#define LEEWAY_DEVICE_STEP_COST_H_

#include <cstdint>
#include <optional>
#include <span>

#include "device/spec.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::device {

// What decided a step's time.
enum class Bound { kCompute, kBandwidth, kLaunch, kSram, kVector };

struct StepCost {
  Nanos launch{0};   // step_launch; the run's first steps pay run_launch beside it
  Nanos fill{0};     // first DMA latency and first tile
  Nanos compute{0};  // the body's compute part
  Nanos drain{0};    // last tile out
  // The body's DRAM traffic in 2⁻²⁰ B, and the demand cap in 2⁻²⁰ B/ns; 0 iff there is no traffic.
  // A body bound by computation is rounded up to cap · compute, so that at its cap it lasts exactly
  // as long as it computes.
  ByteUnits body_bytes = 0;
  ByteUnits cap = 0;
  std::int64_t dram_bytes = 0;
  std::int64_t sram_peak_bytes = 0;
  std::int64_t macs = 0, vector_ops = 0;
  std::int64_t energy_pj = 0;  // dynamic energy
  // Of Alone() with the whole DRAM: by how much it is longer for tensors that are laid out anew.
  Nanos relayout{0};
  Bound bound = Bound::kCompute;

  // Body time with `rate` of DRAM to itself: ceil(body_bytes / min(cap, rate)), at least `compute`.
  Nanos BodyAlone(ByteUnits rate) const;
  // fill + body + drain with the whole DRAM to itself; launch excluded.
  Nanos Alone(ByteUnits dram_rate) const { return fill + BodyAlone(dram_rate) + drain; }
};

// More traffic than this in one step is an error: the engine's integers would overflow.
inline constexpr std::int64_t kMaxStepBytes = std::int64_t{1} << 42;

// Cost of shard `1 of shards` (the largest) of a fusion group at `dims` (by dim index; padded
// already), with the weights `resident` (rising) on the core. Operators without work of their own
// cost their traffic; a group of only such operators with a profile costs what the profile says.
// kInvalidArgument if shards < 1; kResourceExhausted if no legal tile fits the SRAM, naming group,
// bytes and bound; kOutOfRange if an expression fails or the step moves more than kMaxStepBytes or
// takes more than 2⁵³ ns; kUnimplemented for what the model does not cover: kinds of work, mode
// OVERLAPPED with a dataflow other than WEIGHT_STATIONARY, a unit that the core lacks.
Result<StepCost> GroupCost(const plan::Body& plan, const plan::Entry& entry,
                           const plan::Group& group, std::span<const std::int64_t> dims,
                           std::int64_t shards, const CoreClass& core, const Spec& device,
                           std::span<const plan::Index> resident = {});

// Cost of one operator run by itself, everything through DRAM: the fallback. Errors as GroupCost.
// Requires `op` to be one of entry.operators.
Result<StepCost> OperatorCost(const plan::Body& plan, const plan::Entry& entry,
                              const plan::Operator& op, std::span<const std::int64_t> dims,
                              std::int64_t shards, const CoreClass& core, const Spec& device);

// The plan's own prediction for a whole group launch at `dims`: multilinear between profile points,
// clamped outside them (`extrapolated`), or its cost expression; nothing if the plan has neither.
struct Prediction {
  Nanos time{0};
  enum class Range { kInside, kExtrapolated } range = Range::kInside;
};
std::optional<Prediction> PlannedTime(const plan::Group& group, std::span<const std::int64_t> dims);
// As PlannedTime, of the profile's DRAM bytes and SRAM peak; 0 without points.
double PlannedBytes(const plan::Group& group, std::span<const std::int64_t> dims);
double PlannedSram(const plan::Group& group, std::span<const std::int64_t> dims);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_STEP_COST_H_
