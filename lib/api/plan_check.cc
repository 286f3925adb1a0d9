#include <utility>

#include "base/status_macros.h"
#include "device/plan_fit.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "plan/load.h"

namespace leeway {
inline namespace v0 {

Result<CheckResult> Plan::Check(std::string_view bytes, const Device* device) {
  LEEWAY_ASSIGN_OR_RETURN(plan::Loaded loaded, plan::LoadPlan(bytes, "plan"));
  // Whether a device can run it is a question about a plan that is one.
  if (device == nullptr || loaded.body == nullptr) return std::move(loaded.check);
  // How many runs share the device is the deployment's choice: one must fit in any case.
  constexpr int kConcurrentRuns = 1;
  for (Finding& finding : device::CheckFit(*loaded.body, *device->spec(), kConcurrentRuns)) {
    ++loaded.check.total;
    if (finding.severity == Severity::kError) loaded.check.ok = false;
    if (loaded.check.findings.size() < CheckResult::kMaxFindings) {
      loaded.check.findings.push_back(std::move(finding));
    }
  }
  return std::move(loaded.check);
}

}  // namespace v0
}  // namespace leeway
