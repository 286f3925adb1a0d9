#include "sched/ready_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace leeway::sched {

void ReadyQueue::Push(LaneId id, Key key, StepRef step) {
  const std::size_t index = IndexOf(id);
  if (index >= lanes_.size()) lanes_.resize(index + 1);
  Lane& lane = lanes_[index];
  auto at = lane.end();
  while (at != lane.begin() && std::prev(at)->key < key) --at;
  if (at == lane.begin() || std::prev(at)->key != key) {
    Class fresh;
    fresh.key = key;
    if (!spare_.empty()) {
      fresh.steps = std::move(spare_.back());
      spare_.pop_back();
    }
    at = lane.insert(at, std::move(fresh));
  } else {
    --at;
  }
  at->steps.push_back(step);
  best_ = std::min(best_, key);
  ++size_;
  if (id.affinity == Affinity::kPlanned) ++planned_;
}

StepRef ReadyQueue::TakeFront(LaneId id) {
  Lane& lane = lanes_[IndexOf(id)];
  Class& best = lane.back();
  const StepRef step = best.steps[best.head++];
  --size_;
  if (id.affinity == Affinity::kPlanned) --planned_;
  if (best.head == best.steps.size()) {
    best.steps.clear();
    spare_.push_back(std::move(best.steps));
    lane.pop_back();
    best_ = Key{};
    for (const Lane& other : lanes_) {
      if (!other.empty()) best_ = std::min(best_, other.back().key);
    }
  } else if (best.head >= 64 && best.head * 2 >= best.steps.size()) {
    // A class that never empties must not keep what has left it.
    best.steps.erase(best.steps.begin(),
                     best.steps.begin() + static_cast<std::ptrdiff_t>(best.head));
    best.head = 0;
  }
  return step;
}

StepRef ReadyQueue::Pop(LaneId id) {
  LEEWAY_CHECK(best(id).valid());
  return TakeFront(id);
}

StepRef ReadyQueue::PopWorst(LaneId id) {
  LEEWAY_CHECK(best(id).valid());
  Lane& lane = lanes_[IndexOf(id)];
  // The lane's best key, on which best() may rest.
  if (lane.size() == 1) return TakeFront(id);
  Class& worst = lane.front();
  const StepRef step = worst.steps[worst.head++];
  --size_;
  if (id.affinity == Affinity::kPlanned) --planned_;
  if (worst.head == worst.steps.size()) {
    worst.steps.clear();
    spare_.push_back(std::move(worst.steps));
    lane.erase(lane.begin());
  }
  return step;
}

std::vector<StepRef> ReadyQueue::PopHalf(LaneId id) {
  LEEWAY_CHECK(best(id).valid());
  const Lane& lane = lanes_[IndexOf(id)];
  const std::size_t take = (lane.back().steps.size() - lane.back().head + 1) / 2;
  std::vector<StepRef> steps;
  for (std::size_t i = 0; i < take; ++i) steps.push_back(TakeFront(id));
  return steps;
}

}  // namespace leeway::sched
