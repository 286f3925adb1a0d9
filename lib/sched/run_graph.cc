#include "sched/run_graph.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "device/plan_fit.h"
#include "device/step_cost.h"
#include "plan/graph.h"

namespace leeway::sched {
namespace {

CoreSet ToSet(const std::vector<device::CoreIndex>& cores) {
  CoreSet set;
  for (device::CoreIndex core : cores) set.Add(CoreId(core));
  return set;
}

CoreSet CoresOf(const device::CoreClass& core_class) {
  CoreSet all;
  for (std::uint32_t i = 0; i < core_class.count; ++i) all.Add(CoreId(core_class.first_core + i));
  return all;
}

CoreSet ClassesOf(const CoreSet& cores, const device::Spec& device) {
  CoreSet set;
  for (const device::CoreClass& core_class : device.classes) {
    const CoreSet all = CoresOf(core_class);
    if (!(all & cores).empty()) set = set | all;
  }
  return set;
}

bool SpansClasses(const CoreSet& cores, const device::Spec& device) {
  return std::count_if(device.classes.begin(), device.classes.end(),
                       [&](const device::CoreClass& core_class) {
                         return !(cores & CoresOf(core_class)).empty();
                       }) > 1;
}

// By operator: the group of the entry's first variant that runs it, null if none does.
std::vector<const plan::Group*> Owners(const plan::Entry& entry) {
  std::vector<const plan::Group*> owners(entry.operators.size());
  if (entry.variants.empty()) return owners;
  for (const plan::Group& group : entry.variants.front().groups) {
    for (plan::Index op : group.ops) {
      if (owners[op] == nullptr) owners[op] = &group;
    }
  }
  return owners;
}

// Whether the group reads the tensor or a view of it.
bool Reads(const plan::Body& plan, const plan::Group& group, plan::Index tensor) {
  return std::any_of(group.reads.begin(), group.reads.end(), [&](plan::Index read) {
    std::optional<plan::Index> of = read;
    while (of && *of != tensor) of = plan.tensors[*of].alias_of;
    return of.has_value();
  });
}

Status CheckRunnable(const plan::Operator& op) {
  if (std::holds_alternative<plan::Collective>(op.work) ||
      std::holds_alternative<plan::SendReceive>(op.work)) {
    return base::Unimplemented(absl::StrCat("operator \"", op.name, "\": work of kind \"", op.kind,
                                            "\" (collective, send or receive) is not run"));
  }
  return Status();
}

// What must have ended before each group of a variant starts: what it depends on, and what the
// schedule has before it on one core or makes it wait for. A list of a set of cores says in what
// order groups start, which needs no other to have ended.
std::vector<std::vector<plan::Index>> Scheduled(const plan::Variant& variant) {
  std::vector<std::vector<plan::Index>> before;
  for (const plan::Group& group : variant.groups) before.push_back(group.predecessors);
  for (const plan::Wait& wait : variant.schedule.waits) before[wait.group].push_back(wait.after);
  for (const plan::CoreOrder& list : variant.schedule.cores) {
    if (!list.core.index) continue;
    for (std::size_t i = 1; i < list.groups.size(); ++i) {
      before[list.groups[i]].push_back(list.groups[i - 1]);
    }
  }
  for (std::vector<plan::Index>& of : before) {
    std::sort(of.begin(), of.end());
    of.erase(std::unique(of.begin(), of.end()), of.end());
  }
  return before;
}

// What a frame runs, in the order of its nodes: groups of a variant, or operators.
class Members {
 public:
  // kUnimplemented for a schedule that starts the shards of two groups in two orders: here all
  // shards of a group start when the last it waits for has ended.
  static Result<Members> Of(const plan::Entry& entry, const plan::Variant* variant) {
    Members members(entry, variant);
    if (variant == nullptr) return members;
    if (variant->schedule.cores.empty() && variant->schedule.waits.empty()) return members;
    members.before_ = Scheduled(*variant);
    plan::Order order = plan::TopologicalOrder(members.size(), [&](plan::Index i) {
      return std::span<const plan::Index>(members.before_[i]);
    });
    if (!order.cycle.empty()) {
      return base::Unimplemented(
          absl::StrCat("variant \"", variant->name, "\": its schedule starts shards of group \"",
                       variant->groups[order.cycle.front()].name, "\" both before and after \"",
                       variant->groups[order.cycle.back()].name, "\", which is not run"));
    }
    members.SortBy(std::move(order.nodes));
    return members;
  }

  std::size_t size() const { return variant_ ? variant_->groups.size() : entry_.operators.size(); }
  // The group or operator of a node.
  plan::Index operator[](std::size_t node) const {
    return order_.empty() ? static_cast<plan::Index>(node) : order_[node];
  }
  // The nodes that must have ended before a node starts, rising.
  std::span<const plan::Index> before(std::size_t node) const {
    if (!before_.empty()) return before_[node];
    return variant_ ? variant_->groups[node].predecessors : entry_.operators[node].predecessors;
  }

 private:
  Members(const plan::Entry& entry, const plan::Variant* variant)
      : entry_(entry), variant_(variant) {}

  // From groups to nodes.
  void SortBy(std::vector<plan::Index> order) {
    std::vector<plan::Index> node_of(order.size());
    for (std::size_t n = 0; n < order.size(); ++n) node_of[order[n]] = static_cast<plan::Index>(n);
    std::vector<std::vector<plan::Index>> before;
    for (const plan::Index group : order) {
      for (plan::Index& other : before_[group]) other = node_of[other];
      std::sort(before_[group].begin(), before_[group].end());
      before.push_back(std::move(before_[group]));
    }
    before_ = std::move(before);
    order_ = std::move(order);
  }

  const plan::Entry& entry_;
  const plan::Variant* variant_;
  // By node; empty where nothing is scheduled, and nodes are what the plan lists, in its order.
  std::vector<std::vector<plan::Index>> before_;
  std::vector<plan::Index> order_;
};

}  // namespace

class RunGraphBuilder {
 public:
  RunGraphBuilder(const plan::Body& plan, const device::Spec& device, DomainTable& domains)
      : plan_(plan), device_(device), domains_(domains) {}

  // Adds the frame of `variant` (null: the generic form) and, after its nodes, those of its calls.
  Status AddFrame(const plan::Entry& entry, const plan::Variant* variant, std::uint32_t parent,
                  std::uint32_t depth);

  RunGraph Finish(const plan::Variant* variant) {
    graph_.variant_ = variant;
    return std::move(graph_);
  }

 private:
  Status AddNodes(const plan::Entry& entry, const plan::Variant* variant, const Members& members,
                  std::uint32_t frame);
  Status AddGroup(const plan::Entry& entry, const plan::Group& group, std::uint32_t frame,
                  const std::vector<device::KeptWeight>& kept);
  Status AddWeights(const plan::Group& group, const std::vector<device::KeptWeight>& kept,
                    Node& node);
  bool Fetches(const Node& node, const CoreSet& allowed) const;
  Status AddOperator(const plan::Entry& entry, plan::Index op, const plan::Group* owner,
                     std::uint32_t frame);
  Status Place(plan::PlacementMode mode, const Result<device::ResolvedPlacement>& found,
               Node& node);
  void AddEdges(const Members& members, const Frame& frame);

  const plan::Body& plan_;
  const device::Spec& device_;
  DomainTable& domains_;
  RunGraph graph_;
};

Status RunGraphBuilder::Place(plan::PlacementMode mode,
                              const Result<device::ResolvedPlacement>& found, Node& node) {
  if (!found.ok()) return found.status();
  const device::ResolvedPlacement& resolved = *found;
  Domain domain;
  domain.allowed = ToSet(resolved.allowed);
  domain.of_class = ClassesOf(domain.allowed, device_);
  node.mode = mode;
  for (device::CoreIndex core : resolved.planned) node.planned.push_back(CoreId(core));
  // A preferred step may be stolen by any core of its classes.
  if (node.mode == plan::PlacementMode::kPreferred) domain.allowed = domain.of_class;
  domain.weighed = SpansClasses(domain.allowed, device_) || Fetches(node, domain.allowed);
  node.domain = domains_.Intern(domain);
  return Status();
}

// Whether what the node costs depends on which of its cores has its weights.
bool RunGraphBuilder::Fetches(const Node& node, const CoreSet& allowed) const {
  const std::span<const NodeWeight> weights = graph_.weights(node);
  return allowed.size() > 1 &&
         std::any_of(weights.begin(), weights.end(),
                     [&](const NodeWeight& of) { return !(of.users & allowed).empty(); });
}

Status RunGraphBuilder::AddWeights(const plan::Group& group,
                                   const std::vector<device::KeptWeight>& kept, Node& node) {
  if (kept.empty()) return Status();
  std::vector<NodeWeight>& all = graph_.weights_;
  node.first_weight = static_cast<std::uint32_t>(all.size());
  std::int64_t bytes = 0;
  for (const device::KeptWeight& of : kept) {
    NodeWeight weight{of.weight, {}, ToSet(of.cores), ToSet(of.users)};
    std::copy_if(of.tensors.begin(), of.tensors.end(), std::back_inserter(weight.tensors),
                 [&](plan::Index tensor) { return Reads(plan_, group, tensor); });
    if (weight.tensors.empty()) continue;
    all.push_back(std::move(weight));
    bytes += of.weight.bytes;
    if (bytes > device::kMaxStepBytes) {
      return base::OutOfRange(absl::StrCat("group \"", group.name, "\": its resident weights take ",
                                           "more than ", device::kMaxStepBytes, " bytes"));
    }
  }
  node.weight_count = static_cast<std::uint32_t>(all.size()) - node.first_weight;
  return Status();
}

Status RunGraphBuilder::AddGroup(const plan::Entry& entry, const plan::Group& group,
                                 std::uint32_t frame, const std::vector<device::KeptWeight>& kept) {
  Node node;
  node.entry = &entry;
  node.frame = frame;
  for (plan::Index op : group.ops) {
    LEEWAY_RETURN_IF_ERROR(CheckRunnable(entry.operators[op]));
    if (const auto* call = std::get_if<plan::Call>(&entry.operators[op].work)) node.call = call;
    node.host = node.host || device::IsHostWork(entry.operators[op]);
  }
  if (node.call == nullptr) {
    node.group = &group;
    node.shards = &group.shards;
    LEEWAY_RETURN_IF_ERROR(AddWeights(group, kept, node));
    LEEWAY_RETURN_IF_ERROR(
        Place(group.placement.mode, device::ResolveGroup(entry, group, device_), node));
  }
  graph_.nodes_.push_back(std::move(node));
  return Status();
}

Status RunGraphBuilder::AddOperator(const plan::Entry& entry, plan::Index op,
                                    const plan::Group* owner, std::uint32_t frame) {
  const plan::Operator& source = entry.operators[op];
  LEEWAY_RETURN_IF_ERROR(CheckRunnable(source));
  Node node;
  node.entry = &entry;
  node.frame = frame;
  node.call = std::get_if<plan::Call>(&source.work);
  if (node.call == nullptr) {
    node.op = &source;
    node.host = device::IsHostWork(source);
    plan::Placement placement;
    if (owner != nullptr) {
      placement = owner->placement;
      node.shards = &owner->shards;
    }
    LEEWAY_RETURN_IF_ERROR(
        Place(placement.mode, device::ResolvePlacement(placement, device_, device::NeedsOf(source)),
              node));
    if (node.mode == plan::PlacementMode::kPreferred) {
      node.mode = plan::PlacementMode::kAny;
      node.planned.clear();
    }
  }
  graph_.nodes_.push_back(std::move(node));
  return Status();
}

Status RunGraphBuilder::AddNodes(const plan::Entry& entry, const plan::Variant* variant,
                                 const Members& members, std::uint32_t frame) {
  if (graph_.nodes_.size() + members.size() > RunGraph::kMaxNodes) {
    return base::ResourceExhausted(absl::StrCat(
        "entry \"", entry.name, "\": calls expand to more than ", RunGraph::kMaxNodes, " groups"));
  }
  std::vector<device::KeptWeight> kept;
  if (variant != nullptr) {
    LEEWAY_ASSIGN_OR_RETURN(kept, device::KeptWeights(plan_, *variant, device_));
  }
  const std::vector<const plan::Group*> owners =
      variant ? std::vector<const plan::Group*>() : Owners(entry);
  for (std::size_t n = 0; n < members.size(); ++n) {
    const plan::Index i = members[n];
    LEEWAY_RETURN_IF_ERROR(variant ? AddGroup(entry, variant->groups[i], frame, kept)
                                   : AddOperator(entry, i, owners[i], frame));
  }
  return Status();
}

void RunGraphBuilder::AddEdges(const Members& members, const Frame& frame) {
  std::vector<std::vector<std::uint32_t>> successors(frame.count);
  for (std::uint32_t i = 0; i < frame.count; ++i) {
    Node& node = graph_.nodes_[frame.first + i];
    const std::span<const plan::Index> before = members.before(i);
    node.first_predecessor = static_cast<std::uint32_t>(graph_.back_edges_.size());
    for (plan::Index p : before) {
      graph_.back_edges_.push_back(frame.first + p);
      successors[p].push_back(frame.first + i);
    }
    node.predecessor_count = static_cast<std::uint32_t>(before.size());
  }
  for (std::uint32_t i = 0; i < frame.count; ++i) {
    Node& node = graph_.nodes_[frame.first + i];
    node.first_successor = static_cast<std::uint32_t>(graph_.edges_.size());
    node.successor_count = static_cast<std::uint32_t>(successors[i].size());
    graph_.edges_.insert(graph_.edges_.end(), successors[i].begin(), successors[i].end());
  }
}

Status RunGraphBuilder::AddFrame(const plan::Entry& entry, const plan::Variant* variant,
                                 std::uint32_t parent, std::uint32_t depth) {
  if (depth >= RunGraph::kMaxDepth) {
    return base::ResourceExhausted(
        absl::StrCat("entry \"", entry.name, "\": calls nest deeper than ", RunGraph::kMaxDepth));
  }
  LEEWAY_ASSIGN_OR_RETURN(const Members members, Members::Of(entry, variant));
  const std::uint32_t index = static_cast<std::uint32_t>(graph_.frames_.size());
  Frame frame;
  frame.first = static_cast<std::uint32_t>(graph_.nodes_.size());
  frame.parent = parent;
  frame.depth = depth;
  graph_.frames_.push_back(frame);
  LEEWAY_RETURN_IF_ERROR(AddNodes(entry, variant, members, index));
  frame.count = static_cast<std::uint32_t>(graph_.nodes_.size()) - frame.first;
  AddEdges(members, frame);
  for (std::uint32_t n = frame.first; n < frame.first + frame.count; ++n) {
    const plan::Call* call = graph_.nodes_[n].call;
    if (call == nullptr) continue;
    const plan::Entry& callee = plan_.entries[call->entry];
    const plan::Variant* called = nullptr;
    if (variant != nullptr) {
      const std::optional<plan::Index> found = plan_.CalledVariant(*variant, call->entry);
      if (found) called = &callee.variants[*found];
    }
    if (variant != nullptr && called == nullptr) {
      return base::FailedPrecondition(absl::StrCat("variant \"", variant->name, "\" calls entry \"",
                                                   callee.name,
                                                   "\", which has no variant for its envelope"));
    }
    graph_.nodes_[n].callee = static_cast<std::uint32_t>(graph_.frames_.size());
    LEEWAY_RETURN_IF_ERROR(AddFrame(callee, called, n, depth + 1));
  }
  frame.subtree_end = static_cast<std::uint32_t>(graph_.nodes_.size());
  graph_.frames_[index] = frame;
  graph_.depth_ = std::max(graph_.depth_, depth + 1);
  return Status();
}

absl::InlinedVector<plan::Index, 4> RunGraph::FoundOn(const Node& n,
                                                      const device::CoreClass& core) const {
  absl::InlinedVector<plan::Index, 4> tensors;
  for (const NodeWeight& of : weights(n)) {
    if (!of.users.Contains(CoreId(core.first_core))) continue;
    tensors.insert(tensors.end(), of.tensors.begin(), of.tensors.end());
  }
  std::sort(tensors.begin(), tensors.end());
  return tensors;
}

Result<RunGraph> RunGraph::OfVariant(const plan::Body& plan, const plan::Entry& entry,
                                     const plan::Variant& variant, const device::Spec& device,
                                     DomainTable& domains) {
  RunGraphBuilder builder(plan, device, domains);
  LEEWAY_RETURN_IF_ERROR(builder.AddFrame(entry, &variant, 0, 0));
  return builder.Finish(&variant);
}

Result<RunGraph> RunGraph::Generic(const plan::Body& plan, const plan::Entry& entry,
                                   const device::Spec& device, DomainTable& domains) {
  RunGraphBuilder builder(plan, device, domains);
  LEEWAY_RETURN_IF_ERROR(builder.AddFrame(entry, nullptr, 0, 0));
  return builder.Finish(nullptr);
}

void RunGraph::SetCriticalities(std::span<const Nanos> predicted,
                                std::span<const std::int64_t> times) {
  // Bottom levels within each frame, callees first: a call's own time is that of its repetitions.
  std::vector<double> bottom(nodes_.size()), length(frames_.size());
  for (std::size_t f = frames_.size(); f-- > 0;) {
    for (std::uint32_t n = frames_[f].first + frames_[f].count; n-- > frames_[f].first;) {
      const Node& node = nodes_[n];
      double after = 0;
      for (std::uint32_t s : successors(node)) after = std::max(after, bottom[s]);
      const double own = node.call ? static_cast<double>(times[node.callee]) * length[node.callee]
                                   : static_cast<double>(predicted[n].count());
      bottom[n] = own + after;
      length[f] = std::max(length[f], bottom[n]);
    }
  }
  // What follows a call counts for its body too; parents come before their callees.
  std::vector<double> after_frame(frames_.size());
  for (std::size_t f = 1; f < frames_.size(); ++f) {
    const Node& caller = nodes_[frames_[f].parent];
    double after = 0;
    for (std::uint32_t s : successors(caller)) after = std::max(after, bottom[s]);
    after_frame[f] = after + after_frame[caller.frame];
  }
  const double longest = std::max(length.empty() ? 0.0 : length[0], 1.0);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const double level = (bottom[n] + after_frame[nodes_[n].frame]) / longest;
    nodes_[n].criticality =
        std::min(kCriticalities - 1, static_cast<std::uint32_t>(level * (kCriticalities - 1)));
  }
}

}  // namespace leeway::sched
