#include "sched/run_graph.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "device/plan_fit.h"

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

Status CheckRunnable(const plan::Operator& op) {
  if (std::holds_alternative<plan::Collective>(op.work) ||
      std::holds_alternative<plan::SendReceive>(op.work)) {
    return base::Unimplemented(absl::StrCat("operator \"", op.name, "\": work of kind \"", op.kind,
                                            "\" (collective, send or receive) is not run"));
  }
  return Status();
}

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
  Status AddNodes(const plan::Entry& entry, const plan::Variant* variant, std::uint32_t frame);
  Status AddGroup(const plan::Entry& entry, const plan::Group& group, std::uint32_t frame);
  Status AddOperator(const plan::Entry& entry, plan::Index op, const plan::Group* owner,
                     std::uint32_t frame);
  Status Place(plan::PlacementMode mode, const Result<device::ResolvedPlacement>& found,
               Node& node);
  void AddEdges(const plan::Entry& entry, const plan::Variant* variant, const Frame& frame);

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
  domain.weighed = SpansClasses(domain.allowed, device_);
  node.domain = domains_.Intern(domain);
  return Status();
}

Status RunGraphBuilder::AddGroup(const plan::Entry& entry, const plan::Group& group,
                                 std::uint32_t frame) {
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
                                 std::uint32_t frame) {
  const std::size_t count = variant ? variant->groups.size() : entry.operators.size();
  if (graph_.nodes_.size() + count > RunGraph::kMaxNodes) {
    return base::ResourceExhausted(absl::StrCat(
        "entry \"", entry.name, "\": calls expand to more than ", RunGraph::kMaxNodes, " groups"));
  }
  const std::vector<const plan::Group*> owners =
      variant ? std::vector<const plan::Group*>() : Owners(entry);
  for (std::size_t i = 0; i < count; ++i) {
    LEEWAY_RETURN_IF_ERROR(variant
                               ? AddGroup(entry, variant->groups[i], frame)
                               : AddOperator(entry, static_cast<plan::Index>(i), owners[i], frame));
  }
  return Status();
}

void RunGraphBuilder::AddEdges(const plan::Entry& entry, const plan::Variant* variant,
                               const Frame& frame) {
  auto predecessors = [&](std::uint32_t i) -> const std::vector<plan::Index>& {
    return variant ? variant->groups[i].predecessors : entry.operators[i].predecessors;
  };
  std::vector<std::vector<std::uint32_t>> successors(frame.count);
  for (std::uint32_t i = 0; i < frame.count; ++i) {
    Node& node = graph_.nodes_[frame.first + i];
    node.first_predecessor = static_cast<std::uint32_t>(graph_.back_edges_.size());
    for (plan::Index p : predecessors(i)) {
      graph_.back_edges_.push_back(frame.first + p);
      successors[p].push_back(frame.first + i);
    }
    node.predecessor_count = static_cast<std::uint32_t>(predecessors(i).size());
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
  const std::uint32_t index = static_cast<std::uint32_t>(graph_.frames_.size());
  Frame frame;
  frame.first = static_cast<std::uint32_t>(graph_.nodes_.size());
  frame.parent = parent;
  frame.depth = depth;
  graph_.frames_.push_back(frame);
  LEEWAY_RETURN_IF_ERROR(AddNodes(entry, variant, index));
  frame.count = static_cast<std::uint32_t>(graph_.nodes_.size()) - frame.first;
  AddEdges(entry, variant, frame);
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
