#include "leeway/plan_diff.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/priced_plan.h"
#include "base/status_macros.h"
#include "plan/body.h"
#include "plan/changes.h"
#include "plan/findings.h"

namespace leeway {
inline namespace v0 {
namespace {

// In the order of PlanChangeKind.
constexpr std::string_view kWords[] = {
    "header",
    "annotation",
    "dim_added",
    "dim_removed",
    "dim",
    "shape_profile",
    "tensor_added",
    "tensor_removed",
    "tensor",
    "entry_added",
    "entry_removed",
    "entry",
    "operator_added",
    "operator_removed",
    "operator",
    "variant_added",
    "variant_removed",
    "variant_order",
    "envelope",
    "shape_mode",
    "constraint",
    "numerics",
    "arena",
    "schedule",
    "layout",
    "residency",
    "elided",
    "group_added",
    "group_removed",
    "group_renamed",
    "group_split",
    "group_merged",
    "operator_moved",
    "operator_order",
    "recomputed",
    "call",
    "placement",
    "shards",
    "tiling",
    "kernel",
    "group_work",
    "prediction",
    "total_prediction",
    "other",
};
static_assert(std::size(kWords) == static_cast<std::size_t>(PlanChangeKind::kOther) + 1);

plan::PlanTimes TimesOf(const plan::Body& body, const api::AskedDims& asked, const Device* device) {
  plan::PlanTimes times;
  for (const plan::Entry& entry : body.entries) {
    auto& variants = times.emplace_back();
    for (const plan::Variant& variant : entry.variants) {
      const api::PricedVariant priced = api::PriceVariant(body, entry, variant, asked, device);
      plan::VariantTimes& out = variants.emplace_back();
      out.total = priced.total.time;
      out.groups.resize(variant.groups.size());
      for (std::size_t g = 0; g < priced.groups.size(); ++g) {
        out.groups[variant.groups[g].listed] = priced.groups[g].time.time;
      }
    }
  }
  return times;
}

}  // namespace

std::string_view PlanChangeWord(PlanChangeKind kind) {
  return kWords[static_cast<std::size_t>(kind)];
}

PlanDiff Diff(const Plan& before, const Plan& after) {
  // Without dims to refuse and with the default threshold nothing can be wrong.
  return Diff(before, after, {}).value();
}

Result<PlanDiff> Diff(const Plan& before, const Plan& after, const PlanDiffOptions& options) {
  if (!std::isfinite(options.threshold) || options.threshold < 0) {
    return base::InvalidArgument(
        absl::StrCat("threshold ", options.threshold, " is not a number of at least 0"));
  }
  const plan::Body &a = *before.body(), &b = *after.body();
  for (const DimBinding& binding : options.at) {
    if (a.FindDim(binding.dim) || b.FindDim(binding.dim)) continue;
    return base::InvalidArgument(absl::StrCat("neither plan has a dim ", plan::Quote(binding.dim)));
  }
  LEEWAY_ASSIGN_OR_RETURN(const api::AskedDims a_dims,
                          api::ResolveDims(a, options.at, api::Unknown::kIgnore));
  LEEWAY_ASSIGN_OR_RETURN(const api::AskedDims b_dims,
                          api::ResolveDims(b, options.at, api::Unknown::kIgnore));
  const plan::PlanTimes a_times = TimesOf(a, a_dims, options.device);
  const plan::PlanTimes b_times = TimesOf(b, b_dims, options.device);
  return plan::DiffPlans({a, a_times}, {b, b_times}, options.threshold);
}

}  // namespace v0
}  // namespace leeway
