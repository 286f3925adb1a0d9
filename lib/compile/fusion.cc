#include "compile/fusion.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "device/live_set.h"
#include "plan/graph.h"

namespace leeway::compile {
namespace {

using plan::Index;

// The graph of groups while they merge. A group is named by one of its operators.
class Merger {
 public:
  Merger(const EntryGraph& graph, const Pricer& pricer, std::span<const std::int64_t> dims,
         std::span<const std::int64_t> largest, const DramRoom& room,
         std::vector<FusedGroup> singles)
      : graph_(graph),
        pricer_(pricer),
        dims_(dims),
        largest_(largest),
        room_(room),
        nodes_(singles.size()) {
    for (Index i = 0; i < nodes_.size(); ++i) {
      for (const Index before : singles[i].group.predecessors) {
        nodes_[i].before.insert(before);
        nodes_[before].after[i] = graph.Feeds(before, i);
      }
      nodes_[i].fused = std::move(singles[i]);
      nodes_[i].position = i;
      nodes_[i].alone = graph.StandsAlone(i);
      order_.push_back(i);
    }
  }

  std::vector<FusedGroup> Run() {
    for (Index i = 0; i < nodes_.size(); ++i) OfferConsumers(i);
    while (!offers_.empty()) {
      const Offer offer = offers_.top();
      offers_.pop();
      if (nodes_[offer.producer].version != offer.producer_version ||
          nodes_[offer.consumer].version != offer.consumer_version) {
        continue;
      }
      if (!MarkBetween(offer.producer, offer.consumer)) continue;
      Merge(offer);
    }
    return Finish();
  }

 private:
  struct Node {
    FusedGroup fused;
    std::set<Index> before;
    std::map<Index, bool> after;  // whether it reads what this group writes
    std::size_t position = 0;     // in order_
    std::uint32_t version = 0;    // counts merges; even where the group exists no more
    bool alone = false;
    bool gone = false;
    std::uint32_t seen = 0;
  };

  struct Offer {
    Nanos gain{0};
    Index producer = 0, consumer = 0;
    std::uint32_t producer_version = 0, consumer_version = 0;
    Choice choice = {};
    // The queue's top is the largest: of equal gains the first pair.
    bool operator<(const Offer& other) const {
      return std::tie(gain, other.producer, other.consumer) <
             std::tie(other.gain, producer, consumer);
    }
  };

  plan::Group Merged(Index producer, Index consumer) const {
    const std::vector<Index>& a = nodes_[producer].fused.group.ops;
    const std::vector<Index>& b = nodes_[consumer].fused.group.ops;
    std::vector<Index> ops;
    ops.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ops));
    return graph_.MakeGroup(ops);
  }

  void MakeOffer(Index producer, Index consumer) {
    const Node& a = nodes_[producer];
    const Node& b = nodes_[consumer];
    if (a.alone || b.alone) return;
    if (a.fused.group.ops.size() + b.fused.group.ops.size() > kMaxFused) return;
    if (!MarkBetween(producer, consumer)) return;
    const plan::Group merged = Merged(producer, consumer);
    const Result<Choice> choice = pricer_.Choose(graph_, merged, dims_);
    if (!choice.ok()) return;
    const Nanos time = a.fused.choice.time + b.fused.choice.time - choice->time;
    const Nanos gain = a.fused.choice.score() + b.fused.choice.score() - choice->score();
    if (gain <= Nanos{0}) return;
    const double burst = device::MemoryOf(graph_.body(), graph_.entry(), merged, largest_).burst;
    if (!device::AcceptsFusion(time, room_.peak, burst, room_.budget)) return;
    if (!pricer_.Cost(graph_, merged, largest_, *choice).ok()) return;
    offers_.push({gain, producer, consumer, a.version, b.version, *choice});
  }

  void OfferConsumers(Index producer) {
    for (const auto& [consumer, feeds] : nodes_[producer].after) {
      if (feeds) MakeOffer(producer, consumer);
    }
  }

  void OfferProducers(Index consumer) {
    for (const Index producer : nodes_[consumer].before) {
      if (nodes_[producer].after.at(consumer)) MakeOffer(producer, consumer);
    }
  }

  // Marks what is reachable from `from` and ordered before `to`. Returns false if that leads to
  // `to`: a merged group would need its own output.
  bool MarkBetween(Index from, Index to) {
    ++stamp_;
    stack_.clear();
    const auto visit = [&](Index node) {
      if (nodes_[node].position >= nodes_[to].position || nodes_[node].seen == stamp_) return;
      nodes_[node].seen = stamp_;
      stack_.push_back(node);
    };
    for (const auto& [next, feeds] : nodes_[from].after) visit(next);
    while (!stack_.empty()) {
      const Index node = stack_.back();
      stack_.pop_back();
      if (nodes_[node].after.contains(to)) return false;
      for (const auto& [next, feeds] : nodes_[node].after) visit(next);
    }
    return true;
  }

  // The producer takes the consumer in. Requires what MarkBetween has marked for the two.
  void Merge(const Offer& offer) {
    const Index a = offer.producer;
    const Index b = offer.consumer;
    Reorder(a, b);
    Node& into = nodes_[a];
    Node& from = nodes_[b];
    into.fused = {Merged(a, b), offer.choice};
    into.after.erase(b);
    from.before.erase(a);
    for (const auto& [next, feeds] : from.after) {
      into.after[next] |= feeds;
      nodes_[next].before.erase(b);
      nodes_[next].before.insert(a);
    }
    for (const Index previous : from.before) {
      std::map<Index, bool>& after = nodes_[previous].after;
      after[a] |= after.at(b);
      after.erase(b);
      into.before.insert(previous);
    }
    ++into.version;
    ++from.version;
    from.gone = true;
    from.after.clear();
    from.before.clear();
    OfferConsumers(a);
    OfferProducers(a);
  }

  // What lies between the two goes before both, but for what `a` leads to.
  void Reorder(Index a, Index b) {
    const std::size_t first = nodes_[a].position;
    const std::size_t last = nodes_[b].position;
    std::vector<Index> window, later;
    for (std::size_t p = first + 1; p < last; ++p) {
      if (order_[p] == plan::kNone) continue;
      (nodes_[order_[p]].seen == stamp_ ? later : window).push_back(order_[p]);
    }
    window.push_back(a);
    window.insert(window.end(), later.begin(), later.end());
    window.resize(last - first + 1, plan::kNone);
    for (std::size_t i = 0; i < window.size(); ++i) {
      order_[first + i] = window[i];
      if (window[i] != plan::kNone) nodes_[window[i]].position = first + i;
    }
  }

  std::vector<FusedGroup> Finish() {
    std::vector<Index> listed(nodes_.size(), plan::kNone);
    std::vector<FusedGroup> groups;
    for (const Index node : order_) {
      if (node == plan::kNone || nodes_[node].gone) continue;
      FusedGroup& fused = nodes_[node].fused;
      fused.group.predecessors.clear();
      for (const Index before : nodes_[node].before) {
        fused.group.predecessors.push_back(listed[before]);
      }
      std::sort(fused.group.predecessors.begin(), fused.group.predecessors.end());
      listed[node] = static_cast<Index>(groups.size());
      groups.push_back(std::move(fused));
    }
    return groups;
  }

  const EntryGraph& graph_;
  const Pricer& pricer_;
  std::span<const std::int64_t> dims_, largest_;
  DramRoom room_;
  std::vector<Node> nodes_;
  // A topological order of the groups; kNone where one was merged away.
  std::vector<Index> order_;
  std::priority_queue<Offer> offers_;
  std::vector<Index> stack_;
  std::uint32_t stamp_ = 0;
};

}  // namespace

Result<std::vector<FusedGroup>> Unfused(const EntryGraph& graph, const Pricer& pricer,
                                        std::span<const std::int64_t> dims) {
  std::vector<FusedGroup> groups;
  groups.reserve(graph.size());
  for (Index op = 0; op < graph.size(); ++op) {
    FusedGroup fused{.group = graph.MakeGroup({&op, 1})};
    fused.group.name = graph.entry().operators[op].name;
    fused.group.predecessors = graph.entry().operators[op].predecessors;
    if (graph.CallOf(op) == nullptr) {
      LEEWAY_ASSIGN_OR_RETURN(fused.choice, pricer.Choose(graph, fused.group, dims));
    }
    groups.push_back(std::move(fused));
  }
  return groups;
}

Result<std::vector<FusedGroup>> Fuse(const EntryGraph& graph, const Pricer& pricer,
                                     std::span<const std::int64_t> dims,
                                     std::span<const std::int64_t> largest, const DramRoom& room) {
  LEEWAY_ASSIGN_OR_RETURN(std::vector<FusedGroup> singles, Unfused(graph, pricer, dims));
  return Merger(graph, pricer, dims, largest, room, std::move(singles)).Run();
}

}  // namespace leeway::compile
