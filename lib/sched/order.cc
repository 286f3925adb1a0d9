#include "sched/order.h"

#include <algorithm>

#include "base/check.h"

namespace leeway::sched {
namespace {

// Intervals that a request is behind the most urgent live one at most, so that what is least urgent
// still has a bound.
constexpr std::uint64_t kSlotWindow = 63;

}  // namespace

std::uint32_t WeightOf(const StreamSpec& stream) {
  if (stream.weight > 0) return stream.weight;
  return 1024u >> std::min(stream.priority.level() - 1, 10);
}

std::uint64_t Order::Admit(Instant now, StreamId stream, Priority priority) {
  std::uint64_t urgency = 0;
  if (policy_ == Policy::kLeeway) {
    const auto behind = static_cast<std::uint64_t>(priority.level()) - 1;
    urgency = static_cast<std::uint64_t>(now.count()) + behind * ageing_;
    if (!live_.empty()) urgency = std::min(urgency, live_.begin()->first + kSlotWindow * ageing_);
  } else if (by_work()) {
    if (live_.empty()) tags_.Idle();
    urgency = tags_.Next(stream);
  }
  ++live_[urgency];
  return urgency;
}

void Order::Left(std::uint64_t urgency) {
  const auto live = live_.find(urgency);
  LEEWAY_CHECK(live != live_.end());
  if (--live->second == 0) live_.erase(live);
}

}  // namespace leeway::sched
