#include "device/step_cost.h"

#include <algorithm>
#include <string>

#include "base/math.h"
#include "base/status_macros.h"
#include "device/cycles.h"
#include "device/dma.h"
#include "device/group_shape.h"
#include "device/group_work.h"
#include "device/host.h"
#include "device/relayout.h"
#include "device/step_detail.h"
#include "device/tile_search.h"
#include "plan/findings.h"

namespace leeway::device {
namespace {

constexpr double kMaxNanos = 0x1p53;

// Only moves run on cores without a unit.
Status CheckComputes(const StepSource& source, const CoreClass& core) {
  const bool moves = std::all_of(source.ops.begin(), source.ops.end(), [&](plan::Index op) {
    return std::holds_alternative<plan::Move>(source.entry.operators[op].work);
  });
  if (core.computes() || moves) return Status();
  return base::Unimplemented(source.Describe() + ": core class " + plan::Quote(core.name) +
                             " only moves data");
}

Status CheckCore(const StepSource& source, const GroupShape& shape, const CoreClass& core) {
  const auto fail = [&](std::string_view why) {
    return base::Unimplemented(source.Describe() + ": core class " + plan::Quote(core.name) +
                               std::string(why));
  };
  const bool overlapped = core.mode == ComputeMode::kOverlapped;
  if (overlapped && core.arrays > 0 && core.dataflow != Dataflow::kWeightStationary) {
    return fail(": mode OVERLAPPED is modelled for WEIGHT_STATIONARY only");
  }
  if (!shape.products.empty() && core.arrays == 0) return fail(" has no array for its products");
  if (shape.vector_ops > 0 && core.vector_lanes == 0) {
    return fail(" has no vector unit for its elementwise work");
  }
  if (shape.plain_macs > 0 && PeakMacs(core) == 0) return fail(" has no unit for its work");
  return Status();
}

Status NoTile(const StepSource& source, const CoreClass& core, double need) {
  const auto bytes = base::RoundToInt64(need);
  return base::ResourceExhausted(source.Describe() + ": no tile fits: the smallest needs " +
                                 (bytes ? std::to_string(*bytes) : std::string("too many")) +
                                 " bytes, core class " + plan::Quote(core.name) + " has " +
                                 std::to_string(core.tile_bytes() + core.accumulator_bytes));
}

double Macs(const GroupShape& shape) {
  double macs = shape.plain_macs;
  for (const Product& p : shape.products) {
    macs += static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
            static_cast<double>(p.count) * p.density;
  }
  return macs;
}

// Operands that the units move: of a product, weight stationary, the left one for every fold of
// columns, the right one once, results for every fold of rows (COST_MODEL section 1); what is made
// inside the group counts as two bytes an element.
double SramBytes(const GroupShape& shape, const CoreClass& core) {
  double bytes = 0;
  const auto element = [](double stated) { return stated > 0 ? stated : 2.0; };
  for (const Product& p : shape.products) {
    const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
    const auto k = static_cast<double>(p.k);
    const auto column_folds = static_cast<double>(base::CeilDiv(p.n, core.array_cols));
    const auto row_folds = static_cast<double>(base::CeilDiv(p.k, core.array_rows));
    const double right = p.right_element > 0 ? p.right_element : p.resident_element;
    bytes += static_cast<double>(p.count) * p.density *
             (m * k * column_folds * element(p.left_element) + n * k * element(right) +
              m * n * row_folds * element(p.out_element));
  }
  return bytes;
}

// The traffic that any tiling has: right operands once.
double CompulsoryBytes(const GroupShape& shape) {
  double bytes = shape.read_bytes + shape.constant_bytes + shape.write_bytes;
  for (const Product& p : shape.products) bytes += p.right_bytes() * static_cast<double>(p.count);
  return bytes;
}

Bound BoundOf(const GroupShape& shape, const TileCost& tile, Nanos launch, const DramLines& lines,
              double fair) {
  if (static_cast<double>(launch.count()) > tile.time_ns) return Bound::kLaunch;
  if (tile.transfer_ns > tile.compute_ns) {
    const double once = lines.TransferNs(CompulsoryBytes(shape), shape.write_bytes, fair);
    return once <= tile.compute_ns ? Bound::kSram : Bound::kBandwidth;
  }
  return tile.matrix_cycles >= shape.vector_cycles ? Bound::kCompute : Bound::kVector;
}

// What passes the port at most. Without lines of its own that is the class's own figure, exactly.
ByteUnits PortOf(const CoreClass& core, const DramLines& lines, double bytes, double written) {
  const bool stated = FindPath(core, kReadPath) != nullptr || FindPath(core, kWritePath) != nullptr;
  return stated ? lines.PortRate(bytes, written) : RateUnits(core.dma_bytes_per_second);
}

// Sets body_bytes and cap from dram_bytes, of them `written`, and compute.
void SetBody(const CoreClass& core, const DramLines& lines, double written, StepCost& cost) {
  if (cost.dram_bytes == 0) return;
  const ByteUnits bytes = cost.dram_bytes << kByteUnitBits;
  const ByteUnits port = PortOf(core, lines, static_cast<double>(cost.dram_bytes), written);
  const std::int64_t compute = cost.compute.count();
  cost.cap = port;
  cost.body_bytes = bytes;
  if (compute == 0) return;
  const ByteUnits demand = base::CeilDiv(bytes, compute);
  if (demand > port) return;
  cost.cap = demand;
  // Below bytes + compute, that is 2⁶² + 2⁵³.
  cost.body_bytes = demand * compute;
}

Result<StepCost> Assemble(const StepSource& source, const GroupShape& shape, const TileCost& tile,
                          std::int64_t shards, const CoreClass& core, const Spec& device) {
  if (tile.dram_bytes > static_cast<double>(kMaxStepBytes)) {
    return base::OutOfRange(source.Describe() + ": one step moves more than " +
                            std::to_string(kMaxStepBytes) + " bytes");
  }
  if (!(tile.compute_ns <= kMaxNanos)) {
    return base::OutOfRange(source.Describe() + ": one step computes for more than 2^53 ns");
  }
  StepCost cost;
  cost.launch = device.step_launch;
  cost.fill = Nanos(base::RoundToInt64(tile.fill_ns).value_or(0));
  cost.compute = Nanos(base::RoundToInt64(tile.compute_ns).value_or(0));
  cost.drain = Nanos(base::RoundToInt64(tile.drain_ns).value_or(0));
  cost.dram_bytes = static_cast<std::int64_t>(Ceil(tile.dram_bytes));
  cost.sram_peak_bytes = static_cast<std::int64_t>(Ceil(tile.sram_bytes));
  const EventEnergy energy = device.event_energy();
  const StepEvents events = EventsOf(shape, tile, core, energy);
  const auto rounded_macs = base::RoundToInt64(events.macs);
  const auto vector_ops = base::RoundToInt64(events.vector_ops);
  const auto energy_pj = base::RoundToInt64(events.Picojoules(energy));
  if (!rounded_macs || !vector_ops || !energy_pj) {
    return base::OutOfRange(source.Describe() + ": one step's operations exceed 64 bits");
  }
  cost.macs = *rounded_macs;
  cost.vector_ops = *vector_ops;
  cost.energy_pj = *energy_pj;
  const DramLines lines = DramLinesOf(core);
  SetBody(core, lines, shape.write_bytes, cost);
  cost.bound = BoundOf(shape, tile, cost.launch, lines, FairRate(device, shards));
  return cost;
}

Result<StepDetail> Assembled(const StepSource& source, StepDetail detail, std::int64_t shards,
                             const CoreClass& core, const Spec& device) {
  LEEWAY_ASSIGN_OR_RETURN(detail.cost,
                          Assemble(source, detail.shape, detail.tile_cost, shards, core, device));
  return detail;
}

// A group's `work` replaces that of its operators.
Result<GroupShape> StatedShape(SizeReader& sizes, const plan::GroupWork& work, std::int64_t shards,
                               const CoreClass& core) {
  const auto divisor = static_cast<double>(shards);
  GroupShape shape;
  shape.plain_macs =
      static_cast<double>(sizes.Size(work.flops, std::int64_t{1} << 62)) / 2 / divisor;
  shape.read_bytes = static_cast<double>(sizes.Size(work.read_bytes)) / divisor;
  shape.write_bytes = static_cast<double>(sizes.Size(work.write_bytes)) / divisor;
  const std::int64_t scratch = sizes.Size(work.scratch_bytes);
  if (!sizes.status().ok()) return sizes.status();
  if (scratch > core.tile_bytes()) {
    return base::ResourceExhausted(sizes.source().Describe() + ": scratch of " +
                                   std::to_string(scratch) + " bytes, core class " +
                                   plan::Quote(core.name) + " has " +
                                   std::to_string(core.tile_bytes()));
  }
  shape.scratch_bytes = static_cast<double>(scratch);
  return shape;
}

// The faster of the two ways to divide.
Result<StepDetail> BestSplit(SizeReader& sizes, const Pieces& pieces, std::int64_t shards,
                             const CoreClass& core, double rate) {
  const StepSource& source = sizes.source();
  std::optional<StepDetail> best;
  double least_need = 0;
  for (const Split split : {Split::kRows, Split::kColumns}) {
    if (split == Split::kColumns && shards == 1) break;
    std::optional<GroupShape> shape = ShapeOf(sizes, pieces, shards, split, core);
    if (!sizes.status().ok()) return sizes.status();
    if (!shape) continue;
    LEEWAY_RETURN_IF_ERROR(CheckCore(source, *shape, core));
    const TileResult found = SearchTile(*shape, core, source.tiling, rate);
    if (least_need == 0 || found.least_need < least_need) least_need = found.least_need;
    if (found.best && (!best || found.best->score < best->tile_cost.score)) {
      best = StepDetail{*std::move(shape), found.tile, *found.best, {}};
    }
  }
  if (!best) return NoTile(source, core, least_need);
  return *std::move(best);
}

Result<StepDetail> DetailOf(const StepSource& source, std::span<const std::int64_t> dims,
                            std::int64_t shards, const CoreClass& core, const Spec& device) {
  if (shards < 1) {
    return base::InvalidArgument(source.Describe() + ": " + std::to_string(shards) + " shards");
  }
  LEEWAY_RETURN_IF_ERROR(CheckComputes(source, core));
  SizeReader sizes(source, dims);
  const double rate = FairRate(device, shards);
  if (source.work != nullptr) {
    LEEWAY_ASSIGN_OR_RETURN(GroupShape shape, StatedShape(sizes, *source.work, shards, core));
    LEEWAY_RETURN_IF_ERROR(CheckCore(source, shape, core));
    const TileResult found = SearchTile(shape, core, source.tiling, rate);
    if (!found.best) return NoTile(source, core, found.least_need);
    return Assembled(source, {std::move(shape), found.tile, *found.best, {}}, shards, core, device);
  }
  LEEWAY_ASSIGN_OR_RETURN(const Pieces pieces, ReadPieces(sizes, core));
  LEEWAY_ASSIGN_OR_RETURN(StepDetail detail, BestSplit(sizes, pieces, shards, core, rate));
  return Assembled(source, std::move(detail), shards, core, device);
}

// A group whose operators say nothing of their work, measured as a whole: one engine execution a
// step. Shards run side by side, each as long as the whole.
Result<StepCost> ProfiledCost(const plan::Group& group, std::span<const std::int64_t> dims,
                              std::int64_t shards, const CoreClass& core, const Spec& device) {
  const std::optional<Prediction> time = PlannedTime(group, dims);
  StepCost cost;
  cost.launch = device.step_launch;
  cost.compute = std::max(time->time, Nanos(0));
  const double bytes = PlannedBytes(group, dims) / static_cast<double>(shards);
  if (bytes > static_cast<double>(kMaxStepBytes) ||
      static_cast<double>(cost.compute.count()) > kMaxNanos) {
    return base::OutOfRange("group " + plan::Quote(group.name) + ": profile beyond " +
                            std::to_string(kMaxStepBytes) + " bytes or 2^53 ns");
  }
  cost.dram_bytes = static_cast<std::int64_t>(Ceil(bytes));
  cost.energy_pj = base::RoundToInt64(bytes * device.event_energy().dram_byte).value_or(0);
  // What of it is written is not known.
  SetBody(core, DramLinesOf(core), 0, cost);
  return cost;
}

bool SaysNothing(const plan::Entry& entry, const plan::Group& group) {
  return std::all_of(group.ops.begin(), group.ops.end(), [&](plan::Index op) {
    return std::holds_alternative<std::monostate>(entry.operators[op].work);
  });
}

// Adds what the group's share of copies into other layouts takes: half of it is read, half written.
Result<StepCost> WithCopies(const StepDetail& detail, const plan::Body& plan,
                            const plan::Group& group, std::span<const std::int64_t> dims,
                            std::int64_t shards, const CoreClass& core, const Spec& device) {
  StepCost cost = detail.cost;
  if (group.converts.empty()) return cost;
  const DramLines lines = DramLinesOf(core);
  double bytes = 0;
  for (const plan::Layout& layout : group.converts) {
    bytes +=
        RelayoutOf(plan.tensors[layout.tensor], layout, dims, lines.read.granule_bytes).traffic();
  }
  bytes = Ceil(bytes / static_cast<double>(shards));
  if (bytes + static_cast<double>(cost.dram_bytes) > static_cast<double>(kMaxStepBytes)) {
    return base::OutOfRange("group " + plan::Quote(group.name) + ": one step moves more than " +
                            std::to_string(kMaxStepBytes) + " bytes, copies into layouts included");
  }
  const Nanos before = cost.Alone(device.dram_rate());
  const auto copied = static_cast<std::int64_t>(bytes);
  const EventEnergy energy = device.event_energy();
  cost.dram_bytes += copied;
  cost.compute +=
      Nanos(base::CeilDiv(copied << kByteUnitBits, PortOf(core, lines, bytes, bytes / 2)));
  cost.energy_pj += base::RoundToInt64(bytes * (energy.dram_byte + energy.sram_byte)).value_or(0);
  SetBody(core, lines, detail.shape.write_bytes + bytes / 2, cost);
  cost.relayout = cost.Alone(device.dram_rate()) - before;
  return cost;
}

}  // namespace

double StepEvents::Picojoules(const EventEnergy& of_one) const {
  double pj = macs * of_one.mac + vector_ops * of_one.vector_op + dram_bytes * of_one.dram_byte;
  if (sram_bytes > 0) pj += of_one.sram_byte * sram_bytes;
  return pj;
}

StepEvents EventsOf(const GroupShape& shape, const TileCost& tile, const CoreClass& core,
                    const EventEnergy& of_one) {
  StepEvents events{Macs(shape), shape.vector_ops, tile.dram_bytes, 0};
  if (of_one.sram_byte > 0) events.sram_bytes = SramBytes(shape, core) + tile.dram_bytes;
  return events;
}

double FairRate(const Spec& device, std::int64_t shards) {
  const double fair = static_cast<double>(device.dram_bytes_per_second) /
                      static_cast<double>(std::max<std::int64_t>(shards, 1));
  return fair / 1e9;
}

Nanos StepCost::BodyAlone(ByteUnits rate) const {
  if (body_bytes == 0) return compute;
  return std::max(compute, Nanos(base::CeilDiv(body_bytes, std::min(cap, rate))));
}

Result<StepCost> GroupCost(const plan::Body& plan, const plan::Entry& entry,
                           const plan::Group& group, std::span<const std::int64_t> dims,
                           std::int64_t shards, const CoreClass& core, const Spec& device,
                           std::span<const plan::Index> resident) {
  if (core.host) return HostCost(entry, group.ops, shards, "group " + plan::Quote(group.name));
  const StepSource source{.plan = plan,
                          .entry = entry,
                          .ops = group.ops,
                          .reads = group.reads,
                          .writes = group.writes,
                          .tiling = group.tiling,
                          .work = group.work ? &*group.work : nullptr,
                          .what = "group",
                          .name = group.name,
                          .resident = resident};
  const bool profiled = !group.profile.empty() || group.cost_ns.has_value();
  if (!group.work && profiled && shards >= 1 && SaysNothing(entry, group)) {
    LEEWAY_RETURN_IF_ERROR(CheckComputes(source, core));
    return ProfiledCost(group, dims, shards, core, device);
  }
  LEEWAY_ASSIGN_OR_RETURN(const StepDetail detail, DetailOf(source, dims, shards, core, device));
  return WithCopies(detail, plan, group, dims, shards, core, device);
}

Result<StepCost> OperatorCost(const plan::Body& plan, const plan::Entry& entry,
                              const plan::Operator& op, std::span<const std::int64_t> dims,
                              std::int64_t shards, const CoreClass& core, const Spec& device) {
  if (core.host) {
    const auto index = static_cast<plan::Index>(&op - entry.operators.data());
    return HostCost(entry, {&index, 1}, shards, "operator " + plan::Quote(op.name));
  }
  LEEWAY_ASSIGN_OR_RETURN(const StepDetail detail,
                          OperatorDetail(plan, entry, op, dims, shards, core, device));
  return detail.cost;
}

Result<StepDetail> OperatorDetail(const plan::Body& plan, const plan::Entry& entry,
                                  const plan::Operator& op, std::span<const std::int64_t> dims,
                                  std::int64_t shards, const CoreClass& core, const Spec& device,
                                  const plan::Tiling& tiling) {
  const auto index = static_cast<plan::Index>(&op - entry.operators.data());
  const StepSource source{.plan = plan,
                          .entry = entry,
                          .ops = {&index, 1},
                          .reads = op.inputs,
                          .writes = op.outputs,
                          .tiling = tiling,
                          .work = nullptr,
                          .what = "operator",
                          .name = op.name};
  return DetailOf(source, dims, shards, core, device);
}

}  // namespace leeway::device
