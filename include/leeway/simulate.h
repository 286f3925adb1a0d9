// Serves recorded or generated traffic on a simulated device, in virtual time.
//
// Threading: Simulate() runs on the calling thread; concurrent calls share nothing.
// Time:      every Instant counts from the trace's origin. No wall clock is read: equal inputs and
//            seed give equal bytes on every machine.
// Errors:    returned, never thrown; nothing is printed.

#ifndef LEEWAY_SIMULATE_H_
#define LEEWAY_SIMULATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/policy.h"
#include "leeway/sim_result.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/traffic.h"
#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

enum class Fallback { kGeneric, kNearest, kReject };
enum class TimeoutAction { kReject, kDelay };

// How the batcher takes requests and gives responses; Triton's words.
struct BatchingOptions {
  int max_batch_size = 8;
  std::vector<int> preferred_batch_size = {};
  Nanos max_queue_delay{0};
  // By bucket: batches never mix variants. kFirstCome puts requests together in order of arrival
  // and runs them in the variant of the largest.
  enum class Formation { kByBucket, kFirstCome } formation = Formation::kByBucket;
  // Whether the OK responses of a stream are given in the order of its requests: one that is done
  // waits, and its latency counts, until all that came before it have ended. Orders responses
  // alone; other ends are told at once.
  bool preserve_ordering = false;
  // The least urgent level that a stream may have, up to 63, and that of streams that state none.
  int priority_levels = Priority::kLeastUrgent;
  int default_priority_level = Priority::kMostUrgent;
};

// How requests wait; Triton's words.
struct QueueOptions {
  // Requests of one stream that may wait, for a batch or for their turn to be told of; one more is
  // rejected. 0 means no bound.
  int max_queue_size = 0;
  // Time a request may wait before it has been batched; 0 means for ever.
  Nanos default_timeout{0};
  TimeoutAction timeout_action = TimeoutAction::kReject;
  // Whether a request's own timeout, shorter or longer, counts in place of the default one.
  bool allow_timeout_override = true;
  // Rejects on arrival what is predicted to miss the SLO, from the plan's costs and the work that
  // was let in before and goes first. Needs ServingOptions::slo.
  bool predicted_deadline_admission = false;
};

struct ServingOptions {
  // What decides who goes first.
  Policy policy = Policy::kLeeway;
  BatchingOptions batching = {};
  QueueOptions queue = {};
  // Runs in flight; 0 means as many as the device has cores.
  int max_concurrent_runs = 0;
  // Device time after which urgency counts one level more.
  Nanos ageing_interval = 100ms;
  Fallback fallback = Fallback::kGeneric;
  // A generic run takes at least phi times the fused work at the actual dims.
  double phi = 2;
  // Latency objective of every stream; 0 means none.
  Nanos slo{0};
};

// How one stream of the traffic is served; what is nothing is as ServingOptions says.
struct StreamOptions {
  static constexpr int kMaxWeight = 1'000'000;

  std::string name;
  // Nothing: as the traffic says, else the default level.
  std::optional<Priority> priority = {};
  // Share of the device under Policy::kWfq, relative to other streams, up to kMaxWeight. 0: by the
  // priority, 1024 for level 1 and half as much for each level less urgent, at least 1.
  int weight = 0;
  std::optional<bool> preserve_ordering = {};
  std::optional<int> max_queue_size = {};
  std::optional<Nanos> default_timeout = {};
  std::optional<TimeoutAction> timeout_action = {};
  std::optional<bool> allow_timeout_override = {};
};

struct Progress {
  std::uint64_t requests = 0;  // arrived so far
  std::uint64_t steps = 0;
  Instant now;
};

struct SimulateOptions {
  // Seeds the traffic's draws and nothing else.
  std::uint64_t seed = 0;
  ServingOptions serving = {};
  // Of those streams of the traffic that are served otherwise than it says.
  std::vector<StreamOptions> streams = {};
  // Entry of the plan that requests run; the only one that is not internal if empty.
  std::string entry = {};
  // Ties a dim of the traffic to one of the plan: {"ContextTokens", "seq"}. Dims of equal name are
  // tied by themselves, and so is a plan's only free dim.
  std::vector<std::pair<std::string, std::string>> bind = {};
  // A dim outside the plan's domain is clamped and counted, or ends the simulation.
  enum class AboveDomain { kClamp, kError } above_domain = AboveDomain::kClamp;
  // Of a device whose description states a thermal ladder or a clock loop: whether it warms up and
  // throttles, or keeps its clock at its static power.
  enum class Heat { kModelled, kOff } heat = Heat::kModelled;
  // Called now and then on the calling thread; returning false ends the simulation with kCancelled.
  std::function<bool(const Progress&)> progress = {};
};

// Returns kInvalidArgument for an option out of range, traffic without a request, a dim of the plan
// that binds to none of the traffic's, options of a stream that the traffic lacks or a priority
// beyond priority_levels, kNotFound for an entry that the plan lacks, kFailedPrecondition if the
// device lacks a core the plan places on or memory for it, kOutOfRange for a dim outside the domain
// (kError), a cost that overflows or a die that its leakage heats without end, kResourceExhausted
// for loops of too many steps, kCancelled, kUnimplemented for parts of a plan the engine does not
// run, or the traffic's own error.
Result<SimResult> Simulate(const Plan& plan, const Device& device, const Traffic& traffic,
                           const SimulateOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_SIMULATE_H_
