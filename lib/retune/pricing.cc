#include "retune/pricing.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "retune/profile_curve.h"

namespace leeway::retune {

Pricing PriceByPlan(const plan::Body& plan, plan::Index entry, plan::Index dim) {
  std::optional<ProfileCurve> curve = ProfileCurve::Make(plan, entry, dim);
  if (curve) return {*std::move(curve), CostBasis::kPlanProfile, {}};
  return {TokenCost, CostBasis::kTokens,
          absl::StrCat("dim \"", plan.dims[dim].name,
                       "\": the plan does not predict every group, work is counted in tokens")};
}

}  // namespace leeway::retune
