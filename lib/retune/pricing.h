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

// Returns f for `dim` of the entry: by the best mapping to `device` (compile/work_curve.h), linear
// between at most 257 multiples of `align` in the domain and proportional past its end. Without a
// device, or where the reference compiler cannot map the model by this dim, by the plan's own
// profile, else in tokens. kFailedPrecondition if the device has no core for the work;
// kResourceExhausted or kOutOfRange from the cost model.
Result<Pricing> Price(const std::shared_ptr<const plan::Body>& plan, plan::Index entry,
                      plan::Index dim, const std::shared_ptr<const device::Spec>& device,
                      std::int64_t align);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_PRICING_H_
