// Mapping accuracy (M1): the share of core time that ran as the plan mapped it and as long as it
// predicted. What did not is put down to the first check that it fails: was the shape inside the
// plan's envelope, was the variant the one bound, was the core one of the placement's, was the time
// within the tolerance of the prediction. The shares sum to 1.
//
// Time is that of the device as it is, without contention; the prediction is the plan's at the
// executed dims and batch.

#ifndef LEEWAY_RETUNE_MAPPING_ACCURACY_H_
#define LEEWAY_RETUNE_MAPPING_ACCURACY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "device/reality.h"
#include "leeway/loop_result.h"
#include "telemetry/executed_steps.h"

namespace leeway::retune {

// The default tolerance τ of the cost check: |ln(c/ĉ)| ≤ ln(1 + τ).
inline constexpr double kAccuracyTolerance = 0.15;

// Returns nothing if no step ran. `reality` may be null: the device is as it is modelled.
std::optional<MappingAccuracy> AccuracyOf(std::span<const telemetry::ExecutedSteps> executed,
                                          const device::Reality* reality);

// Returns the interval of AccuracyOf()'s `accuracy` over resamples of `windows` windows, those of
// the census; nothing where they are too few.
std::optional<std::pair<double, double>> AccuracyInterval(
    std::span<const telemetry::ExecutedSteps> executed, const device::Reality* reality,
    std::size_t windows, std::uint64_t seed);

// Returns the least and the most accuracy over devices of the noise's spreads and seeds 0 … seeds−1
// counted from its own; nothing if no step ran or seeds < 1.
std::optional<std::pair<double, double>> AccuracyRange(
    std::span<const telemetry::ExecutedSteps> executed, const device::RealityNoise& noise,
    int seeds);

// Returns the share of core time that ran as fallback; 0 if none ran.
double FallbackTime(std::span<const telemetry::ExecutedSteps> executed,
                    const device::Reality* reality);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_MAPPING_ACCURACY_H_
