// The policy and the simulated device written a second time, from DESIGN's prose alone, as simply
// as possible: every decision is a scan over everything there is. Shares no code with lib/sched and
// lib/exec; of what a step costs it takes the cost tables' word.
//
// Not covered: plan swaps, a device that differs from its model, failing steps, cost errors.

#ifndef LEEWAY_TESTS_EXEC_ORACLE_H_
#define LEEWAY_TESTS_EXEC_ORACLE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "exec/sim_config.h"
#include "sched/cost_table.h"

namespace leeway::testing {

// Graphs are numbered: the entry's variants, then the generic one. Nodes as in sched::RunGraph: a
// body's groups in order, then those of what its calls run, call by call.
struct OracleCosts {
  // A run of the graph at these dims, padded already.
  std::function<std::shared_ptr<const sched::CostTable>(std::size_t graph,
                                                        const std::vector<std::int64_t>& dims)>
      at;
  // What the plan says of the graph at load: a variant at its opt, the generic graph at the least
  // dims.
  std::function<sched::CostTable(std::size_t graph)> planned;
};

// One launch on a core. Runs are counted in the order in which they begin, rounds of a body from 1.
struct OracleStep {
  std::size_t run = 0, node = 0, shard = 0, round = 0, core = 0;
  std::int64_t began = 0, ended = 0;
  friend auto operator<=>(const OracleStep&, const OracleStep&) = default;
};

struct OracleEnd {
  std::int64_t at = -1;
  Outcome outcome = Outcome::kFailed;
  friend bool operator==(const OracleEnd&, const OracleEnd&) = default;
};

struct OracleResult {
  std::vector<OracleStep> steps;  // in order of their ends, of one instant by core
  std::vector<OracleEnd> ends;    // by request, in order of arrival
  std::size_t runs = 0, steals = 0, holds = 0, fallbacks = 0;
  std::size_t held_responses = 0;
};

// Serves the arrivals, which rise in time.
OracleResult ServeByOracle(const exec::SimConfig& config,
                           const std::vector<exec::SimArrival>& arrivals, const OracleCosts& costs);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_ORACLE_H_
