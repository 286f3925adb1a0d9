// The reference rule of RETUNING, by itself: a policy compiles what it adopts (ref, refx); the
// default policy runs it in shadow as a gauge of how much the traffic moves.
//
// After each window the candidate is optimal for 0.75 · that window + 0.25 · an EWMA (1/24 a
// window, seeded with window 0) as it was before the window entered. It is adopted if the serving
// plan costs the window more than 1 + tau times what the candidate does.
//
// Threading: one thread at a time.

#ifndef LEEWAY_RETUNE_REFERENCE_RULE_H_
#define LEEWAY_RETUNE_REFERENCE_RULE_H_

#include <cstdint>
#include <optional>

#include "base/prng.h"
#include "retune/bucketing.h"
#include "retune/length_histogram.h"
#include "retune/regret.h"

namespace leeway::retune {

class ReferenceRule {
 public:
  enum class Sample {
    kWhole,   // regret in sample
    kHalves,  // cross-fitted, where HalvesOf() gives halves
  };
  static constexpr double kWindowShare = 0.75;
  static constexpr double kHistoryAlpha = 1.0 / 24;

  // `seed` is for thinning only.
  ReferenceRule(const BucketSpec& spec, double threshold, Sample sample, std::uint64_t seed);

  // Returns the optimum of the first window.
  Edges Begin(const TrafficWindow& first);
  // Returns the candidate if it is to replace `serving`.
  std::optional<Edges> Close(const TrafficWindow& window, const Edges& serving);

 private:
  BucketSpec spec_;
  double threshold_;
  Sample sample_;
  base::Prng prng_;
  LengthHistory history_;
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_REFERENCE_RULE_H_
