#include "retune/reference_rule.h"

namespace leeway::retune {

ReferenceRule::ReferenceRule(const BucketSpec& spec, double threshold, Sample sample,
                             std::uint64_t seed)
    : spec_(spec),
      threshold_(threshold),
      sample_(sample),
      prng_(base::Prng(seed).Fork("thinning")),
      history_(kHistoryAlpha) {}

Edges ReferenceRule::Begin(const TrafficWindow& first) {
  history_.Fold(first.lengths.Normalised());
  return FitBuckets(first.lengths, spec_).edges;
}

std::optional<Edges> ReferenceRule::Close(const TrafficWindow& window, const Edges& serving) {
  Edges candidate =
      FitBuckets(BlendWithHistory(window.lengths, history_.mean(), kWindowShare), spec_).edges;
  const double serving_cost = Evaluate(serving, window.lengths, spec_).cost;
  const double cost = Evaluate(candidate, window.lengths, spec_).cost;
  bool adopt = serving_cost > (1 + threshold_) * cost;
  if (sample_ == Sample::kHalves) {
    if (const std::optional<Halves> halves = HalvesOf(window, prng_)) {
      adopt =
          CrossFittedRegret(serving, *halves, history_.mean(), kWindowShare, spec_) > threshold_;
    }
  }
  history_.Fold(window.lengths.Normalised());
  if (!adopt) return std::nullopt;
  return candidate;
}

}  // namespace leeway::retune
