// The load under which a device draws the most: every unit at full rate, and the DRAM.
//
// Threading: pure functions, but for the loop that one advances.

#ifndef LEEWAY_DEVICE_FULL_LOAD_H_
#define LEEWAY_DEVICE_FULL_LOAD_H_

#include "device/power_loop.h"
#include "device/spec.h"

namespace leeway::device {

// Dynamic power at the nominal clock, by the energies of the events.
struct FullLoad {
  double core_watts = 0, dram_watts = 0;

  double watts() const { return core_watts + dram_watts; }
};
FullLoad FullLoadOf(const Spec& spec);

// Runs everything for a minute, at the clock that the loop leaves it. Returns the mean power of the
// last second, static power included. Requires the loop to be of `spec`, and its period 1 ms.
double WattsUnderFullLoad(const Spec& spec, PowerLoop& loop);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_FULL_LOAD_H_
