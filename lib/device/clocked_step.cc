#include "device/clocked_step.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "base/math.h"
#include "device/fluid_link.h"

namespace leeway::device {

ByteUnits CapAt(const StepCost& cost, ClockShare share) {
  if (share == kNominalClock || cost.compute == Nanos{0}) return cost.cap;
  const absl::int128 demand =
      absl::int128(cost.body_bytes) * share / (absl::int128(cost.compute.count()) * kNominalClock);
  if (demand >= cost.cap) return cost.cap;
  return std::max<ByteUnits>(static_cast<ByteUnits>(demand), 1);
}

Nanos Slowed(Nanos nominal, ClockShare share) {
  return Nanos{base::MulDivCeil(nominal.count(), kNominalClock, share)};
}

Nanos Nominal(Nanos slowed, ClockShare share) {
  return Nanos{base::MulDivCeil(slowed.count(), share, kNominalClock)};
}

BodyAlone::BodyAlone(Instant now, const StepCost& cost, ClockShare share, ByteUnits dram_rate)
    : began_(now), since_(now), left_(cost.body_bytes), dram_rate_(dram_rate) {
  rate_ = Rate(cost, share);
}

ByteUnits BodyAlone::Rate(const StepCost& cost, ClockShare share) const {
  if (cost.body_bytes == 0) return 0;
  const ByteUnits cap = CapAt(cost, share);
  return dram_rate_ == FluidLink::kUnshared ? cap : std::min(cap, dram_rate_);
}

void BodyAlone::Reclock(Instant now, const StepCost& cost, ClockShare share) {
  if (rate_ == 0 || left_ == 0) return;
  if (base::CeilDiv(left_, rate_) <= (now - since_).count()) return;  // it has ended already
  left_ -= rate_ * (now - since_).count();
  since_ = now;
  rate_ = Rate(cost, share);
}

Nanos BodyAlone::Lasts(Instant now) const {
  if (rate_ == 0) return now - began_;
  return since_ - began_ + Nanos{base::CeilDiv(left_, rate_)};
}

}  // namespace leeway::device
