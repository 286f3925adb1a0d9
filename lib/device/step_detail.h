// A step's cost together with what it follows from, for those who explain or test it.
//
// Threading: values.

#ifndef LEEWAY_DEVICE_STEP_DETAIL_H_
#define LEEWAY_DEVICE_STEP_DETAIL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/group_shape.h"
#include "device/step_cost.h"
#include "device/tile_search.h"
#include "leeway/cost.h"

namespace leeway::device {

struct StepDetail {
  GroupShape shape;
  Tile tile;
  TileCost tile_cost;
  StepCost cost;
};

// As OperatorCost (step_cost.h); of the tiling given, if it has an m.
Result<StepDetail> OperatorDetail(const plan::Body& plan, const plan::Entry& entry,
                                  const plan::Operator& op, std::span<const std::int64_t> dims,
                                  std::int64_t shards, const CoreClass& core, const Spec& device,
                                  const plan::Tiling& tiling = {});

// What a step spends dynamic energy on. `sram_bytes` are those between the units, the SRAM and the
// DMA; 0 where the device charges none.
struct StepEvents {
  double macs = 0, vector_ops = 0, dram_bytes = 0, sram_bytes = 0;

  double Picojoules(const EventEnergy& of_one) const;
};
StepEvents EventsOf(const GroupShape& shape, const TileCost& tile, const CoreClass& core,
                    const EventEnergy& of_one);

// Bytes per nanosecond that the DRAM gives one of `shards` equal flows.
double FairRate(const Spec& device, std::int64_t shards);

// Share of the peak of the unit that the step computes on, at the operands' type, over its compute
// cycles; 0 if it computes nothing.
double Utilization(const StepDetail& detail, const CoreClass& core);

// The terms of the formulas with their numbers in them, in the order in which they build on one
// another. Of one operator.
std::vector<CostTerm> Explain(const StepDetail& detail, const CoreClass& core, const Spec& device,
                              std::int64_t shards);

// Why the bound is what it is, in one line; names an array's mapping that leaves it mostly idle.
std::string ReasonOf(const StepDetail& detail, const CoreClass& core, const Spec& device,
                     std::int64_t shards);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_STEP_DETAIL_H_
