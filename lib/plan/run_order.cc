#include "plan/run_order.h"

#include <algorithm>
#include <span>
#include <utility>

#include "plan/findings.h"
#include "plan/graph.h"

namespace leeway::plan {
namespace {

bool Counts(const CoreOrder& list, RunOrder::Lists lists) {
  return lists == RunOrder::Lists::kAll || list.core.index.has_value();
}

}  // namespace

RunOrder::RunOrder(const Variant& variant, Lists lists) : variant_(variant) {
  AddNodes(lists);
  AddEdges(lists);
  Order order = TopologicalOrder(nodes_.size(), [&](Index node) {
    return std::span<const Index>(needed_).subspan(first_[node], first_[node + 1] - first_[node]);
  });
  cycle_ = std::move(order.cycle);
  order_ = std::move(order.nodes);
  position_.resize(nodes_.size());
  for (Index i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  if (cycle_.empty()) FindBackbone();
}

void RunOrder::AddNodes(Lists lists) {
  const std::size_t groups = variant_.groups.size();
  parts_.assign(groups, 0);
  nodes_.resize(groups);
  for (Index g = 0; g < groups; ++g) nodes_[g] = {g, kNone};
  const std::vector<CoreOrder>& cores = variant_.schedule.cores;
  for (Index i = 0; i < cores.size(); ++i) {
    if (!Counts(cores[i], lists)) continue;
    for (const Index group : cores[i].groups) {
      ++parts_[group];
      nodes_[group].list = i;
    }
  }
  entry_node_.resize(groups);
  for (Index g = 0; g < groups; ++g) {
    entry_node_[g] = g;
    if (parts_[g] < 2) continue;
    nodes_[g].list = kNone;
    entry_node_[g] = static_cast<Index>(nodes_.size());
    nodes_.resize(nodes_.size() + 1 + parts_[g], {g, kNone});
  }
}

template <typename Visit>
void RunOrder::ForEachEdge(Lists lists, Visit visit) const {
  const std::size_t groups = variant_.groups.size();
  for (Index g = 0; g < groups; ++g) {
    for (const Index before : variant_.groups[g].predecessors) visit(entry_node_[g], before);
    if (parts_[g] < 2) continue;
    for (Index part = 1; part <= parts_[g]; ++part) {
      visit(entry_node_[g] + part, entry_node_[g]);
      visit(g, entry_node_[g] + part);
    }
  }
  for (const Wait& wait : variant_.schedule.waits) visit(entry_node_[wait.group], wait.after);
  std::vector<Index> part(groups, 0);
  for (const CoreOrder& list : variant_.schedule.cores) {
    if (!Counts(list, lists)) continue;
    Index last = kNone;
    for (const Index group : list.groups) {
      const Index node = parts_[group] < 2 ? group : entry_node_[group] + ++part[group];
      if (last != kNone) visit(node, last);
      last = node;
    }
  }
}

void RunOrder::AddEdges(Lists lists) {
  first_.assign(nodes_.size() + 1, 0);
  ForEachEdge(lists, [&](Index node, Index) { ++first_[node + 1]; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  needed_.resize(first_.back());
  std::vector<Index> next(first_.begin(), first_.end() - 1);
  ForEachEdge(lists, [&](Index node, Index needed) { needed_[next[node]++] = needed; });
  // Parts are numbered as lists name them.
  const std::vector<CoreOrder>& cores = variant_.schedule.cores;
  std::vector<Index> part(variant_.groups.size(), 0);
  for (Index i = 0; i < cores.size(); ++i) {
    if (!Counts(cores[i], lists)) continue;
    for (const Index group : cores[i].groups) {
      if (parts_[group] > 1) nodes_[entry_node_[group] + ++part[group]].list = i;
    }
  }
}

void RunOrder::FindBackbone() {
  // By node: how many there are on the longest way to it, and the node before it there.
  std::vector<Index> length(nodes_.size(), 1), before(nodes_.size(), kNone);
  Index end = kNone;
  for (const Index node : order_) {
    for (Index i = first_[node]; i < first_[node + 1]; ++i) {
      if (length[needed_[i]] < length[node]) continue;
      length[node] = length[needed_[i]] + 1;
      before[node] = needed_[i];
    }
    if (end == kNone || length[node] > length[end]) end = node;
  }
  joins_.assign(nodes_.size(), kNone);
  leaves_.assign(nodes_.size(), 0);
  for (Index node = end; node != kNone; node = before[node]) {
    joins_[node] = length[node] - 1;
    leaves_[node] = length[node];
  }
  for (const Index node : order_) {
    for (Index i = first_[node]; i < first_[node + 1]; ++i) {
      leaves_[node] = std::max(leaves_[node], leaves_[needed_[i]]);
    }
  }
  for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
    for (Index i = first_[*node]; i < first_[*node + 1]; ++i) {
      joins_[needed_[i]] = std::min(joins_[needed_[i]], joins_[*node]);
    }
  }
  seen_.assign(nodes_.size(), 0);
}

std::string RunOrder::Reason(Index needed, Index node) const {
  const Index before = nodes_[needed].group, group = nodes_[node].group;
  const std::vector<Index>& dependencies = variant_.groups[group].predecessors;
  if (std::binary_search(dependencies.begin(), dependencies.end(), before)) return "needs it";
  const std::vector<Wait>& waits = variant_.schedule.waits;
  const bool waits_for = std::any_of(waits.begin(), waits.end(), [&](const Wait& wait) {
    return wait.group == group && wait.after == before;
  });
  if (waits_for) return "waits for it";
  return "follows it in cores[" + std::to_string(nodes_[node].list) + "]";
}

std::string RunOrder::Deadlock() const {
  if (cycle_.empty()) return "";
  // Of the nodes of one group, one is enough.
  std::vector<Index> steps;
  const auto before = [&](Index i) { return cycle_[i == 0 ? cycle_.size() - 1 : i - 1]; };
  for (Index i = 0; i < cycle_.size(); ++i) {
    if (nodes_[cycle_[i]].group != nodes_[before(i)].group) steps.push_back(i);
  }
  const auto name = [&](Index node) { return Quote(variant_.groups[nodes_[node].group].name); };
  const std::string start = name(cycle_.back());
  if (steps.empty()) return start + " -> " + start + " (waits for it)";
  return start + " -> " + ShowPath(steps, [&](Index i) {
           return name(cycle_[i]) + " (" + Reason(before(i), cycle_[i]) + ")";
         });
}

Index RunOrder::FirstPart(Index group) const {
  return parts_[group] < 2 ? group : entry_node_[group] + 1;
}

Index RunOrder::Position(Index group) const {
  const auto first = position_.begin() + FirstPart(group);
  return *std::max_element(first, first + std::max<Index>(1, parts_[group]));
}

bool RunOrder::Precedes(Index before, Index group, std::size_t& budget) {
  const Index froms = std::max<Index>(1, parts_[before]), tos = std::max<Index>(1, parts_[group]);
  for (Index i = 0; i < froms; ++i) {
    for (Index j = 0; j < tos; ++j) {
      if (!Reaches(FirstPart(before) + i, FirstPart(group) + j, budget)) return false;
    }
  }
  return true;
}

bool RunOrder::Reaches(Index from, Index to, std::size_t& budget) {
  if (position_[to] <= position_[from]) return false;
  if (budget > 0) --budget;
  ++stamp_;
  std::vector<Index> open = {to};
  while (!open.empty()) {
    const Index node = open.back();
    open.pop_back();
    if (node == from || joins_[from] < leaves_[node]) return true;
    for (Index i = first_[node]; i < first_[node + 1]; ++i) {
      if (budget == 0) return true;
      --budget;
      const Index needed = needed_[i];
      if (position_[needed] < position_[from] || seen_[needed] == stamp_) continue;
      seen_[needed] = stamp_;
      open.push_back(needed);
    }
  }
  return false;
}

}  // namespace leeway::plan
