// A step on a core whose clock is not the nominal one, or changes under it.
//
// What computes stretches with the clock; launches and transfers do not. A body that a transfer
// bounds keeps its demand until the clock is so low that it computes for longer.
//
// Threading: values and pure functions.

#ifndef LEEWAY_DEVICE_CLOCKED_STEP_H_
#define LEEWAY_DEVICE_CLOCKED_STEP_H_

#include <cstdint>

#include "device/spec.h"
#include "device/step_cost.h"
#include "leeway/time.h"

namespace leeway::device {

// A clock as a part of the nominal one, in 2⁻²⁰.
using ClockShare = std::int64_t;
inline constexpr ClockShare kNominalClock = ClockShare{1} << 20;

// Returns the demand cap of a body with traffic at a clock of `share`, at least 1, at most its
// nominal cap. Requires 0 < share <= kNominalClock.
ByteUnits CapAt(const StepCost& cost, ClockShare share);

// Returns how long what takes `nominal` at the nominal clock takes at `share`, and the reverse;
// rounded up. Requires 0 < share <= kNominalClock.
Nanos Slowed(Nanos nominal, ClockShare share);
Nanos Nominal(Nanos slowed, ClockShare share);

// What a body would do with the DRAM to itself, at the clocks that it met.
class BodyAlone {
 public:
  BodyAlone() = default;
  // Begins at `now`. A `dram_rate` of FluidLink::kUnshared bounds nothing.
  BodyAlone(Instant now, const StepCost& cost, ClockShare share, ByteUnits dram_rate);

  void Reclock(Instant now, const StepCost& cost, ClockShare share);
  // Returns how long it takes, if the clock stays from `now` on. A body without traffic is always
  // alone: it takes the time until `now`.
  Nanos Lasts(Instant now) const;

 private:
  ByteUnits Rate(const StepCost& cost, ClockShare share) const;

  Instant began_, since_;
  ByteUnits left_ = 0, rate_ = 0;  // rate 0: no traffic
  ByteUnits dram_rate_ = 0;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_CLOCKED_STEP_H_
