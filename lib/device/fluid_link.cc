#include "device/fluid_link.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/math.h"

namespace leeway::device {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::uint64_t Wrap(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// now + ceil(bytes / rate), saturating.
std::int64_t EndAt(std::int64_t now, ByteUnits bytes, ByteUnits rate) {
  const std::int64_t lasts = base::CeilDiv(bytes, rate);
  return lasts <= kNever - now ? now + lasts : kNever;
}

}  // namespace

FluidLink::FluidLink(ByteUnits capacity, std::size_t slots)
    : capacity_(capacity), started_(slots, false) {
  // The upper bound keeps the sum of all caps and every cap·count within 64 bits.
  LEEWAY_CHECK(slots <= kMaxCores && capacity >= 0 && capacity < (ByteUnits{1} << 53));
  LEEWAY_CHECK(capacity == kUnshared || capacity >= static_cast<ByteUnits>(slots));
  flows_.reserve(slots);
}

void FluidLink::Start(Instant now, std::size_t slot, ByteUnits bytes, ByteUnits cap) {
  LEEWAY_CHECK(slot < started_.size() && !started_[slot] && bytes > 0 && cap > 0);
  Advance(now);
  started_[slot] = true;
  settled_ = false;
  // A cap above the capacity never binds; without it no sum can overflow.
  if (capacity_ != kUnshared) cap = std::min(cap, capacity_);
  Flow& flow = MakeRoom(cap, static_cast<std::uint32_t>(slot));
  if (&flow < flows_.data() + capped_) {
    Cap(flow, bytes);
    ++capped_;
    if (capacity_ != kUnshared) capped_rate_ += cap;
  } else {
    flow.mark = Wrap(bytes) + moved_;
  }
}

// Filled where it stands: a flow that is made elsewhere and copied waits for the stores of its
// fields.
FluidLink::Flow& FluidLink::MakeRoom(ByteUnits cap, std::uint32_t slot) {
  flows_.emplace_back();
  std::size_t at = flows_.size() - 1;
  for (; at > 0; --at) {
    const Flow& before = flows_[at - 1];
    if (before.cap < cap || (before.cap == cap && before.slot < slot)) break;
    flows_[at] = before;
  }
  Flow& flow = flows_[at];
  flow.cap = cap;
  flow.slot = slot;
  return flow;
}

ByteUnits FluidLink::Stop(Instant now, std::size_t slot) {
  LEEWAY_CHECK(slot < started_.size() && started_[slot]);
  Advance(now);
  started_[slot] = false;
  settled_ = false;
  const std::size_t at = Find(slot);
  const ByteUnits left = Remaining(at);
  if (at < capped_) {
    --capped_;
    if (capacity_ != kUnshared) capped_rate_ -= flows_[at].cap;
  }
  flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(at));
  return left;
}

ByteUnits FluidLink::Left(Instant now, std::size_t slot) {
  LEEWAY_CHECK(slot < started_.size() && started_[slot]);
  Advance(now);
  return Remaining(Find(slot));
}

ByteUnits FluidLink::rate(std::size_t slot) {
  LEEWAY_CHECK(slot < started_.size() && started_[slot]);
  Settle();
  const std::size_t at = Find(slot);
  return at < capped_ ? flows_[at].cap : level_;
}

void FluidLink::Advance(Instant now) {
  if (now == updated_) return;
  // The rates of the time that passed are those that were due, asked for or not.
  Settle();
  LEEWAY_CHECK(now > updated_ && now <= next_end_);
  moved_ += Wrap(level_) * Wrap((now - updated_).count());
  updated_ = now;
}

// Moves the border between the capped flows and the rest to where it is due. A flow is capped if
// its cap is at most an equal part of what those before it leave; if one is not, none after it is.
void FluidLink::Share() {
  const auto count = [&](ByteUnits cap) { return capacity_ == kUnshared ? 0 : cap; };
  while (capped_ > 0) {
    Flow& flow = flows_[capped_ - 1];
    const ByteUnits below = capped_rate_ - count(flow.cap);
    if (StaysCapped(capped_ - 1, below)) break;
    flow.mark = Wrap(Remaining(capped_ - 1)) + moved_;
    capped_rate_ = below;
    --capped_;
  }
  while (capped_ < flows_.size() && StaysCapped(capped_, capped_rate_)) {
    Flow& flow = flows_[capped_];
    Cap(flow, Remaining(capped_));
    capped_rate_ += count(flow.cap);
    ++capped_;
  }
  const auto sharing = static_cast<ByteUnits>(flows_.size() - capped_);
  level_ = sharing == 0 ? 0 : (capacity_ - capped_rate_) / sharing;
}

bool FluidLink::StaysCapped(std::size_t at, ByteUnits below) const {
  if (capacity_ == kUnshared) return true;
  return flows_[at].cap * static_cast<ByteUnits>(flows_.size() - at) <= capacity_ - below;
}

void FluidLink::Cap(Flow& flow, ByteUnits remaining) const {
  const std::int64_t now = updated_.count();
  flow.mark = Wrap(remaining) + Wrap(flow.cap) * Wrap(now);
  flow.end = EndAt(now, remaining, flow.cap);
}

// The passes compile to conditional moves: a branch on which flow is the first to end is one the
// processor cannot foresee.
void FluidLink::FindNextEnd() {
  std::int64_t end = kNever;
  for (std::size_t at = 0; at < capped_; ++at) end = std::min(end, flows_[at].end);
  capped_end_ = end;
  level_end_ = kNever;
  if (capped_ < flows_.size()) {
    // At equal rates the one with the least left ends first.
    ByteUnits least = std::numeric_limits<ByteUnits>::max();
    for (std::size_t at = capped_; at < flows_.size(); ++at) {
      least = std::min(least, static_cast<ByteUnits>(flows_[at].mark - moved_));
    }
    level_end_ = EndAt(updated_.count(), std::max<ByteUnits>(least, 0), level_);
  }
  next_end_ = Instant(Nanos(std::min(end, level_end_)));
}

std::size_t FluidLink::next_slot() {
  Settle();
  const std::int64_t end = next_end_.count();
  std::uint32_t slot = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t at = 0; at < capped_ && capped_end_ == end; ++at) {
    if (flows_[at].end == end) slot = std::min(slot, flows_[at].slot);
  }
  if (level_end_ > end) return slot;
  // With the one that has the least left end all whose rest rounds up to the same instant.
  ByteUnits due = 0;
  if (__builtin_mul_overflow(end - updated_.count(), level_, &due)) {
    due = std::numeric_limits<ByteUnits>::max();
  }
  for (std::size_t at = capped_; at < flows_.size(); ++at) {
    if (static_cast<ByteUnits>(flows_[at].mark - moved_) <= due) {
      slot = std::min(slot, flows_[at].slot);
    }
  }
  return slot;
}

ByteUnits FluidLink::Remaining(std::size_t at) const {
  const Flow& flow = flows_[at];
  const std::uint64_t moved = at < capped_ ? Wrap(flow.cap) * Wrap(updated_.count()) : moved_;
  // Below 0 by less than one nanosecond of the rate: an end is rounded up.
  return std::max<ByteUnits>(static_cast<ByteUnits>(flow.mark - moved), 0);
}

std::size_t FluidLink::Find(std::size_t slot) const {
  std::size_t at = 0;
  while (flows_[at].slot != slot) ++at;
  return at;
}

}  // namespace leeway::device
