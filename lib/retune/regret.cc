#include "retune/regret.h"

namespace leeway::retune {
namespace {

double Excess(double cost, double least) { return least > 0 ? cost / least - 1 : 0; }

}  // namespace

LengthHistogram BlendWithHistory(const LengthHistogram& window, const LengthHistogram& history,
                                 double share) {
  if (history.empty()) return window.Normalised();
  if (window.empty()) return history.Normalised();
  return Blend(share / window.total(), window, (1 - share) / history.total(), history);
}

double Regret(std::span<const std::int64_t> edges, const LengthHistogram& lengths,
              const BucketSpec& spec) {
  return Excess(Evaluate(edges, lengths, spec).cost, FitBuckets(lengths, spec).cost);
}

std::optional<Halves> HalvesOf(const TrafficWindow& window, base::Prng& prng) {
  constexpr double kExactAbove = 10'000;
  if (!window.even.empty() && !window.odd.empty()) return Halves{window.even, window.odd};
  if (window.lengths.total() >= kExactAbove) return std::nullopt;
  Halves halves = Thin(window.lengths, prng);
  if (halves.first.empty() || halves.second.empty()) return std::nullopt;
  return halves;
}

double CrossFittedOptimum(const Halves& halves, const LengthHistogram& history, double share,
                          const BucketSpec& spec) {
  const auto& [a, b] = halves;
  const Edges of_a = FitBuckets(BlendWithHistory(a, history, share), spec).edges;
  const Edges of_b = FitBuckets(BlendWithHistory(b, history, share), spec).edges;
  return Evaluate(of_b, a, spec).cost + Evaluate(of_a, b, spec).cost;
}

double CrossFittedRegret(std::span<const std::int64_t> edges, const Halves& halves,
                         const LengthHistogram& history, double share, const BucketSpec& spec) {
  const auto& [a, b] = halves;
  return Excess(Evaluate(edges, a, spec).cost + Evaluate(edges, b, spec).cost,
                CrossFittedOptimum(halves, history, share, spec));
}

}  // namespace leeway::retune
