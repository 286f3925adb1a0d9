// What a group costs on a device, and on which class of cores and in how many shards it runs.
//
// Threading: immutable.
// Lifetime:  borrows the device.

#ifndef LEEWAY_COMPILE_PRICER_H_
#define LEEWAY_COMPILE_PRICER_H_

#include <cstdint>
#include <span>

#include "compile/entry_graph.h"
#include "device/spec.h"
#include "device/step_cost.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::compile {

// How a group runs, and how long that takes.
struct Choice {
  std::size_t core_class = 0;
  std::int64_t shards = 1;
  // One shard beside its mates, each with an equal part of the DRAM, launch included.
  Nanos time{0};
  // What all shards move, at the DRAM's full rate.
  Nanos traffic{0};

  // Time, and a little for the traffic even where computation hides it: others want the DRAM too.
  // Weighed as the tile search does (device/tile_search.h).
  Nanos score() const { return time + traffic / 64; }
};

class Pricer {
 public:
  explicit Pricer(const device::Spec& device) : device_(&device) {}

  const device::Spec& device() const { return *device_; }

  // Returns OK if some class of cores can run the operator. kFailedPrecondition if none has the
  // unit it needs, kUnimplemented for what the cost model does not cover on any of them. Sizes play
  // no part: they may still exceed the SRAM.
  Status CheckAble(const EntryGraph& graph, plan::Index op,
                   std::span<const std::int64_t> dims) const;

  // Returns the way of least score to run the group at `dims`; the first of equals in the order of
  // the device's classes. All cores of a class share the work where that saves at least the
  // launches that it adds, else one core does it: the sum over the cores should not grow for
  // nothing. A measured group runs as it was measured. The cost model's error if no class can run
  // it.
  Result<Choice> Choose(const EntryGraph& graph, const plan::Group& group,
                        std::span<const std::int64_t> dims) const;

  // Returns the cost of one shard, as the scheduler sees it. The cost model's errors.
  Result<device::StepCost> Cost(const EntryGraph& graph, const plan::Group& group,
                                std::span<const std::int64_t> dims, const Choice& choice) const;

 private:
  Result<Choice> ChooseOn(const EntryGraph& graph, const plan::Group& group,
                          std::span<const std::int64_t> dims, std::size_t core_class) const;
  Result<Choice> Priced(const EntryGraph& graph, const plan::Group& group,
                        std::span<const std::int64_t> dims, Choice choice) const;

  const device::Spec* device_;
};

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_PRICER_H_
