#include <utility>

#include "base/status_macros.h"
#include "device/plan_fit.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "plan/findings.h"
#include "plan/load.h"

namespace leeway {
inline namespace v0 {

Result<CheckResult> Plan::Check(std::string_view bytes, const Device* device) {
  LEEWAY_ASSIGN_OR_RETURN(plan::Loaded loaded, plan::LoadPlan(bytes, "plan"));
  // Whether a device can run it is a question about a plan that is one.
  if (device == nullptr || loaded.body == nullptr) return std::move(loaded.check);
  // How many runs share the device is the deployment's choice: one must fit in any case.
  constexpr int kConcurrentRuns = 1;
  plan::Findings findings(std::move(loaded.check));
  device::CheckFit(*loaded.body, *device->spec(), kConcurrentRuns, findings);
  return findings.Take();
}

}  // namespace v0
}  // namespace leeway
