// The graph of steps that a run of one variant executes: a plan's groups with their placements
// resolved on a device, calls inlined as frames that repeat.
//
// Threading: immutable after Build.
// Lifetime:  refers to the plan's body, which the caller keeps alive.

#ifndef LEEWAY_SCHED_RUN_GRAPH_H_
#define LEEWAY_SCHED_RUN_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "device/kept_weights.h"
#include "device/spec.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "sched/domain.h"
#include "sched/env.h"

namespace leeway::sched {

// Classes that bottom levels are quantised into.
inline constexpr std::uint32_t kCriticalities = 64;

// A fusion group, an operator run by itself (fallback), or a call.
struct Node {
  const plan::Entry* entry = nullptr;
  const plan::Group* group = nullptr;  // one of the three
  const plan::Operator* op = nullptr;
  const plan::Call* call = nullptr;
  const plan::Expr* shards = nullptr;  // null: 1
  bool host = false;                   // HOST work (device/host.h)

  std::uint32_t frame = 0;
  std::uint32_t callee = 0;  // frame of a call
  std::uint32_t first_successor = 0, successor_count = 0;
  std::uint32_t first_predecessor = 0, predecessor_count = 0;
  std::uint32_t first_weight = 0, weight_count = 0;  // that some core keeps between runs
  DomainId domain;
  plan::PlacementMode mode = plan::PlacementMode::kAny;
  std::vector<CoreId> planned;    // shard i on planned[i mod size]; empty for ANY
  std::uint32_t criticality = 0;  // larger is nearer to deciding the run's end
};

// A weight that a step finds in place on the cores that keep it, and fetches on the other users.
struct NodeWeight {
  device::Weight weight;
  absl::InlinedVector<plan::Index, 1> tensors;  // of this content that the group reads
  CoreSet kept, users;
};

// A body that runs as a whole, once (frame 0) or as often as its call says. Its nodes are
// contiguous, and so is its subtree: the nodes of its own calls follow.
struct Frame {
  std::uint32_t first = 0, count = 0;
  std::uint32_t subtree_end = 0;
  std::uint32_t parent = 0;  // the calling node; itself for frame 0
  std::uint32_t depth = 0;
};

class RunGraph {
 public:
  // Bounds what nested calls may multiply to.
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 22;
  static constexpr std::uint32_t kMaxDepth = plan::kMaxCallDepth;

  // The graph of a variant, with the order that its schedule gives to single cores and its waits as
  // edges: a group starts when what is before it has ended, wherever that ran. kNotFound for a
  // placement the device lacks, kFailedPrecondition for a call without a variant to run,
  // kUnimplemented for sequences, collectives and sends, and for a schedule that starts the shards
  // of two groups in two orders, kResourceExhausted beyond the bounds, kOutOfRange for a group
  // whose kept weights exceed device::kMaxStepBytes.
  static Result<RunGraph> OfVariant(const plan::Body& plan, const plan::Entry& entry,
                                    const plan::Variant& variant, const device::Spec& device,
                                    DomainTable& domains);
  // Every operator by itself, on any core that its group in the entry's first variant may use and
  // in as many shards.
  static Result<RunGraph> Generic(const plan::Body& plan, const plan::Entry& entry,
                                  const device::Spec& device, DomainTable& domains);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Frame>& frames() const { return frames_; }
  std::uint32_t depth() const { return depth_; }
  std::span<const std::uint32_t> successors(const Node& n) const {
    return {edges_.data() + n.first_successor, n.successor_count};
  }
  std::span<const std::uint32_t> predecessors(const Node& n) const {
    return {back_edges_.data() + n.first_predecessor, n.predecessor_count};
  }
  // Distinct by key.
  std::span<const NodeWeight> weights(const Node& n) const {
    return {weights_.data() + n.first_weight, n.weight_count};
  }
  // The weights that the node's costs on a class of cores take as in place, rising.
  absl::InlinedVector<plan::Index, 4> FoundOn(const Node& n, const device::CoreClass& core) const;
  // Null for the generic graph.
  const plan::Variant* variant() const { return variant_; }

  // Sets the criticalities from each node's predicted time and each frame's repetitions.
  void SetCriticalities(std::span<const Nanos> predicted, std::span<const std::int64_t> times);

 private:
  friend class RunGraphBuilder;

  const plan::Variant* variant_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> edges_, back_edges_;
  std::vector<NodeWeight> weights_;
  std::uint32_t depth_ = 1;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_RUN_GRAPH_H_
