// What serving by the wrong buckets costs (M9), measured so that noise is not taken for drift.
//
// In sample, the candidate is fitted to the very requests it is scored on, so regret is never
// negative and few requests look like drift. Cross-fitted, each half of a window is scored by the
// candidate fitted to the other: without drift the mean is below zero, so it errs towards keeping.

#ifndef LEEWAY_RETUNE_REGRET_H_
#define LEEWAY_RETUNE_REGRET_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/prng.h"
#include "retune/bucketing.h"
#include "retune/length_histogram.h"

namespace leeway::retune {

struct TrafficWindow {
  LengthHistogram lengths;
  // The requests at even and odd positions in arrival order. Both empty where the order is not
  // known.
  LengthHistogram even;
  LengthHistogram odd;
};

// Returns share·window + (1 − share)·history, each normalised to sum 1; one that is empty leaves
// the other alone. What a candidate is fitted to: history keeps one odd hour from shaping a plan.
LengthHistogram BlendWithHistory(const LengthHistogram& window, const LengthHistogram& history,
                                 double share);

// Returns C(edges)/C(optimum) − 1 over `lengths`, the optimum fitted to them: rho in sample.
double Regret(std::span<const std::int64_t> edges, const LengthHistogram& lengths,
              const BucketSpec& spec);

using Halves = std::pair<LengthHistogram, LengthHistogram>;

// Returns the even and odd requests of a raw window. A window without an order is thinned by
// `prng` if it has fewer than 10,000 requests, above which in-sample optimism is below the
// thresholds that matter; then, and if a half would be empty, returns nothing.
std::optional<Halves> HalvesOf(const TrafficWindow& window, base::Prng& prng);

// Returns C(p_B, A) + C(p_A, B), where p_X is the optimum of half X blended with the history by
// `share`.
double CrossFittedOptimum(const Halves& halves, const LengthHistogram& history, double share,
                          const BucketSpec& spec);

// Returns [C(edges, A) + C(edges, B)] / [C(p_B, A) + C(p_A, B)] − 1.
double CrossFittedRegret(std::span<const std::int64_t> edges, const Halves& halves,
                         const LengthHistogram& history, double share, const BucketSpec& spec);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_REGRET_H_
