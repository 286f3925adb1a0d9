// What work is priced by: one cost function for each dim of a plan.
//
// Threading: a value; the function may be called from any thread.

#ifndef LEEWAY_RETUNE_PRICING_H_
#define LEEWAY_RETUNE_PRICING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "device/spec.h"
#include "leeway/drift.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "retune/bucketing.h"

namespace leeway::retune {

struct Pricing {
  // Positive, never falling. Core nanoseconds, or tokens.
  CostFn cost = TokenCost;
  CostBasis basis = CostBasis::kTokens;
  // What was assumed; empty if nothing.
  std::string note;
};

// Returns f for `dim` of the entry: the plan's own profile, else tokens.
Pricing PriceByPlan(const plan::Body& plan, plan::Index entry, plan::Index dim);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_PRICING_H_
