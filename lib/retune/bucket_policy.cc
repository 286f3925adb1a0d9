#include "retune/bucket_policy.h"

#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "retune/leeway_policy.h"
#include "retune/reference_rule.h"

namespace leeway::retune {
namespace {

class FixedPolicy : public BucketPolicy {
 public:
  explicit FixedPolicy(Edges edges) : edges_(std::move(edges)) {}

  Edges Begin(const TrafficWindow&) override { return edges_; }
  BucketDecision Close(const TrafficWindow&, const PlanLibrary&) override {
    return BucketDecision::Keep();
  }

 private:
  Edges edges_;
};

class FrozenPolicy : public BucketPolicy {
 public:
  explicit FrozenPolicy(const BucketSpec& spec) : spec_(spec) {}

  Edges Begin(const TrafficWindow& first) override {
    return FitBuckets(first.lengths, spec_).edges;
  }
  BucketDecision Close(const TrafficWindow&, const PlanLibrary&) override {
    return BucketDecision::Keep();
  }

 private:
  BucketSpec spec_;
};

class LibraryPolicy : public BucketPolicy {
 public:
  explicit LibraryPolicy(const BucketSpec& spec)
      : spec_(spec), history_(ReferenceRule::kHistoryAlpha) {}

  Edges Begin(const TrafficWindow& first) override {
    history_.Fold(first.lengths.Normalised());
    return FitBuckets(first.lengths, spec_).edges;
  }

  BucketDecision Close(const TrafficWindow& window, const PlanLibrary& library) override {
    constexpr int kEvery = 3;
    constexpr std::size_t kPlans = 8;
    const LengthHistogram blend =
        BlendWithHistory(window.lengths, history_.mean(), ReferenceRule::kWindowShare);
    history_.Fold(window.lengths.Normalised());
    if (++closed_ % kEvery == 0 && library.plans.size() < kPlans) {
      return BucketDecision::Compile(FitBuckets(blend, spec_).edges);
    }
    const std::size_t best = BestPlan(library, window.lengths, spec_).plan;
    if (best == library.current) return BucketDecision::Keep();
    return BucketDecision::Switch(best);
  }

 private:
  BucketSpec spec_;
  LengthHistory history_;
  int closed_ = 0;
};

class ReferencePolicy : public BucketPolicy {
 public:
  ReferencePolicy(const BucketPolicyOptions& options, ReferenceRule::Sample sample)
      : rule_(options.spec, options.threshold, sample, options.seed) {}

  Edges Begin(const TrafficWindow& first) override { return rule_.Begin(first); }
  BucketDecision Close(const TrafficWindow& window, const PlanLibrary& library) override {
    std::optional<Edges> adopted = rule_.Close(window, library.serving());
    return adopted ? BucketDecision::Compile(std::move(*adopted)) : BucketDecision::Keep();
  }

 private:
  ReferenceRule rule_;
};

using PolicyResult = Result<std::unique_ptr<BucketPolicy>>;

template <typename Policy, typename... Args>
PolicyResult Make(Args&&... args) {
  return std::unique_ptr<BucketPolicy>(std::make_unique<Policy>(std::forward<Args>(args)...));
}

PolicyResult MakeLadder(std::string_view name, const BucketPolicyOptions& options) {
  if (options.max_length < 1) {
    return base::InvalidArgument(std::string(name) + ": max_length " +
                                 std::to_string(options.max_length) + " is below 1");
  }
  if (name == "pow2") return Make<FixedPolicy>(Pow2Ladder(options.max_length));
  return Make<FixedPolicy>(ExponentialLadder(options.spec.max_buckets, options.max_length));
}

}  // namespace

ScoredPlan BestPlan(const PlanLibrary& library, const LengthHistogram& lengths,
                    const BucketSpec& spec) {
  ScoredPlan best{library.current, Evaluate(library.serving(), lengths, spec).cost};
  for (std::size_t i = 0; i < library.plans.size(); ++i) {
    const double cost = Evaluate(library.plans[i], lengths, spec).cost;
    if (cost < best.cost) best = {i, cost};
  }
  return best;
}

PolicyResult MakeBucketPolicy(std::string_view name, const BucketPolicyOptions& options) {
  if (options.threshold < 0) return base::InvalidArgument("the threshold is below 0");
  if (name == "frozen") return Make<FrozenPolicy>(options.spec);
  if (name == "ref") return Make<ReferencePolicy>(options, ReferenceRule::Sample::kWhole);
  if (name == "refx") return Make<ReferencePolicy>(options, ReferenceRule::Sample::kHalves);
  if (name == "library") return Make<LibraryPolicy>(options.spec);
  if (name == "pow2" || name == "exponential") return MakeLadder(name, options);
  if (name == "leeway") return Make<LeewayPolicy>(options);
  return base::InvalidArgument("bucket policy '" + std::string(name) + "' is not known");
}

}  // namespace leeway::retune
