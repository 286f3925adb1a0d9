#include "tests/exec/oracle_graph.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace leeway::testing::oracle {
namespace {

class GraphMaker {
 public:
  explicit GraphMaker(const exec::SimConfig& config)
      : plan_(*config.plan), device_(*config.device) {}

  Graph Make(const plan::Entry& entry, const plan::Variant* variant) {
    Graph graph;
    graph.variant = variant;
    AddFrame(graph, entry, variant, kNone);
    return graph;
  }

 private:
  void AddFrame(Graph& graph, const plan::Entry& entry, const plan::Variant* variant,
                std::size_t caller) {
    const std::size_t frame = graph.frames.size(), first = graph.nodes.size();
    const std::size_t count = variant ? variant->groups.size() : entry.operators.size();
    graph.frames.push_back({first, count, caller});
    for (std::size_t i = 0; i < count; ++i) {
      Node node = variant ? OfGroup(entry, variant->groups[i]) : OfOperator(entry, i);
      node.frame = frame;
      for (plan::Index p :
           variant ? variant->groups[i].predecessors : entry.operators[i].predecessors) {
        node.before.push_back(first + p);
      }
      graph.nodes.push_back(std::move(node));
    }
    if (variant != nullptr) AddSchedule(graph, variant->schedule, first);
    for (std::size_t n = first; n < first + count; ++n) {
      for (std::size_t p : graph.nodes[n].before) graph.nodes[p].after.push_back(n);
    }
    for (std::size_t n = first; n < first + count; ++n) {
      const plan::Call* call = graph.nodes[n].call;
      if (call == nullptr) continue;
      const plan::Entry& callee = plan_.entries[call->entry];
      graph.nodes[n].body = graph.frames.size();
      AddFrame(graph, callee,
               variant ? &callee.variants[*plan_.CalledVariant(*variant, call->entry)] : nullptr,
               n);
    }
  }

  // Of schedules that go along the order of the groups.
  static void AddSchedule(Graph& graph, const plan::Schedule& schedule, std::size_t first) {
    auto after = [&](plan::Index group, plan::Index before) {
      std::vector<std::size_t>& all = graph.nodes[first + group].before;
      if (std::find(all.begin(), all.end(), first + before) != all.end()) return;
      all.push_back(first + before);
    };
    for (const plan::Wait& wait : schedule.waits) after(wait.group, wait.after);
    for (const plan::CoreOrder& list : schedule.cores) {
      for (std::size_t i = 1; list.core.index && i < list.groups.size(); ++i) {
        after(list.groups[i], list.groups[i - 1]);
      }
    }
  }

  Node OfGroup(const plan::Entry& entry, const plan::Group& group) {
    Node node;
    node.call = plan::CallOf(entry, group);
    if (node.call != nullptr) return node;
    node.shards = &group.shards;
    node.host = IsHost(entry.operators[group.ops[0]]);
    Place(group.placement, node);
    return node;
  }

  static bool IsHost(const plan::Operator& op) {
    return std::holds_alternative<plan::Host>(op.work);
  }

  // In the fallback an operator may use the cores that its group in the first variant may.
  Node OfOperator(const plan::Entry& entry, std::size_t op) {
    Node node;
    node.call = std::get_if<plan::Call>(&entry.operators[op].work);
    if (node.call != nullptr) return node;
    node.host = IsHost(entry.operators[op]);
    for (const plan::Group& group : entry.variants.front().groups) {
      if (std::find(group.ops.begin(), group.ops.end(), op) == group.ops.end()) continue;
      node.shards = &group.shards;
      Place(group.placement, node);
      if (std::exchange(node.preferred, false)) node.planned.clear();
      return node;
    }
    Place(plan::Placement(), node);
    return node;
  }

  std::size_t ClassOf(std::size_t core) const {
    std::size_t c = 0;
    while (core >= device_.classes[c].first_core + device_.classes[c].count) ++c;
    return c;
  }

  void Place(const plan::Placement& placement, Node& node) {
    std::vector<std::size_t> named;
    for (const plan::CoreRef& ref : placement.cores) {
      for (const device::CoreClass& of : device_.classes) {
        if (!ref.core_class.empty() && ref.core_class != of.name) continue;
        for (std::size_t i = 0; i < of.count; ++i) {
          if (!ref.index || *ref.index == i) named.push_back(of.first_core + i);
        }
      }
    }
    node.preferred = placement.mode == plan::PlacementMode::kPreferred;
    node.allowed.assign(device_.core_count(), false);
    for (std::size_t core = 0; core < node.allowed.size(); ++core) {
      node.allowed[core] = named.empty() && device_.classes[ClassOf(core)].host == node.host;
      for (std::size_t other : named) {
        if (core == other || (node.preferred && ClassOf(core) == ClassOf(other))) {
          node.allowed[core] = true;
        }
      }
    }
    if (placement.mode != plan::PlacementMode::kAny) node.planned = named;
    std::set<std::size_t> classes;
    for (std::size_t core = 0; core < node.allowed.size(); ++core) {
      if (node.allowed[core]) classes.insert(ClassOf(core));
    }
    node.weighed = classes.size() > 1;
    const auto known = std::find(domains_.begin(), domains_.end(), node.allowed);
    node.domain = static_cast<std::size_t>(known - domains_.begin());
    if (known == domains_.end()) domains_.push_back(node.allowed);
  }

  const plan::Body& plan_;
  const device::Spec& device_;
  std::vector<std::vector<bool>> domains_;
};

// Bottom level in 64 classes of the longest path: from the node's begin to the run's end.
void SetCriticalities(Graph& graph, const sched::CostTable& planned) {
  // Of one node; of a call, all its repetitions.
  std::function<double(std::size_t)> own, to_frame_end, to_run_end;
  auto longest = [&](std::size_t frame) {
    double most = 0;
    for (std::size_t i = 0; i < graph.frames[frame].count; ++i) {
      most = std::max(most, to_frame_end(graph.frames[frame].first + i));
    }
    return most;
  };
  own = [&](std::size_t n) -> double {
    const Node& node = graph.nodes[n];
    if (node.call == nullptr) return static_cast<double>(planned.predicted[n].count());
    return static_cast<double>((node.call->times)(planned.dims)) * longest(node.body);
  };
  auto after = [&](std::size_t n) {
    double most = 0;
    for (std::size_t s : graph.nodes[n].after) most = std::max(most, to_frame_end(s));
    return most;
  };
  to_frame_end = [&](std::size_t n) { return own(n) + after(n); };
  // A body's nodes have before them what follows the call, too; not its further repetitions.
  to_run_end = [&](std::size_t n) {
    const std::size_t caller = graph.frames[graph.nodes[n].frame].caller;
    double rest = 0;
    for (std::size_t c = caller; c != kNone; c = graph.frames[graph.nodes[c].frame].caller) {
      rest += after(c);
    }
    return to_frame_end(n) + rest;
  };
  const double whole = std::max(longest(0), 1.0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    graph.nodes[n].criticality =
        std::min(63u, static_cast<std::uint32_t>(to_run_end(n) / whole * 63));
  }
}

}  // namespace

std::vector<Graph> MakeGraphs(const exec::SimConfig& config, const plan::Entry& entry,
                              const OracleCosts& costs) {
  GraphMaker maker(config);
  std::vector<Graph> graphs;
  for (const plan::Variant& variant : entry.variants) {
    graphs.push_back(maker.Make(entry, &variant));
  }
  graphs.push_back(maker.Make(entry, nullptr));
  for (std::size_t g = 0; g < graphs.size(); ++g) SetCriticalities(graphs[g], costs.planned(g));
  return graphs;
}

}  // namespace leeway::testing::oracle
