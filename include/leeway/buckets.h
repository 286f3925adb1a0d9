// The bucketing study: what a plan's shape buckets cost on real traffic, and what policies that
// re-fit them gain. Work only: no scheduler, no queue.
//
// Every policy sees the same windows. The first window fits the first plan; the others are scored.
// A request costs its covering bucket edge, or phi times its own length where no edge covers it.
//
// Threading: StudyBuckets() runs on the calling thread; concurrent calls share nothing.

#ifndef LEEWAY_BUCKETS_H_
#define LEEWAY_BUCKETS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/traffic.h"

namespace leeway {
inline namespace v0 {

struct BucketStudyOptions {
  // Buckets a plan may have.
  int buckets = 8;
  // Cost of a request that no bucket covers, relative to its own length.
  double phi = 2;
  Nanos window = 1h;
  // Edges are multiples of this.
  std::int64_t align = 1;
  // Dim of the traffic to study; its only one if empty.
  std::string dim = {};
  // Regret above which the reference policy compiles.
  double tau = 0.03;
  // Seeds draws of generated traffic and the thinning of fractional counts.
  std::uint64_t seed = 0;
  // Called after each window with its number, and with 0 while the traffic is read for the first
  // time; returning false ends the study with kCancelled.
  std::function<bool(std::uint64_t windows)> progress = {};
};

struct BucketPolicyResult {
  std::string name;
  double waste = 0;  // 1 − Σ lengths / Σ cost, over scored windows
  double gain = 0;   // cost of frozen / cost − 1
  std::optional<double>
      captured;                // share of the oracle's gain; none where the oracle gains nothing
  std::uint64_t retunes = 0;   // plans compiled after the first
  std::uint64_t switches = 0;  // returns to a plan compiled before
  double worst_window = 0;     // largest cost / cost of frozen − 1 of one window
  double excess = 0;           // cost above frozen's in windows where there is any, of all cost
  double fallback_rate = 0;    // requests that no bucket covered
};

struct BucketStudy {
  std::uint64_t windows = 0;  // non-empty ones, the first included
  double requests = 0;
  std::int64_t max_length = 0;
  // "frozen", "oracle", "ref", "refx", "leeway", "library", "pow2", "exponential", in this order.
  std::vector<BucketPolicyResult> policies;
};

// kInvalidArgument names the option and its bound, or the dims there are; kFailedPrecondition if
// the traffic has fewer than two windows; otherwise the traffic's own error.
Result<BucketStudy> StudyBuckets(const Traffic& traffic, const BucketStudyOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_BUCKETS_H_
