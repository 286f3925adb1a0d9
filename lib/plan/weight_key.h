// The identity of a weight as a memory that keeps it sees it.

#ifndef LEEWAY_PLAN_WEIGHT_KEY_H_
#define LEEWAY_PLAN_WEIGHT_KEY_H_

#include <cstdint>

#include "plan/body.h"

namespace leeway::plan {

// Returns a hash of the weight's content, dtype, bytes and layout: equal in every variant and plan
// in which it is the same copy. Content is the tensor's digest; a weight without one is known by
// its name in its model, so that a compiler that changes weights under a name gives digests.
std::uint64_t WeightKey(const Body& body, const Residency& residency);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_WEIGHT_KEY_H_
