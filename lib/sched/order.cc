#include "sched/order.h"

#include <algorithm>

#include "base/check.h"

namespace leeway::sched {
namespace {

// A slot at most this far behind the oldest live one: urgency fits one 64-bit word of occupancy.
constexpr std::uint64_t kSlotWindow = 63;

}  // namespace

std::uint32_t WeightOf(const StreamSpec& stream) {
  if (stream.weight > 0) return stream.weight;
  return 1024u >> std::min(stream.priority.level() - 1, 10);
}

std::uint64_t Order::Admit(Instant now, StreamId stream, Priority priority) {
  std::uint64_t slot = 0;
  if (policy_ == Policy::kLeeway) {
    slot = static_cast<std::uint64_t>(now.count() / ageing_.count()) +
           static_cast<std::uint64_t>(priority.level()) - 1;
    if (!live_slots_.empty()) slot = std::min(slot, live_slots_.begin()->first + kSlotWindow);
  } else if (by_work()) {
    if (live_slots_.empty()) tags_.Idle();
    slot = tags_.Next(stream);
  }
  ++live_slots_[slot];
  return slot;
}

void Order::Left(std::uint64_t slot) {
  const auto live = live_slots_.find(slot);
  LEEWAY_CHECK(live != live_slots_.end());
  if (--live->second == 0) live_slots_.erase(live);
}

}  // namespace leeway::sched
