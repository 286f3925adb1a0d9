// Which plan serves which window: a bucket policy's decisions over the windows of an experiment.
//
// Decisions act at the bounds between windows. One that acts at a bound has seen the requests up to
// the compile time before it, no later ones, so that what it needs is compiled by then.

#ifndef LEEWAY_RETUNE_ADAPTATION_H_
#define LEEWAY_RETUNE_ADAPTATION_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "leeway/loop_result.h"
#include "leeway/status.h"
#include "retune/bucket_policy.h"
#include "retune/loop_traffic.h"

namespace leeway::retune {

// A window as it is served: requests at times on the same clock as its bounds.
struct ServedWindow {
  Instant from;
  LoopRequests requests;
};

struct Adaptation {
  std::vector<Edges> library;
  // By window, an index into the library; 0 for the first, which plan 0 was fitted to.
  std::vector<std::size_t> plan_of;
  std::vector<LoopAction> actions;  // of the requests seen; `at` on the windows' clock
  std::size_t compiles = 0, switches = 0;

  const Edges& edges(std::size_t window) const { return library[plan_of[window]]; }
};

// Turns the edges that a policy asks for into those that are compiled.
using CompiledEdges = std::function<Edges(const Edges&)>;

// Lets the policy of that name begin with `first` and decide for each later window. `compile_time`
// is on the windows' clock. Errors of MakeBucketPolicy().
Result<Adaptation> Adapt(std::string_view policy, const BucketPolicyOptions& options,
                         const TrafficWindow& first, const std::vector<ServedWindow>& windows,
                         Nanos compile_time, const CompiledEdges& compiled);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_ADAPTATION_H_
