// What the loop experiment asks of a simulator, which it gets as a callable: the module that
// decides never sees the one that runs.

#ifndef LEEWAY_RETUNE_REPLAY_H_
#define LEEWAY_RETUNE_REPLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "leeway/loop_result.h"
#include "leeway/sim_result.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "plan/body.h"
#include "retune/loop_traffic.h"
#include "telemetry/executed_steps.h"
#include "telemetry/tail_profile.h"

namespace leeway::retune {

struct TimedPlan {
  Instant from;
  std::shared_ptr<const plan::Body> plan;
};

struct ReplayRequest {
  // In order of device time. Borrowed while the replay runs.
  std::span<const LoopRequest> requests;
  // In order of time, the first from the origin: what binds requests that arrive from then on.
  std::vector<TimedPlan> plans;
  enum class Formation { kByBucket, kFirstCome } formation = Formation::kByBucket;
  // kLatencies leaves out all but latency, counts, runs, steps, core use and the census, which then
  // does not tell displaced steps.
  enum class Detail { kLatencies, kAttributed } detail = Detail::kLatencies;
  // Bounds of windows of device time by which executed steps are told apart.
  std::vector<Instant> census;
  // By request: the window by which tails are told apart. Borrowed as the requests are; none: no
  // tails.
  std::span<const std::uint32_t> window_of;
  // The replay stops once more than `late_limit` requests took longer than `late_after`.
  Nanos late_after = Nanos::max();
  std::uint64_t late_limit = ~std::uint64_t{0};
  // Requests arrived and steps run since it was last called; false ends the replay with kCancelled.
  std::function<bool(std::uint64_t requests, std::uint64_t steps)> progress = {};
};

struct ReplayOutcome {
  // By request: Nanos::max() for those that did not end OK, or not before the replay stopped.
  std::vector<Nanos> latencies;
  bool stopped = false;
  // By request: the length that its run was padded to; 0 where no variant covered it or it did not
  // end OK.
  std::vector<std::int64_t> padded;
  SimSummary summary;
  std::vector<telemetry::TailProfile> tails;  // by window, where they are attributed
  std::vector<telemetry::ExecutedSteps> executed;
  std::string telemetry, telemetry_digest;
};

// Serves the requests on the device of the experiment as it is. Equal requests give equal outcomes;
// may be called from several threads at once.
using Replay = std::function<Result<ReplayOutcome>(const ReplayRequest&)>;

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_REPLAY_H_
