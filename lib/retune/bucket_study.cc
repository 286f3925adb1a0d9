#include "retune/bucket_study.h"

#include <algorithm>
#include <utility>

namespace leeway::retune {
namespace {

constexpr std::string_view kOracle = "oracle";

}  // namespace

const PolicyOutcome* BucketStudyResult::Find(std::string_view name) const {
  const auto at = std::find_if(policies.begin(), policies.end(),
                               [&](const PolicyOutcome& p) { return p.name == name; });
  return at == policies.end() ? nullptr : &*at;
}

Result<BucketStudy> BucketStudy::Create(const BucketStudyOptions& options) {
  BucketStudy study(options.policy.spec);
  for (const std::string& name : options.policies) {
    Arm arm;
    arm.name = name;
    if (name != kOracle) {
      auto policy = MakeBucketPolicy(name, options.policy);
      if (!policy.ok()) return policy.status();
      arm.policy = std::move(policy).value();
    }
    study.arms_.push_back(std::move(arm));
  }
  return study;
}

void BucketStudy::Add(const TrafficWindow& window) {
  if (!(window.lengths.total() > 0)) return;
  if (!closed_) {
    Begin(window);
  } else {
    if (scored_ > 0) {
      for (Arm& arm : arms_) Decide(arm, *closed_);
    }
    Score(window);
  }
  closed_ = window;
}

void BucketStudy::Begin(const TrafficWindow& first) {
  frozen_edges_ = FitBuckets(first.lengths, spec_).edges;
  for (Arm& arm : arms_) {
    arm.library.plans = {arm.policy ? arm.policy->Begin(first) : frozen_edges_};
  }
}

void BucketStudy::Score(const TrafficWindow& window) {
  const BucketWork frozen = Evaluate(frozen_edges_, window.lengths, spec_);
  const Edges best = FitBuckets(window.lengths, spec_).edges;
  const BucketWork oracle = Evaluate(best, window.lengths, spec_);
  for (Arm& arm : arms_) {
    const BucketWork work =
        arm.policy ? Evaluate(arm.library.serving(), window.lengths, spec_) : oracle;
    const double change = work.cost / frozen.cost - 1;
    arm.work += work;
    arm.excess += std::max(0.0, work.cost - frozen.cost);
    arm.worst_window = scored_ > 0 ? std::max(arm.worst_window, change) : change;
  }
  frozen_ += frozen;
  oracle_ += oracle;
  ++scored_;
}

void BucketStudy::Decide(Arm& arm, const TrafficWindow& window) {
  if (!arm.policy) return;
  BucketDecision decision = arm.policy->Close(window, arm.library);
  switch (decision.kind) {
    case BucketDecision::Kind::kKeep:
      break;
    case BucketDecision::Kind::kSwitch:
      if (decision.plan == arm.library.current) break;
      arm.library.current = decision.plan;
      ++arm.switches;
      break;
    case BucketDecision::Kind::kCompile:
      arm.library.current = arm.library.plans.size();
      arm.library.plans.push_back(std::move(decision.edges));
      ++arm.retunes;
      break;
  }
}

BucketStudyResult BucketStudy::Finish() const {
  BucketStudyResult result;
  result.windows = scored_;
  for (const Arm& arm : arms_) {
    PolicyOutcome p;
    p.name = arm.name;
    p.work = arm.work;
    p.waste = arm.work.waste();
    p.retunes = arm.retunes;
    p.switches = arm.switches;
    p.worst_window = arm.worst_window;
    if (arm.work.cost > 0) {
      p.gain = frozen_.cost / arm.work.cost - 1;
      p.harm = arm.excess / arm.work.cost;
      p.fallback_rate = arm.work.fallback_requests / arm.work.requests;
    }
    const double headroom = frozen_.cost - oracle_.cost;
    if (headroom > 0) p.captured = (frozen_.cost - arm.work.cost) / headroom;
    result.policies.push_back(std::move(p));
  }
  return result;
}

Result<BucketStudyResult> StudyBuckets(const std::vector<TrafficWindow>& windows,
                                       const BucketStudyOptions& options) {
  auto study = BucketStudy::Create(options);
  if (!study.ok()) return study.status();
  for (const TrafficWindow& window : windows) study->Add(window);
  return study->Finish();
}

}  // namespace leeway::retune
