// What the brute-force simulator of oracle.h runs: the plan's graphs on the device's cores.

#ifndef LEEWAY_TESTS_EXEC_ORACLE_GRAPH_H_
#define LEEWAY_TESTS_EXEC_ORACLE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "plan/body.h"
#include "tests/exec/oracle.h"

namespace leeway::testing::oracle {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

struct Node {
  std::size_t frame = 0;
  std::vector<std::size_t> before, after;
  const plan::Call* call = nullptr;
  std::size_t body = kNone;  // the frame that a call repeats
  const plan::Expr* shards = nullptr;
  bool host = false;
  bool preferred = false;
  std::vector<std::size_t> planned;  // shard i on planned[i mod size]; empty: anywhere allowed
  std::vector<bool> allowed;         // by core
  std::size_t domain = 0;            // distinct sets of allowed cores, in order of first mention
  bool weighed = false;              // the cores allowed are of several classes
  std::uint32_t criticality = 0;
};

struct Frame {
  std::size_t first = 0, count = 0;
  std::size_t caller = kNone;
};

struct Graph {
  const plan::Variant* variant = nullptr;  // null: operator by operator
  std::vector<Node> nodes;
  std::vector<Frame> frames;
};

// The entry's variants in the plan's order, then the graph of the fallback.
std::vector<Graph> MakeGraphs(const exec::SimConfig& config, const plan::Entry& entry,
                              const OracleCosts& costs);

}  // namespace leeway::testing::oracle

#endif  // LEEWAY_TESTS_EXEC_ORACLE_GRAPH_H_
