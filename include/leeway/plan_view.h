// What the groups of a plan take at given dims, and a plan with these figures as text and as a
// graph.
//
// Threading: pure functions of immutable plans.
// Errors:    kInvalidArgument for a dim that the plan lacks or a value outside its domain;
// kNotFound
//            for a variant that no entry has, listing those there are.

#ifndef LEEWAY_PLAN_VIEW_H_
#define LEEWAY_PLAN_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

struct PlanViewOptions {
  // Predicts groups without a profile of their own; borrowed for the call.
  const Device* device = nullptr;
  // Dims to look at; those that are not named are at the variant's opt. A padded dim runs, and is
  // priced, at its max.
  Dims at = {};
  // The variants of this name in every entry, or one as "entry/variant"; all if empty.
  std::string variant = {};
};

// Where a group's time comes from: the plan's profile or cost expression, the same beyond the
// profile's points, the device model, or nowhere. A call is as good as the worst it runs.
enum class TimeOrigin { kProfiled, kExtrapolated, kModelled, kUnprofiled };
// Returns "profiled", "extrapolated", "modelled" or "unprofiled".
std::string_view TimeOriginName(TimeOrigin origin);

struct GroupView {
  std::string name;
  std::vector<std::string> ops;  // in order, recomputed ones included
  std::string placement;         // "pinned matrix:0", as in the text
  // How many cores share it at the dims.
  std::int64_t shards = 1;
  // One launch of the group alone on the device, launch included; of a call all its repetitions.
  std::optional<Nanos> time;
  TimeOrigin origin = TimeOrigin::kUnprofiled;
  // Why the device model has no time for it; empty where none was asked.
  std::string reason;
  // What the group states of itself or, of tensors as declared, reads and writes in memory.
  std::int64_t read_bytes = 0, write_bytes = 0;
  // By the profile or the model; a tiling may read more than once what it cannot hold. The model's
  // are of one shard.
  std::optional<std::int64_t> dram_bytes, sram_bytes;
  // What it holds in DRAM at once beside weights and state: inputs, outputs and workspace; and by
  // how much that exceeds what its operators would hold one by one.
  std::int64_t peak_bytes = 0, burst_bytes = 0;
};

struct VariantView {
  std::string entry, name;
  // What the groups were priced at, every dim of the plan; empty where the variant does not cover
  // it: then its groups have no figures.
  std::optional<Dims> at;
  // Σ of the groups' times, where each has one.
  std::optional<Nanos> total;
  std::vector<GroupView> groups;  // in the order in which they can run
};

Result<std::vector<VariantView>> ViewPlan(const Plan& plan, const PlanViewOptions& options = {});

// Returns Plan::ToText() with words at the ends of lines: of a variant where it was looked at, of a
// group "time 12345 ns (modelled) reads 4096 B writes 1024 B dram 5120 B sram 65536 B peak 5120 B
// burst 0 B", with "-" for what is not known.
Result<std::string> PlanText(const Plan& plan, const PlanViewOptions& options = {});

// Returns a digraph in the language of Graphviz: variants as clusters within their entries, groups
// as nodes, and edges with the tensors and bytes that pass from group to group.
Result<std::string> PlanDot(const Plan& plan, const PlanViewOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_PLAN_VIEW_H_
