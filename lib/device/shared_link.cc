#include "device/shared_link.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "base/check.h"
#include "base/math.h"

namespace leeway::device {

using absl::int128;

SharedLink::SharedLink(ByteUnits capacity, std::size_t slots)
    : capacity_(capacity), started_(slots, false) {
  LEEWAY_CHECK(slots <= kMaxCores && capacity > 0 && capacity < (ByteUnits{1} << 53));
  flows_.reserve(slots);
}

void SharedLink::Start(Instant now, std::size_t slot, ByteUnits bytes, ByteUnits cap, Claim claim) {
  LEEWAY_CHECK(slot < started_.size() && !started_[slot] && bytes > 0 && cap > 0);
  LEEWAY_CHECK(claim.weight >= 1 && claim.weight <= std::int64_t{1} << 20);
  Advance(now);
  started_[slot] = true;
  const Flow flow{slot, bytes, std::min(cap, capacity_), 0, claim};
  const auto at =
      std::upper_bound(flows_.begin(), flows_.end(), flow, [](const Flow& a, const Flow& b) {
        if (a.claim.rank != b.claim.rank) return a.claim.rank < b.claim.rank;
        const int128 of_a = int128(a.cap) * b.claim.weight, of_b = int128(b.cap) * a.claim.weight;
        return of_a != of_b ? of_a < of_b : a.slot < b.slot;
      });
  flows_.insert(at, flow);
  Share();
}

ByteUnits SharedLink::Stop(Instant now, std::size_t slot) {
  const ByteUnits left = Left(now, slot);
  started_[slot] = false;
  flows_.erase(std::find_if(flows_.begin(), flows_.end(),
                            [slot](const Flow& flow) { return flow.slot == slot; }));
  Share();
  return left;
}

ByteUnits SharedLink::Left(Instant now, std::size_t slot) {
  LEEWAY_CHECK(slot < started_.size() && started_[slot]);
  Advance(now);
  return Of(slot).left;
}

const SharedLink::Flow& SharedLink::Of(std::size_t slot) const {
  LEEWAY_CHECK(slot < started_.size() && started_[slot]);
  return *std::find_if(flows_.begin(), flows_.end(),
                       [slot](const Flow& flow) { return flow.slot == slot; });
}

void SharedLink::Advance(Instant now) {
  LEEWAY_CHECK(now >= updated_ && now <= next_end_);
  const std::int64_t passed = (now - updated_).count();
  for (Flow& flow : flows_) {
    const int128 left = int128(flow.left) - int128(flow.rate) * passed;
    flow.left = left > 0 ? static_cast<ByteUnits>(left) : 0;
  }
  updated_ = now;
}

// Shares `left` among flows of one rank; returns what they leave.
ByteUnits SharedLink::Fill(std::size_t begin, std::size_t end, ByteUnits left) {
  std::int64_t weight = 0;
  for (std::size_t at = begin; at < end; ++at) weight += flows_[at].claim.weight;
  std::size_t at = begin;
  for (; at < end; ++at) {
    Flow& flow = flows_[at];
    if (int128(flow.cap) * weight > int128(left) * flow.claim.weight) break;
    flow.rate = flow.cap;
    left -= flow.cap;
    weight -= flow.claim.weight;
  }
  if (at == end) return left;
  for (; at < end; ++at) {
    flows_[at].rate = base::MulDivFloor(left, flows_[at].claim.weight, weight);
  }
  return 0;
}

void SharedLink::Share() {
  ByteUnits left = capacity_;
  for (std::size_t begin = 0; begin < flows_.size();) {
    std::size_t end = begin + 1;
    while (end < flows_.size() && flows_[end].claim.rank == flows_[begin].claim.rank) ++end;
    left = Fill(begin, end, left);
    begin = end;
  }
  next_end_ = Instant::Max();
  next_slot_ = 0;
  for (const Flow& flow : flows_) {
    if (flow.rate == 0) continue;
    const std::int64_t lasts = base::CeilDiv(flow.left, flow.rate);
    if (lasts >= (Instant::Max() - updated_).count()) continue;
    const Instant end = updated_ + Nanos{lasts};
    if (end > next_end_ || (end == next_end_ && flow.slot > next_slot_)) continue;
    next_end_ = end;
    next_slot_ = flow.slot;
  }
}

}  // namespace leeway::device
