// The ready steps of one core, by placement domain and key.
//
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_READY_QUEUE_H_
#define LEEWAY_SCHED_READY_QUEUE_H_

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "sched/domain.h"
#include "sched/env.h"
#include "sched/run_graph.h"

namespace leeway::sched {

// (urgency, criticality): smaller goes first.
struct Key {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t word = kNone;

  static Key Of(std::uint64_t urgency, std::uint32_t criticality) {
    return Key{urgency * kCriticalities + (kCriticalities - 1 - criticality)};
  }
  std::uint64_t urgency() const { return word / kCriticalities; }
  bool valid() const { return word != kNone; }
  friend constexpr auto operator<=>(Key, Key) = default;
};

// Whether other cores of the domain take a step freely, or only against its affinity.
enum class Affinity : std::uint8_t { kNone, kPlanned };

// Steps of equal domain and affinity: first by key, within a key first in first out.
struct LaneId {
  DomainId domain;
  Affinity affinity = Affinity::kNone;
};

class ReadyQueue {
 public:
  void Push(LaneId lane, Key key, const StepRef& step);

  // Best key of a lane; invalid if the lane is empty.
  Key best(LaneId lane) const {
    const std::size_t index = IndexOf(lane);
    return index < lanes_.size() && !lanes_[index].empty() ? lanes_[index].back().key : Key{};
  }
  // Worst key of a lane; invalid if the lane is empty.
  Key worst(LaneId lane) const {
    const std::size_t index = IndexOf(lane);
    return index < lanes_.size() && !lanes_[index].empty() ? lanes_[index].front().key : Key{};
  }
  // Best key of all lanes; invalid if all are empty.
  Key best() const { return best_; }
  // Takes out this step of the lane. Requires it to be there.
  void Remove(LaneId lane, Key key, const StepRef& step);
  // Takes the oldest step of the lane's best key. Requires a non-empty lane.
  StepRef Pop(LaneId lane);
  // Takes the oldest step of the lane's worst key. Requires a non-empty lane.
  StepRef PopWorst(LaneId lane);
  // Takes up to half (rounded up) of the steps of the lane's best key, oldest first.
  std::vector<StepRef> PopHalf(LaneId lane);

  std::size_t size() const { return size_; }
  // Of them, in lanes of affinity kPlanned.
  std::size_t planned() const { return planned_; }

  // Calls visit(Key, StepRef) for the steps of the lane, the best first, until it returns true.
  template <typename Visit>
  void FindBest(LaneId lane, Visit visit) const {
    const std::size_t index = IndexOf(lane);
    if (index >= lanes_.size()) return;
    for (auto c = lanes_[index].rbegin(); c != lanes_[index].rend(); ++c) {
      for (std::size_t i = c->head; i < c->steps.size(); ++i) {
        if (visit(c->key, c->steps[i])) return;
      }
    }
  }
  // Calls visit(Key, StepRef) for every step of the lane, in no stated order.
  template <typename Visit>
  void ForEach(LaneId lane, Visit visit) const {
    const std::size_t index = IndexOf(lane);
    if (index >= lanes_.size()) return;
    for (const Class& c : lanes_[index]) {
      for (std::size_t i = c.head; i < c.steps.size(); ++i) visit(c.key, c.steps[i]);
    }
  }

 private:
  struct Class {
    Key key;
    std::size_t head = 0;
    std::vector<StepRef> steps;
  };
  // Falling keys: the best is at the back.
  using Lane = std::vector<Class>;

  static std::size_t IndexOf(LaneId lane) {
    return lane.domain.value() * 2 + static_cast<std::size_t>(lane.affinity);
  }
  StepRef TakeFront(LaneId id);
  // Drops a class of the lane that has emptied, and counts the step that did it.
  void Left(LaneId id, Lane::iterator from);

  std::vector<Lane> lanes_;
  std::vector<std::vector<StepRef>> spare_;  // emptied storage, used again
  Key best_;
  std::size_t size_ = 0;
  std::size_t planned_ = 0;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_READY_QUEUE_H_
