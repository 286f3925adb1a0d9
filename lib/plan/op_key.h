// The identity of what a step computes, whatever it is called and wherever it stands.

#ifndef LEEWAY_PLAN_OP_KEY_H_
#define LEEWAY_PLAN_OP_KEY_H_

#include <cstdint>
#include <span>

#include "plan/body.h"

namespace leeway::plan {

// Returns a structural hash of operators that run as one: kinds, work with its size expressions,
// and the dtypes of inputs and outputs, in order. Equal for equal layers and for every variant and
// plan of the same graph that fuses the same operators.
std::uint64_t OpKey(const Body& body, const Entry& entry, std::span<const Index> ops);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_OP_KEY_H_
