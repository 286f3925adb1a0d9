// The bucketing study (protocol B2): what each policy makes of the same windows, in work only. A
// policy is fitted on window 0 and scored from window 1 on; a decision after window w serves w + 1.
//
// Threading: one thread at a time.
// Memory:    windows stream through: the study keeps none of them, the policies at most a day.
// Errors:    Create() refuses what a policy refuses; the study itself has none.

#ifndef LEEWAY_RETUNE_BUCKET_STUDY_H_
#define LEEWAY_RETUNE_BUCKET_STUDY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leeway/status.h"
#include "retune/bucket_policy.h"

namespace leeway::retune {

struct BucketStudyOptions {
  BucketPolicyOptions policy;
  // Names of MakeBucketPolicy(), and "oracle"; in the order of the result.
  std::vector<std::string> policies = {"frozen", "oracle", "ref",         "refx",
                                       "leeway", "pow2",   "exponential", "library"};
};

struct PolicyOutcome {
  std::string name;
  BucketWork work;
  double waste = 0;  // padded and fallback share of the work
  double gain = 0;   // C_frozen/C − 1
  // (C_frozen − C)/(C_frozen − C_oracle); nothing where the oracle saves nothing.
  std::optional<double> captured;
  std::int64_t retunes = 0;  // plans built after window 0, adopted or not
  std::int64_t switches = 0;
  // The largest C/C_frozen − 1 of a window: negative if every window gained.
  double worst_window = 0;
  // Excess over frozen, summed over the windows that it harmed, as a share of the policy's work.
  double harm = 0;
  double fallback_rate = 0;  // share of requests longer than every edge
};

struct BucketStudyResult {
  std::int64_t windows = 0;  // scored ones: window 0 and empty ones are not
  std::vector<PolicyOutcome> policies;

  // Returns the outcome of that name, null if it was not studied.
  const PolicyOutcome* Find(std::string_view name) const;
};

class BucketStudy {
 public:
  static Result<BucketStudy> Create(const BucketStudyOptions& options);

  // Takes the next window in order of time. Empty windows are skipped.
  void Add(const TrafficWindow& window);
  // Returns the outcome so far; more windows may follow.
  BucketStudyResult Finish() const;

 private:
  struct Arm {
    std::string name;
    std::unique_ptr<BucketPolicy> policy;  // null: the oracle
    PlanLibrary library;
    BucketWork work;
    std::int64_t retunes = 0;
    std::int64_t switches = 0;
    double worst_window = 0;
    double excess = 0;
  };

  explicit BucketStudy(const BucketSpec& spec) : spec_(spec) {}

  void Begin(const TrafficWindow& first);
  void Score(const TrafficWindow& window);
  void Decide(Arm& arm, const TrafficWindow& window);

  BucketSpec spec_;
  std::vector<Arm> arms_;
  // A decision waits for the next window: nothing is compiled for traffic that never comes.
  std::optional<TrafficWindow> closed_;
  Edges frozen_edges_;
  // The yardsticks, whether or not they are among the arms.
  BucketWork frozen_;
  BucketWork oracle_;
  std::int64_t scored_ = 0;
};

// Runs a study over windows that are at hand.
Result<BucketStudyResult> StudyBuckets(const std::vector<TrafficWindow>& windows,
                                       const BucketStudyOptions& options);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_BUCKET_STUDY_H_
