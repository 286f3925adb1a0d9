#include "retune/leeway_policy.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace leeway::retune {
namespace {

// The last window's share of the forecast: of the next window, and of the days a plan serves.
constexpr double kHourShare = 0.75;
constexpr double kDayShare = 0.6;
constexpr double kHomeShare = 0.05;
constexpr double kHysteresis = 0.005;
constexpr double kPremium = 0.05;
constexpr double kLeash = 0.015;
// How much more a plan of the library may cost and still stand in for the reference's.
constexpr double kAlike = 0.002;
constexpr std::int64_t kFewWindows = 5;
constexpr double kFewRequests = 50'000;
// What the reference must have saved of frozen's work to be believed on little.
constexpr double kProven = 0.10;
// How much of window 0 a plan may be fitted to, the most that is affordable first.
constexpr double kCovers[] = {0.3, 0.2, 0.1, 0.05, 0.02};

}  // namespace

LeewayPolicy::LeewayPolicy(const BucketPolicyOptions& options)
    : spec_(options.spec),
      threshold_(options.threshold),
      gauge_(options.spec, options.threshold, ReferenceRule::Sample::kHalves, options.seed),
      usual_(ReferenceRule::kHistoryAlpha) {}

Edges LeewayPolicy::Begin(const TrafficWindow& first) {
  home_ = ByWork(first.lengths);
  usual_.Fold(home_);
  gauge_plan_ = gauge_.Begin(first);
  return gauge_plan_;
}

BucketDecision LeewayPolicy::Close(const TrafficWindow& window, const PlanLibrary& library) {
  ++closed_;
  requests_ += window.lengths.total();
  Account(window.lengths, library);
  if (std::optional<Edges> moved = gauge_.Close(window, gauge_plan_)) {
    gauge_plan_ = std::move(*moved);
    ++earned_;
  }
  const LengthHistogram last = ByWork(window.lengths);
  const LengthHistogram next_hour = Blend(kHourShare, last, 1 - kHourShare, usual_.mean());
  LengthHistogram guarded = next_hour;
  LengthHistogram next_day = next_hour;
  if (!HomeRemembered()) {
    guarded = Blend(1 - kHomeShare, next_hour, kHomeShare, home_);
    next_day = Blend(kDayShare, last, 1 - kDayShare, usual_.mean());
  }
  usual_.Fold(last);
  if (Behind()) {
    if (std::optional<BucketDecision> follow = Follow(library, next_hour))
      return *std::move(follow);
  }

  const ScoredPlan best = BestPlan(library, guarded, spec_);
  if (MayCompile()) {
    const FittedBuckets candidate = FitBuckets(next_day, spec_);
    const double covered = Evaluate(library.plans[best.plan], next_day, spec_).cost;
    if (covered > (1 + Threshold()) * candidate.cost) {
      ++spent_;
      return BucketDecision::Compile(Insured(next_day, candidate, library.plans.front()));
    }
  }
  const double serving = Evaluate(library.serving(), guarded, spec_).cost;
  if (serving > (1 + kHysteresis) * best.cost) return BucketDecision::Switch(best.plan);
  return BucketDecision::Keep();
}

LengthHistogram LeewayPolicy::ByWork(const LengthHistogram& lengths) const {
  double useful = 0;
  for (const LengthWeight& e : lengths) useful += e.weight * spec_.cost(e.length);
  LengthHistogram scaled = lengths;
  scaled.Scale(useful > 0 ? 1 / useful : 0);
  return scaled;
}

bool LeewayPolicy::HomeRemembered() const { return closed_ * ReferenceRule::kHistoryAlpha < 1; }

bool LeewayPolicy::MayCompile() const {
  const bool proven = frozen_work_ - gauge_work_ > kProven * frozen_work_;
  const bool little_seen = closed_ < kFewWindows && requests_ < kFewRequests && !proven;
  return spent_ < (little_seen ? std::min<std::int64_t>(earned_, 1) : earned_);
}

double LeewayPolicy::Threshold() const { return threshold_ / (3 * spent_ < 2 * earned_ ? 3 : 2); }

void LeewayPolicy::Account(const LengthHistogram& lengths, const PlanLibrary& library) {
  // The shadow's plan is still the one that served it: the gauge closes the window after this.
  our_work_ += Evaluate(library.serving(), lengths, spec_).cost;
  gauge_work_ += Evaluate(gauge_plan_, lengths, spec_).cost;
  frozen_work_ += Evaluate(library.plans.front(), lengths, spec_).cost;
}

bool LeewayPolicy::Behind() const {
  const double saved = std::max(0.0, frozen_work_ - gauge_work_);
  return our_work_ - gauge_work_ > kLeash * saved;
}

std::optional<BucketDecision> LeewayPolicy::Follow(const PlanLibrary& library,
                                                   const LengthHistogram& forecast) {
  const ScoredPlan best = BestPlan(library, forecast, spec_);
  if (best.cost <= (1 + kAlike) * Evaluate(gauge_plan_, forecast, spec_).cost) {
    return best.plan == library.current ? BucketDecision::Keep()
                                        : BucketDecision::Switch(best.plan);
  }
  if (!MayCompile()) return std::nullopt;
  ++spent_;
  return BucketDecision::Compile(gauge_plan_);
}

Edges LeewayPolicy::Insured(const LengthHistogram& forecast, const FittedBuckets& best,
                            const Edges& frozen) const {
  if (HomeRemembered()) return best.edges;
  const double gain = Evaluate(frozen, forecast, spec_).cost - best.cost;
  const double limit = best.cost + kPremium * std::max(0.0, gain);
  for (const double cover : kCovers) {
    Edges insured = FitBuckets(Blend(1 - cover, forecast, cover, home_), spec_).edges;
    if (Evaluate(insured, forecast, spec_).cost <= limit) return insured;
  }
  return best.edges;
}

}  // namespace leeway::retune
