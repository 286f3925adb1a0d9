// A device as it is, against the device as it is modelled: seeded errors of the cost model, so that
// a plan is not compared with the very model that made it.
//
// A step takes its modelled time multiplied by a log-normal factor per operator key (a constant
// misjudgement of a kernel) and another per operator key and quarter octave of size (one that
// depends on the shape). Both follow from the seed alone: every plan, run and arm meets the same
// device. Factors are multiples of 2⁻²⁰, so that durations follow by integer arithmetic.
//
// Threading: immutable; any thread may read.

#ifndef LEEWAY_DEVICE_REALITY_H_
#define LEEWAY_DEVICE_REALITY_H_

#include <cstdint>

#include "device/step_cost.h"

namespace leeway::device {

struct RealityNoise {
  std::uint64_t seed = 0;
  // Standard deviations of the factors' logarithms.
  double per_operator = 0.08;
  double per_size = 0.06;
};

class Reality {
 public:
  // One in parts of a factor.
  static constexpr std::int64_t kOne = std::int64_t{1} << 20;

  explicit Reality(const RealityNoise& noise) : noise_(noise) {}

  // Returns the factor of a step: of the operator key, and of the quarter octave of `size`.
  std::int64_t Factor(std::uint64_t op_key, std::uint32_t size_quarter) const;

  const RealityNoise& noise() const { return noise_; }

 private:
  RealityNoise noise_;
};

// Returns ⌊4·log₂⌋ of a step's size: its multiply-adds and vector operations or, without any, its
// bytes; 0 for neither.
std::uint32_t SizeQuarter(const StepCost& cost);

// Lengthens or shortens everything but the launch by factor / kOne, each part rounded up: the body
// keeps its demand and moves so many more bytes through it.
StepCost Scaled(StepCost cost, std::int64_t factor);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_REALITY_H_
