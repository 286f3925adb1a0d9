// What the steps of a run graph cost at bound dims, and what the run costs as a whole.
//
// Threading: a CostTable is immutable. A CostCache belongs to one thread at a time.

#ifndef LEEWAY_SCHED_COST_TABLE_H_
#define LEEWAY_SCHED_COST_TABLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "device/reality.h"
#include "device/spec.h"
#include "device/step_cost.h"
#include "leeway/status.h"
#include "sched/run_graph.h"

namespace leeway::sched {

// Values by the plan's dim index.
using DimValues = absl::InlinedVector<std::int64_t, 6>;

struct CostTable {
  // Steps of one run: loops may multiply to numbers that no run would ever finish.
  static constexpr std::uint64_t kMaxSteps = plan::kMaxRunSteps;

  DimValues dims;
  // By node × the device's classes; only classes that the node's domain allows are filled.
  std::vector<device::StepCost> costs;
  std::size_t classes = 1;
  std::vector<std::uint32_t> shards;  // by node
  std::vector<std::int64_t> times;    // repetitions by frame
  std::vector<Nanos> predicted;       // by node: the plan's word, else the model's, launch included
  // By node × class: one shard alone, no launch. By node: the first class it may run on.
  std::vector<Nanos> alone;
  std::vector<std::uint32_t> first_class;
  std::vector<std::int64_t> rounds;        // by frame: how often it runs in one run
  std::vector<std::uint64_t> frame_steps;  // by frame: steps of one repetition, calls included
  Nanos critical_path{0};
  Nanos predicted_path{0};
  // Σ over steps and shards of core time alone, step launches included, the run's and HOST work
  // excluded.
  Nanos core_time{0};
  std::uint64_t steps = 0, host_steps = 0;  // of them on the host

  // As `alone` of the modelled device, where another one serves; else empty.
  std::vector<Nanos> modelled;
  // What forecasts are made of: predicted times on the fastest class that a node may run on, of the
  // modelled device whatever serves. By node; by frame: core time of one repetition, calls
  // included; the run's longest path, and its core time without the run's launch.
  std::vector<Nanos> soonest;
  std::vector<Nanos> frame_work;
  Nanos soonest_path{0}, soonest_work{0};

  Nanos alone_first(std::size_t node) const { return alone[node * classes + first_class[node]]; }
  // What the policy expects one shard to take on a core of the class, launch included.
  Nanos expected(NodeId node, std::size_t core_class) const {
    const std::size_t at = node.value() * classes + core_class;
    return costs[at].launch + (modelled.empty() ? alone[at] : modelled[at]);
  }
  const device::StepCost& cost(NodeId node, std::size_t core_class) const {
    return costs[node.value() * classes + core_class];
  }
};

// Computes a table. kResourceExhausted or kOutOfRange from the cost model; kResourceExhausted for
// more than kMaxSteps, kOutOfRange for a core time beyond 2^62 ns.
Result<CostTable> MakeCostTable(const plan::Body& plan, const device::Spec& device,
                                const DomainTable& domains, const RunGraph& graph,
                                std::span<const std::int64_t> dims);

// Lengthens every step so that core_time is at least `floor`. Errors as MakeCostTable.
Status Stretch(CostTable& table, Nanos floor, const RunGraph& graph, const device::Spec& device);

// Replaces modelled costs by those of the device as it is; `op_keys` by node. What is predicted
// stays. Errors as MakeCostTable.
Status MakeReal(CostTable& table, const device::Reality& reality,
                std::span<const std::uint64_t> op_keys, const RunGraph& graph,
                const device::Spec& device);

// Tables of one graph by dims. Bounded: when full it starts again, which changes no result.
class CostCache {
 public:
  static constexpr std::size_t kMaxTables = 16384;

  std::shared_ptr<const CostTable> Find(const DimValues& dims) const {
    const auto it = tables_.find(dims);
    return it == tables_.end() ? nullptr : it->second;
  }
  std::shared_ptr<const CostTable> Add(CostTable table) {
    if (tables_.size() >= kMaxTables) tables_.clear();
    auto shared = std::make_shared<const CostTable>(std::move(table));
    tables_[shared->dims] = shared;
    return shared;
  }

 private:
  absl::flat_hash_map<DimValues, std::shared_ptr<const CostTable>> tables_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_COST_TABLE_H_
