// How an entry and all it calls run: groups in shards on planned cores, for the lengths of one
// mapping length.
//
// Threading: pure functions and values.

#ifndef LEEWAY_COMPILE_MAPPING_H_
#define LEEWAY_COMPILE_MAPPING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compile/entry_graph.h"
#include "compile/fusion.h"
#include "compile/pricer.h"
#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway::compile {

// The entries that a compilation covers, callees before their callers; the last is the one that
// requests run.
using Graphs = std::vector<EntryGraph>;

struct MappedGraph {
  std::vector<FusedGroup> groups;  // in a topological order, named and placed
  plan::Schedule schedule;         // of them; empty where they run when they can
};

// By graph.
using Mapping = std::vector<MappedGraph>;

// Returns the graphs of `entry` and of what it calls.
Graphs CollectGraphs(const plan::Body& model, plan::Index entry);

// Returns the mapping of least time at `dims`; merged groups fit their cores at `largest`, and what
// they hold at once the room that a run has then. The cost model's error if an operator cannot run.
Result<Mapping> MapFused(const Graphs& graphs, const Pricer& pricer,
                         std::span<const std::int64_t> dims, std::span<const std::int64_t> largest,
                         const DramRoom& room = {});
// Returns one group an operator, in other respects as MapFused.
Result<Mapping> MapUnfused(const Graphs& graphs, const Pricer& pricer,
                           std::span<const std::int64_t> dims);

// Returns what one run costs the cores: Σ over steps and shards of core time alone, step launches
// included. kResourceExhausted for more steps than an engine runs, kOutOfRange for 2⁶² ns and more,
// the cost model's errors.
Result<Nanos> CoreTimeOf(const Graphs& graphs, const Mapping& mapping, const Pricer& pricer,
                         std::span<const std::int64_t> dims);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_MAPPING_H_
