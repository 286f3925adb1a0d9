// From bytes to a checked, immutable plan.
//
// Threading: pure function.

#ifndef LEEWAY_PLAN_LOAD_H_
#define LEEWAY_PLAN_LOAD_H_

#include <memory>
#include <string_view>

#include "leeway/plan.h"
#include "leeway/status.h"
#include "plan/body.h"

namespace leeway::plan {

struct Loaded {
  // Null unless check.ok.
  std::shared_ptr<const Body> body;
  CheckResult check;
};

// Reads and checks everything that needs no device, in time and memory linear in the bytes.
// kDataLoss if they are no plan, kFailedPrecondition if they need a newer reader,
// kResourceExhausted above 2 GiB; `name` stands for the file in these messages.
Result<Loaded> LoadPlan(std::string_view bytes, std::string_view name);

// As LoadPlan, but findings of severity error are kInvalidArgument with one line each.
Result<std::shared_ptr<const Body>> LoadValidPlan(std::string_view bytes, std::string_view name);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_LOAD_H_
