// The closed loop in virtual time: compile for the first window of the traffic, serve the rest with
// that plan, with plans adapted to what came, and with plans that knew, on the same arrivals.
//
// The experiment. Trace time drives windows and decisions, device time drives service; one factor
// ties them, the same for every way of serving. Work counts every submitted request at the smallest
// bucket that covers it; the clairvoyant's plans are optimal for each window in that sense, so that
// no other plans of as many variants need less. Latencies, capacity and energy are outcomes.
//
// Threading: RunLoop() uses up to `jobs` threads of its own while it runs; results do not depend on
//            how many. Concurrent calls share nothing.
// Time:      no wall clock is read: equal inputs and seed give equal bytes on every machine.
// Memory:    about 150 bytes a request.

#ifndef LEEWAY_LOOP_H_
#define LEEWAY_LOOP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/device.h"
#include "leeway/loop_result.h"
#include "leeway/plan.h"
#include "leeway/simulate.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/traffic.h"

namespace leeway {
inline namespace v0 {

// What is compiled, and when.
struct LoopCompile {
  // Variants a plan may have; the fallback is not counted.
  int variants = 8;
  // What a request costs that no variant covers, relative to the best fused work; at least 1.
  double phi = 2;
  // Trace time from the last request a decision may look at to the window it serves.
  Nanos time = 30s;
  // Regret of the serving plan that the reference rule inside the policy acts on.
  double tau = 0.03;
};

// How arrivals meet the device.
struct LoopLoad {
  // Of trace time; 0: the smaller of one hour and a sixth of the span.
  Nanos window{0};
  // Neighbouring windows are merged until they hold so many requests.
  std::uint64_t min_requests = 1000;
  // kFlat: equal offered load in every window, so that only the mix of shapes drifts; kRecorded:
  // as the traffic has it. kAuto: flat where arrivals are drawn, recorded where they were recorded.
  enum class Rate { kAuto, kFlat, kRecorded } rate = Rate::kAuto;
  // Offered load in shares of the frozen plan's throughput.
  double load = 0.7;
  // Further loads at which the fixed sample is replayed.
  std::vector<double> sweep = {};
  // Latency objective; 0: three times the frozen plan's p99 of requests that are alone.
  Nanos slo{0};
  // Requests of the fixed sample, for capacity, sweep and ablation; 0 leaves these out.
  std::uint64_t sample = 20'000;
};

// How the serving device differs from the one that plans are compiled for: seeded log-normal
// errors per operator, and per operator and quarter octave of size.
struct LoopReality {
  enum class Kind { kExact, kNoise } kind = Kind::kNoise;
  std::uint64_t seed = 0;
  double per_operator = 0.08, per_size = 0.06;
  // Seeds over which the range of the mapping accuracy is told.
  int seeds = 8;
};

struct LoopProgress {
  enum class Stage { kRead, kCompile, kCapacity, kServe } stage = Stage::kRead;
  double done = 0;  // share of the stage
  std::uint64_t requests = 0;
  std::uint64_t steps = 0;  // simulated so far, all stages
};

struct LoopOptions {
  std::uint64_t seed = 0;
  LoopCompile compile = {};
  LoopLoad load = {};
  LoopReality reality = {};
  std::string entry = {};
  // As in SimulateOptions.
  std::vector<std::pair<std::string, std::string>> bind = {};
  SimulateOptions::AboveDomain above_domain = SimulateOptions::AboveDomain::kClamp;
  // Threads that replay; at least 1.
  int jobs = 1;
  // Called now and then, from one thread at a time; returning false ends the loop with kCancelled.
  std::function<bool(const LoopProgress&)> progress = {};
};

// Returns kInvalidArgument for an option out of range or a dim that binds to none of the traffic's,
// kFailedPrecondition if the traffic has fewer than two windows of min_requests or the device lacks
// what the model needs, kUnimplemented for a model with several dims to bucket, kResourceExhausted
// for more than 2^24 requests, kOutOfRange for a dim outside the domain (kError), kCancelled, or
// the traffic's, compiler's and simulator's own errors.
Result<LoopResult> RunLoop(const Plan& model, const Device& device, const Traffic& traffic,
                           const LoopOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_LOOP_H_
