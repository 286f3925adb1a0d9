// Heat: a ladder of thermal masses (Cauer form) from the die to the ambient air, and leakage.
//
// At constant power the temperatures after a period follow exactly from those before it, by one
// matrix that is computed once. Temperatures are kelvins above the ambient.
//
// Sources: the lumped RC model and the constants of HotSpot (Skadron et al., ISCA 2003); leakage as
// an exponential of temperature and voltage after Liao, He and Lepak (TCAD 2005).
//
// Threading: values and pure functions. No libm: results are the same everywhere.

#ifndef LEEWAY_DEVICE_THERMAL_H_
#define LEEWAY_DEVICE_THERMAL_H_

#include <array>
#include <cstddef>
#include <optional>

#include "device/spec.h"
#include "leeway/time.h"

namespace leeway::device {

inline constexpr std::size_t kMaxThermalNodes = 8;
using Temperatures = std::array<double, kMaxThermalNodes>;

// What a period of constant power makes of the ladder.
class ThermalStep {
 public:
  // Requires 1 to kMaxThermalNodes nodes, all positive.
  ThermalStep(const Thermal& ladder, Nanos period);

  // Returns the temperatures a period later.
  Temperatures After(const Temperatures& before, double watts) const;

 private:
  std::size_t nodes_;
  std::array<Temperatures, kMaxThermalNodes> carried_{};  // [to][from]
  Temperatures heated_{};                                 // by one watt
};

// Returns the leakage of a die at `celsius`, `volts` above the nominal voltage.
double LeakageWatts(const Thermal& ladder, double celsius, double volts);

// Returns the sum of the resistances: kelvins of the die above the ambient a watt, in the long run.
double LadderResistance(const Thermal& ladder);

// Returns the temperature at which the die stays with `watts` beside its leakage, at nominal
// voltage; nothing if there is none: leakage heats it faster than the ladder cools it (thermal
// runaway). At a temperature that is stable, leakage · per_kelvin · resistance < 1.
std::optional<double> SteadyCelsius(const Thermal& ladder, double watts);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_THERMAL_H_
