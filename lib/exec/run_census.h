// Counts the runs that ended well by what they ran, and tells their steps.
//
// Threading: one thread at a time.
// Memory:    one row per window, plan, graph and dims that ran.

#ifndef LEEWAY_EXEC_RUN_CENSUS_H_
#define LEEWAY_EXEC_RUN_CENSUS_H_

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "sched/run_pool.h"
#include "telemetry/executed_steps.h"

namespace leeway::exec {

class RunCensus {
 public:
  // `windows`: rising; window i is [windows[i], windows[i + 1]), the first reaches back and the
  // last on. None are counted if it is empty.
  explicit RunCensus(std::vector<Instant> windows) : windows_(std::move(windows)) {}

  // Counts a run of plan number `plan`; `displaced` by node, or empty. The cost model's errors.
  Status Add(const sched::Run& run, std::uint32_t plan, std::span<const std::uint32_t> displaced);

  // In order of window, plan, graph, dims and node.
  std::vector<telemetry::ExecutedSteps> Steps() const;

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, sched::GraphId, bool, sched::DimValues>;
  struct Row {
    std::uint64_t runs = 0;
    std::vector<telemetry::ExecutedSteps> nodes;  // of one run
  };
  static Status Describe(const sched::Run& run, Row& row);

  std::vector<Instant> windows_;
  absl::btree_map<Key, Row> rows_;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_RUN_CENSUS_H_
