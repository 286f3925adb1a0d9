#include "leeway/attribution.h"

namespace leeway {
inline namespace v0 {

const char* CauseName(Cause cause) {
  switch (cause) {
    case Cause::kAdmission:
      return "admission";
    case Cause::kBatching:
      return "batching";
    case Cause::kHigherPriority:
      return "higher_priority";
    case Cause::kLowerPriorityInFlight:
      return "lower_priority_in_flight";
    case Cause::kCapacity:
      return "capacity";
    case Cause::kDispatch:
      return "dispatch";
    case Cause::kCoreImbalance:
      return "core_imbalance";
    case Cause::kFallback:
      return "fallback";
    case Cause::kPlanned:
      return "planned";
    case Cause::kBatchMates:
      return "batch_mates";
    case Cause::kPadding:
      return "padding";
    case Cause::kLayout:
      return "layout";
    case Cause::kResidency:
      return "residency";
    case Cause::kLaunch:
      return "launch";
    case Cause::kThrottle:
      return "throttle";
    case Cause::kContention:
      return "contention";
    case Cause::kUnexplained:
      return "unexplained";
    case Cause::kResponseOrder:
      return "response_order";
  }
  return "unknown";
}

}  // namespace v0
}  // namespace leeway
