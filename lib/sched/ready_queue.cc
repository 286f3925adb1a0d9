#include "sched/ready_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace leeway::sched {

void ReadyQueue::Push(LaneId id, Key key, const StepRef& step) {
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

void ReadyQueue::Left(LaneId id, Lane::iterator from) {
  --size_;
  if (id.affinity == Affinity::kPlanned) --planned_;
  if (from->head < from->steps.size()) return;
  from->steps.clear();
  spare_.push_back(std::move(from->steps));
  lanes_[IndexOf(id)].erase(from);
  best_ = Key{};
  for (const Lane& other : lanes_) {
    if (!other.empty()) best_ = std::min(best_, other.back().key);
  }
}

StepRef ReadyQueue::TakeFront(LaneId id) {
  Lane& lane = lanes_[IndexOf(id)];
  Class& best = lane.back();
  const StepRef step = best.steps[best.head++];
  // A class that never empties must not keep what has left it.
  if (best.head >= 64 && best.head < best.steps.size() && best.head * 2 >= best.steps.size()) {
    best.steps.erase(best.steps.begin(),
                     best.steps.begin() + static_cast<std::ptrdiff_t>(best.head));
    best.head = 0;
  }
  Left(id, std::prev(lane.end()));
  return step;
}

void ReadyQueue::Remove(LaneId id, Key key, const StepRef& step) {
  Lane& lane = lanes_[IndexOf(id)];
  const auto from =
      std::find_if(lane.begin(), lane.end(), [&](const Class& c) { return c.key == key; });
  LEEWAY_CHECK(from != lane.end());
  const auto found = std::find(from->steps.begin() + static_cast<std::ptrdiff_t>(from->head),
                               from->steps.end(), step);
  LEEWAY_CHECK(found != from->steps.end());
  from->steps.erase(found);
  Left(id, from);
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
