// Distances between a declared distribution of lengths and an observed sample, each with the value
// that chance alone exceeds once in a thousand times. They explain a drift; regret decides (M11).
//
// PSI, Jensen-Shannon: over 12 octaves of length, half a request added to each bin of both sides
// (Krichevsky and Trofimov 1981), so that an empty bin is no infinity.
// W1:                  the area between the two distribution functions, in units of length.
// KS:                  the largest difference between the shares of work at and below a length.
//
// The null is simulated, not looked up: PSI of n requests over B bins is about χ²(B−1)/n only where
// every bin is filled, and plans declare few points.
//
// Threading: pure functions.

#ifndef LEEWAY_RETUNE_DISTANCES_H_
#define LEEWAY_RETUNE_DISTANCES_H_

#include <cstdint>

#include "base/prng.h"
#include "retune/bucketing.h"
#include "retune/length_histogram.h"

namespace leeway::retune {

struct Distances {
  double psi = 0;
  double js = 0;  // base 2: within [0, 1]
  double wasserstein = 0;
  double work_ks = 0;

  friend bool operator==(const Distances&, const Distances&) = default;
};

// Returns the distances of `observed` counts from `declared` weights. Octaves end with the one that
// holds `domain_max`; shorter lengths than the twelfth holds count in it. Requires both not empty
// and of a positive total.
Distances DistancesFrom(const LengthHistogram& declared, const LengthHistogram& observed,
                        std::int64_t domain_max, const CostFn& cost);

// Returns, of each distance, the 99.9 % quantile over samples of `requests` drawn from `declared`:
// 4,000 of them, 1,000 where it has so many points that they would take seconds.
Distances NullQuantiles(const LengthHistogram& declared, std::uint64_t requests,
                        std::int64_t domain_max, const CostFn& cost, base::Prng& prng);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_DISTANCES_H_
