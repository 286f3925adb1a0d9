#include "retune/loop_arms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/status_macros.h"

namespace leeway::retune {
namespace {

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void Score(const Edges& edges, const LengthHistogram& lengths, const BucketSpec& spec,
           ArmWork& arm) {
  const BucketWork work = Evaluate(edges, lengths, spec);
  arm.edges.push_back(edges);
  arm.work.push_back(work.cost);
  arm.useful.push_back(work.useful);
  arm.fallback.push_back(work.fallback_requests);
}

// Both halves by the plan of the other; the whole by its own where a half is empty.
double CrossFitted(const TrafficWindow& window, const BucketSpec& spec) {
  const double even = window.even.total(), odd = window.odd.total();
  if (!(even > 0 && odd > 0)) {
    return Evaluate(FitBuckets(window.lengths, spec).edges, window.lengths, spec).cost;
  }
  return Evaluate(FitBuckets(window.odd, spec).edges, window.even, spec).cost +
         Evaluate(FitBuckets(window.even, spec).edges, window.odd, spec).cost;
}

std::vector<double> Difference(std::vector<double> of, const std::vector<double>& less) {
  for (std::size_t w = 0; w < of.size(); ++w) of[w] -= less[w];
  return of;
}

// Σ numerator / Σ denominator over the scored windows, with its interval; nothing where there is
// nothing to compare with.
std::optional<LoopFigure> RatioOf(const std::vector<double>& numerator,
                                  const std::vector<double>& denominator, std::uint64_t seed) {
  const double below = Sum(denominator);
  if (!(below > 0)) return std::nullopt;
  LoopFigure figure;
  figure.value = Sum(numerator) / below;
  auto drawn = [&](const Multiplicities& draw) -> std::optional<double> {
    double above = 0, under = 0;
    for (std::size_t w = 0; w < draw.size(); ++w) {
      above += draw[w] * numerator[w + 1];
      under += draw[w] * denominator[w + 1];
    }
    return under > 0 ? std::optional(above / under) : std::nullopt;
  };
  if (const auto interval = BootstrapInterval(numerator.size() - 1, seed, drawn)) {
    figure.interval.emplace(interval->low, interval->high);
  }
  return figure;
}

// As RatioOf, less 1.
LoopFigure GainOf(const std::vector<double>& before, const std::vector<double>& after,
                  std::uint64_t seed) {
  LoopFigure gain = RatioOf(before, after, seed).value_or(LoopFigure{1, std::nullopt});
  gain.value -= 1;
  if (gain.interval) gain.interval = {gain.interval->first - 1, gain.interval->second - 1};
  return gain;
}

}  // namespace

double ArmWork::total() const { return Sum(work); }

double ArmWork::waste() const {
  const double spent = total();
  return spent > 0 ? 1 - Sum(useful) / spent : 0;
}

BucketSpec SpecOf(const compile::WorkCurve& curve, int variants, double phi, CostFn generic) {
  BucketSpec spec;
  spec.max_buckets = variants;
  spec.fallback_factor = phi;
  spec.cost = [&curve](std::int64_t length) { return static_cast<double>(curve(length).count()); };
  spec.generic = std::move(generic);
  return spec;
}

Edges Compiled(const compile::WorkCurve& curve, const Edges& edges) {
  Edges compiled;
  for (std::int64_t edge : edges) {
    const std::int64_t at = curve.EdgeFor(edge);
    if (compiled.empty() || compiled.back() != at) compiled.push_back(at);
  }
  return compiled;
}

Result<LoopArms> MakeArms(const std::vector<ServedWindow>& windows, const compile::WorkCurve& curve,
                          const ArmOptions& options) {
  const BucketSpec& spec = options.policy.spec;
  const TrafficWindow first = LengthsOf(windows.front().requests);
  auto compiled = [&](const Edges& edges) { return Compiled(curve, edges); };
  auto adapt = [&](std::string_view policy) {
    return Adapt(policy, options.policy, first, windows, options.compile_time, compiled);
  };
  LoopArms arms;
  arms.frozen.name = "frozen";
  arms.adapted.name = "adapted";
  arms.clairvoyant.name = "clairvoyant";
  LEEWAY_ASSIGN_OR_RETURN(arms.adaptation, adapt("leeway"));
  LEEWAY_ASSIGN_OR_RETURN(const Adaptation switching, adapt("library"));
  LEEWAY_ASSIGN_OR_RETURN(const Adaptation reference, adapt("ref"));
  arms.reference_compiles = reference.compiles;
  const LengthHistogram none;
  const Edges& frozen = arms.adaptation.library.front();
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const TrafficWindow window = w == 0 ? TrafficWindow() : LengthsOf(windows[w].requests);
    Score(frozen, window.lengths, spec, arms.frozen);
    Score(arms.adaptation.edges(w), window.lengths, spec, arms.adapted);
    const Edges best = w == 0 ? frozen : Compiled(curve, FitBuckets(window.lengths, spec).edges);
    Score(best, window.lengths, spec, arms.clairvoyant);
    arms.cross_fitted.push_back(w == 0 ? 0 : CrossFitted(window, spec));
    arms.switching += Evaluate(switching.edges(w), window.lengths, spec).cost;
    arms.reference += Evaluate(reference.edges(w), window.lengths, spec).cost;
  }
  return arms;
}

void SummariseWork(const LoopArms& arms, double tau, std::uint64_t seed, LoopSummary& summary) {
  const std::vector<double>& frozen = arms.frozen.work;
  const std::vector<double>& adapted = arms.adapted.work;
  summary.gain.work = GainOf(frozen, adapted, seed);
  summary.headroom.gain = GainOf(frozen, arms.cross_fitted, seed);
  using Verdict = LoopHeadroom::Verdict;
  const LoopFigure& headroom = summary.headroom.gain;
  const bool proven = headroom.interval && headroom.interval->first > 0;
  summary.headroom.verdict = frozen.size() - 1 < kFewestWindows ? Verdict::kInsufficient
                             : headroom.value >= tau && proven  ? Verdict::kPresent
                                                                : Verdict::kNone;
  if (summary.headroom.verdict == Verdict::kPresent) {
    const std::vector<double> saved = Difference(frozen, adapted);
    const std::vector<double> possible = Difference(frozen, arms.clairvoyant.work);
    summary.gain.captured = RatioOf(saved, possible, seed);
    summary.gain.captured_cf = RatioOf(saved, Difference(frozen, arms.cross_fitted), seed);
    if (const double most = Sum(possible); most > 0) {
      summary.gain.captured_by_switching = (arms.frozen.total() - arms.switching) / most;
      summary.gain.captured_by_reference = (arms.frozen.total() - arms.reference) / most;
    }
  }
  summary.gain.reference_compiles = arms.reference_compiles;
  summary.compiles = arms.adaptation.compiles;
  summary.switches = arms.adaptation.switches;
  std::size_t harmed = 0;
  bool any = false;
  for (std::size_t w = 1; w < frozen.size(); ++w) {
    const double change = frozen[w] > 0 ? adapted[w] / frozen[w] - 1 : 0;
    summary.worst_window = any ? std::max(summary.worst_window, change) : change;
    any = true;
    if (change > 0.01) ++harmed;
  }
  summary.harmed_share =
      frozen.size() > 1 ? static_cast<double>(harmed) / static_cast<double>(frozen.size() - 1) : 0;
  summary.actions = arms.adaptation.actions;
}

}  // namespace leeway::retune
