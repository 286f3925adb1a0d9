#include "api/priced_plan.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "plan/findings.h"

namespace leeway::api {
namespace {

std::string ListOfDims(const plan::Body& plan) {
  std::string names;
  for (const plan::Dim& dim : plan.dims)
    absl::StrAppend(&names, names.empty() ? "" : ", ", dim.name);
  return names.empty() ? "none" : names;
}

}  // namespace

Result<AskedDims> ResolveDims(const plan::Body& plan, const Dims& at, Unknown unknown) {
  AskedDims asked(plan.dims.size());
  for (const leeway::DimBinding& binding : at) {
    const auto index = plan.FindDim(binding.dim);
    if (!index && unknown == Unknown::kIgnore) continue;
    if (!index) {
      return base::InvalidArgument(absl::StrCat("plan ", plan::Quote(plan.model), " has no dim ",
                                                plan::Quote(binding.dim),
                                                "; it has: ", ListOfDims(plan)));
    }
    const plan::Dim& dim = plan.dims[*index];
    if (binding.value < dim.min || binding.value > dim.max) {
      return base::InvalidArgument(absl::StrCat(binding.value, " leaves the domain [", dim.min,
                                                ", ", dim.max, "] of dim ", plan::Quote(dim.name)));
    }
    if (asked[*index]) {
      return base::InvalidArgument(absl::StrCat("dim ", plan::Quote(dim.name), " is given twice"));
    }
    asked[*index] = binding.value;
  }
  return asked;
}

PricedVariant PriceVariant(const plan::Body& plan, const plan::Entry& entry,
                           const plan::Variant& variant, const AskedDims& asked,
                           const Device* device) {
  std::vector<std::int64_t> dims;
  bool any = false;
  for (std::size_t d = 0; d < asked.size(); ++d) {
    any = any || asked[d].has_value();
    dims.push_back(asked[d].value_or(variant.envelope[d].opt));
  }
  if (any && !plan::Covers(variant, dims)) return {};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d] = plan::PaddedValue(variant.envelope[d], dims[d]);
  }
  const std::shared_ptr<const device::Spec> spec =
      device == nullptr ? nullptr : device::WithHostFor(plan, device->spec());
  device::GroupPricer pricer(plan, dims, spec.get());
  PricedVariant priced;
  priced.dims = std::move(dims);
  priced.groups = pricer.PriceAll(entry, variant);
  priced.total = device::TotalOf(priced.groups);
  return priced;
}

}  // namespace leeway::api
