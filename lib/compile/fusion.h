// Which operators become one kernel: producers are merged into consumers as long as that saves
// predicted time, the largest saving first.
//
// What is compared is the time of a group with the DRAM shared between its shards, for they run at
// the same time: with all of it to each shard, saved traffic would count too much. Traffic counts a
// little even where computation hides it. Else whole layers would merge, each row block reading all
// their weights again for the launches that this saves: the same time by itself at twice the
// traffic, or five times for long prompts (llama2_7b_prefill). Memory is looked at where the batch
// is largest: what fits for one request alone would not be batched. A group holds in DRAM at once
// what its operators would give up one after another: a merge whose burst a run has no room for is
// none (device/live_set.h).
//
// Threading: pure function.

#ifndef LEEWAY_COMPILE_FUSION_H_
#define LEEWAY_COMPILE_FUSION_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "compile/entry_graph.h"
#include "compile/pricer.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::compile {

// More operators than this in one kernel nobody would write, and the work of looking for them
// would not be bounded.
inline constexpr std::size_t kMaxFused = 32;

struct FusedGroup {
  plan::Group group = {};  // as EntryGraph makes it, with predecessors
  Choice choice = {};      // unset for calls
};

// Returns every operator in one group of its own, in a topological order. The cost model's error
// if one of them cannot run at `dims`.
Result<std::vector<FusedGroup>> Unfused(const EntryGraph& graph, const Pricer& pricer,
                                        std::span<const std::int64_t> dims);

// What a run holds in DRAM with every operator by itself, and what it may, at the largest dims.
struct DramRoom {
  double peak = 0, budget = std::numeric_limits<double>::infinity();
};

// Returns the groups in a topological order, each operator in one of them. Every merge lowers the
// sum of the groups' times and that of their scores at `dims`; merged groups also fit their core at
// `largest`, and their bursts the room that there is. Errors as Unfused.
Result<std::vector<FusedGroup>> Fuse(const EntryGraph& graph, const Pricer& pricer,
                                     std::span<const std::int64_t> dims,
                                     std::span<const std::int64_t> largest,
                                     const DramRoom& room = {});

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_FUSION_H_
