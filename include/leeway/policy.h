// Scheduling policies by name: the one that serves, and the classical ones it is compared with.
//
// Threading: pure functions.

#ifndef LEEWAY_POLICY_H_
#define LEEWAY_POLICY_H_

#include <array>
#include <optional>
#include <string_view>

namespace leeway {
inline namespace v0 {

enum class Policy {
  // Ageing urgency, then criticality, the best of all queues first. What serves.
  kLeeway,
  // Requests in order of arrival, steps in the order in which they become ready; blind to
  // priorities and to what a run still has to do.
  kFifo,
  // Work stealing as in Cilk, oneTBB and Taskflow: a core takes the newest of its own steps, else
  // the oldest of another's. Requests in order of arrival; blind as kFifo is.
  kLifoSteal,
  // Start-time fair queueing between streams by predicted core time and weight; within a request
  // criticality decides, as with kLeeway.
  kWfq,
};

inline constexpr std::array<Policy, 4> kPolicies = {Policy::kLeeway, Policy::kFifo,
                                                    Policy::kLifoSteal, Policy::kWfq};

// Returns the name on the command line and in results: "leeway", "fifo", "lifo-steal", "wfq".
constexpr std::string_view PolicyName(Policy policy) {
  switch (policy) {
    case Policy::kLeeway:
      return "leeway";
    case Policy::kFifo:
      return "fifo";
    case Policy::kLifoSteal:
      return "lifo-steal";
    case Policy::kWfq:
      return "wfq";
  }
  return "";
}

// Returns the policy of that name, or nothing.
constexpr std::optional<Policy> PolicyNamed(std::string_view name) {
  for (Policy policy : kPolicies) {
    if (PolicyName(policy) == name) return policy;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_POLICY_H_
