// The default policy: few compiles, a library of what was compiled, and insurance against the
// return of the traffic one came from. In six rules:
//
// 1. Windows count by work. Each window is scaled to one unit of useful work, because the aim is a
//    share of work: by count, an hour of short chat would outvote an hour of long documents that
//    costs ten times as much. The forecast is three parts the last window, one part the average of
//    a day; for a plan, which serves longer than a window, three parts and two, once there has
//    been a day (24 windows) to average.
// 2. Switch freely. Every plan compiled so far stays in the library, and the one that is cheapest
//    on the forecast serves, unless the serving one is within half a per cent: below that the
//    forecast cannot tell them apart.
// 3. Compile when the forecast's optimum beats the whole library by tau/3, or by tau/2 once two
//    thirds of the allowance (rule 4) are spent. The library has taken the easy part of the gain,
//    so what is left is smaller than the tau of the reference rule, which compares with the
//    serving plan alone.
// 4. Compile no more than the traffic moves. The reference rule runs in shadow, cross-fitted, on a
//    plan of its own that is never built; each time it would have compiled, it earns one compile
//    here. Still traffic and noise earn little, and the count never exceeds the reference's. Until
//    five windows or 50,000 requests have been seen, one compile at most, unless the shadow has
//    saved a tenth of the frozen plan's work by then: an hour of a small service cannot tell a
//    little drift from chance.
// 5. Insure the plan out of its gain. Harm against the frozen plan comes when traffic like window 0
//    returns to a plan that forgot it. Once the day's average has forgotten window 0 too, a
//    compiled plan is the optimum of the forecast mixed with as much of window 0 as costs at most
//    a twentieth of the gain over the frozen plan, and switches weigh window 0 by a twentieth.
//    Before that the average still holds it, and insuring twice would cost short traces their gain.
// 6. Never fall behind the reference. What the shadow's plan would have cost is known as soon as a
//    window closes. While the work spent here exceeds the shadow's by more than 1.5 % of what the
//    shadow has saved over the frozen plan, the library's best serves if it is as good as the
//    shadow's plan on the forecast; else that plan is compiled, if a compile has been earned.
//
// Every decision after window w uses windows up to w only. O((library + K) · lengths) a window.

#ifndef LEEWAY_RETUNE_LEEWAY_POLICY_H_
#define LEEWAY_RETUNE_LEEWAY_POLICY_H_

#include <cstdint>
#include <optional>

#include "retune/bucket_policy.h"
#include "retune/reference_rule.h"

namespace leeway::retune {

class LeewayPolicy : public BucketPolicy {
 public:
  explicit LeewayPolicy(const BucketPolicyOptions& options);

  Edges Begin(const TrafficWindow& first) override;
  BucketDecision Close(const TrafficWindow& window, const PlanLibrary& library) override;

 private:
  // Returns the window scaled to one unit of useful work.
  LengthHistogram ByWork(const LengthHistogram& lengths) const;
  // Whether the day's average still holds much of window 0 (rule 5).
  bool HomeRemembered() const;
  // Whether a compile has been earned (rule 4).
  bool MayCompile() const;
  // The saving over the library that is worth a compile (rule 3).
  double Threshold() const;
  // Adds the closed window to what has been spent so far here, by the shadow and by frozen buckets.
  void Account(const LengthHistogram& lengths, const PlanLibrary& library);
  // Whether the shadow has done better so far (rule 6).
  bool Behind() const;
  // Returns how to serve as well as the shadow's plan would, nothing if that cannot be had.
  std::optional<BucketDecision> Follow(const PlanLibrary& library, const LengthHistogram& forecast);
  // Returns the optimum of the forecast, insured as far as the gain over the frozen plan pays.
  Edges Insured(const LengthHistogram& forecast, const FittedBuckets& best,
                const Edges& frozen) const;

  BucketSpec spec_;
  double threshold_;
  ReferenceRule gauge_;
  Edges gauge_plan_;
  LengthHistory usual_;
  LengthHistogram home_;  // window 0 by work
  std::int64_t closed_ = 0;
  double requests_ = 0;
  std::int64_t earned_ = 0;
  std::int64_t spent_ = 0;
  double our_work_ = 0, gauge_work_ = 0, frozen_work_ = 0;
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LEEWAY_POLICY_H_
