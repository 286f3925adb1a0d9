#include "leeway/drift.h"

#include "base/status_macros.h"
#include "plan/body.h"
#include "retune/drift.h"
#include "telemetry/snapshot.h"

namespace leeway {
inline namespace v0 {

Result<DriftReport> DetectDrift(const Plan& plan, std::string_view telemetry,
                                const DriftOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(const leeway::telemetry::Snapshot snapshot,
                          leeway::telemetry::Snapshot::Parse(telemetry));
  return retune::DetectDrift(plan.body(), snapshot, options);
}

const DimDrift* DriftReport::dim(std::string_view name) const {
  for (const DimDrift& drift : dims) {
    if (drift.dim == name) return &drift;
  }
  return nullptr;
}

const char* CostBasisName(CostBasis basis) {
  constexpr const char* kNames[] = {"tokens", "plan_profile", "device"};
  return kNames[static_cast<std::size_t>(basis)];
}

}  // namespace v0
}  // namespace leeway
