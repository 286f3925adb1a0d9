// Where a request's latency went: a fixed set of parts that add up to it exactly, in integer
// nanoseconds.
//
// Waiting parts partition the time in which nothing of the request's critical chain ran; execution
// parts are differences of a chain of durations, so that their sum telescopes.

#ifndef LEEWAY_ATTRIBUTION_H_
#define LEEWAY_ATTRIBUTION_H_

#include <array>
#include <cstddef>

#include "leeway/time.h"

namespace leeway {
inline namespace v0 {

enum class Cause {
  // Queueing delay; kResponseOrder, below, too.
  kAdmission,              // before the batcher took it
  kBatching,               // until its batch closed
  kHigherPriority,         // an allowed core ran a more urgent step
  kLowerPriorityInFlight,  // an allowed core ran a less urgent step, and steps are not preempted
  kCapacity,               // every allowed core ran a step of the same urgency
  kDispatch,               // an allowed core was idle: the runtime's own cost
  // Core imbalance: a core was idle that the placement or the policy kept from it.
  kCoreImbalance,
  // The request ran unfused: generic time less the fused time it would have taken.
  kFallback,
  // Execution.
  kPlanned,     // alone, batch of one, actual dims, resident weights, nominal clock
  kBatchMates,  // the batch's other members, padding to the longest included
  kPadding,     // from the batch's dims to the variant's bucket
  kLayout,
  kResidency,
  kLaunch,
  kThrottle,
  kContention,  // shared DRAM bandwidth
  // Measured back ends only: observed less modelled; may be negative.
  kUnexplained,
  // Done, while an earlier request of a stream with preserve_ordering was not. Last, for telemetry
  // tells parts by their places here.
  kResponseOrder,
};
inline constexpr std::size_t kCauseCount = 18;

// Returns the name in reports and JSON, e.g. "lower_priority_in_flight".
const char* CauseName(Cause cause);

struct Attribution {
  std::array<Nanos, kCauseCount> parts{};

  Nanos& operator[](Cause cause) { return parts[static_cast<std::size_t>(cause)]; }
  Nanos part(Cause cause) const { return parts[static_cast<std::size_t>(cause)]; }
  Nanos total() const {
    Nanos sum{0};
    for (Nanos part : parts) sum += part;
    return sum;
  }
  Attribution& operator+=(const Attribution& other) {
    for (std::size_t i = 0; i < kCauseCount; ++i) parts[i] += other.parts[i];
    return *this;
  }
  friend bool operator==(const Attribution&, const Attribution&) = default;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_ATTRIBUTION_H_
