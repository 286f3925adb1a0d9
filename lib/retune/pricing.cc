#include "retune/pricing.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "compile/compiler.h"
#include "compile/work_curve.h"
#include "retune/profile_curve.h"

namespace leeway::retune {
namespace {

constexpr std::int64_t kMostSteps = 256;

// The work curve between its points: its steps are those of the sampling, not of the device.
class DeviceCurve {
 public:
  DeviceCurve(const compile::WorkCurve& curve, std::int64_t step)
      : min_(curve.min()), max_(curve.max()), step_(step) {
    for (std::int64_t at = FirstStep(min_);; at += step_) {
      work_.push_back(std::max(1.0, static_cast<double>(curve(std::min(at, max_)).count())));
      if (at >= max_) break;
    }
  }

  double operator()(std::int64_t length) const {
    if (length >= max_) return work_.back() * static_cast<double>(length) / Double(max_);
    length = std::max(length, min_);
    const std::int64_t first = FirstStep(min_);
    if (length <= first) return work_.front();
    const auto slot = static_cast<std::size_t>((length - first) / step_);
    const std::int64_t low = first + static_cast<std::int64_t>(slot) * step_;
    const std::int64_t high = std::min(low + step_, max_);
    const double share = Double(length - low) / Double(high - low);
    return work_[slot] + share * (work_[slot + 1] - work_[slot]);
  }

 private:
  static double Double(std::int64_t x) { return static_cast<double>(x); }
  std::int64_t FirstStep(std::int64_t from) const { return base::CeilDiv(from, step_) * step_; }

  std::int64_t min_, max_, step_;
  std::vector<double> work_;
};

Result<Pricing> PriceByDevice(const std::shared_ptr<const plan::Body>& plan, plan::Index entry,
                              plan::Index dim, const std::shared_ptr<const device::Spec>& device,
                              std::int64_t align) {
  compile::CompilerOptions options;
  options.entry = plan->entries[entry].name;
  options.dim = plan->dims[dim].name;
  LEEWAY_ASSIGN_OR_RETURN(compile::Compiler compiler,
                          compile::Compiler::Create(plan, device, options));
  std::int64_t step = align;
  while (plan->dims[dim].max / step > kMostSteps) step *= 2;
  LEEWAY_ASSIGN_OR_RETURN(const compile::WorkCurve curve, compile::WorkCurve::Make(compiler, step));
  return Pricing{DeviceCurve(curve, step), CostBasis::kDevice, {}};
}

Pricing PriceByPlan(const plan::Body& plan, plan::Index entry, plan::Index dim) {
  std::optional<ProfileCurve> curve = ProfileCurve::Make(plan, entry, dim);
  if (curve) return {*std::move(curve), CostBasis::kPlanProfile, {}};
  return {TokenCost, CostBasis::kTokens,
          absl::StrCat("dim \"", plan.dims[dim].name,
                       "\": the plan does not predict every group, work is counted in tokens")};
}

}  // namespace

Result<Pricing> Price(const std::shared_ptr<const plan::Body>& plan, plan::Index entry,
                      plan::Index dim, const std::shared_ptr<const device::Spec>& device,
                      std::int64_t align) {
  if (device == nullptr) return PriceByPlan(*plan, entry, dim);
  Result<Pricing> by_device = PriceByDevice(plan, entry, dim, device, align);
  const StatusCode code = by_device.status().code();
  if (code != StatusCode::kUnimplemented && code != StatusCode::kInvalidArgument) return by_device;
  Pricing pricing = PriceByPlan(*plan, entry, dim);
  pricing.note =
      absl::StrCat("dim \"", plan->dims[dim].name,
                   "\" is not priced by the device: ", std::string(by_device.status().message()));
  return pricing;
}

}  // namespace leeway::retune
