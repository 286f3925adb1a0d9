#include "api/dim_binding.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace leeway::api {
namespace {

std::optional<std::size_t> IndexOf(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<std::size_t>(it - names.begin());
}

std::vector<std::string> DimNames(const plan::Body& plan) {
  std::vector<std::string> names;
  for (const plan::Dim& dim : plan.dims) names.push_back(dim.name);
  return names;
}

}  // namespace

Result<DimBinding> DimBinding::Make(const plan::Body& plan,
                                    const std::vector<std::string>& traffic_dims,
                                    const std::vector<std::pair<std::string, std::string>>& pairs) {
  DimBinding binding;
  binding.plan_ = &plan;
  binding.source_.assign(plan.dims.size(), kFree);
  const std::vector<std::string> plan_dims = DimNames(plan);
  std::vector<bool> used(traffic_dims.size());
  auto tie = [&](std::size_t from, std::size_t to) {
    binding.source_[to] = from;
    used[from] = true;
  };
  for (const auto& [from_name, to_name] : pairs) {
    const auto from = IndexOf(traffic_dims, from_name);
    const auto to = IndexOf(plan_dims, to_name);
    if (!from) {
      return base::InvalidArgument(absl::StrCat("the traffic has no dim \"", from_name,
                                                "\"; it has: ", absl::StrJoin(traffic_dims, ", ")));
    }
    if (!to) {
      return base::InvalidArgument(absl::StrCat("the plan has no dim \"", to_name,
                                                "\"; it has: ", absl::StrJoin(plan_dims, ", ")));
    }
    if (binding.source_[*to] != kFree) {
      return base::InvalidArgument(absl::StrCat("dim \"", to_name, "\" is bound twice"));
    }
    tie(*from, *to);
  }
  for (std::size_t d = 0; d < plan_dims.size(); ++d) {
    const auto from = IndexOf(traffic_dims, plan_dims[d]);
    if (binding.source_[d] == kFree && from && !used[*from]) tie(*from, d);
  }
  std::vector<std::size_t> free_to, free_from;
  for (std::size_t d = 0; d < plan_dims.size(); ++d) {
    if (binding.source_[d] == kFree && !plan::IsBatchDim(plan.dims[d])) free_to.push_back(d);
  }
  for (std::size_t t = 0; t < traffic_dims.size(); ++t) {
    if (!used[t]) free_from.push_back(t);
  }
  if (free_to.size() == 1 && free_from.size() == 1) {
    tie(free_from.front(), free_to.front());
    binding.notes_.push_back(absl::StrCat("dim \"", plan_dims[free_to.front()],
                                          "\" takes the traffic's \"",
                                          traffic_dims[free_from.front()], "\""));
    free_to.clear();
  }
  if (!free_to.empty()) {
    return base::InvalidArgument(
        absl::StrCat("dim \"", plan_dims[free_to.front()],
                     "\" of the plan has no source in the traffic, which has: ",
                     absl::StrJoin(traffic_dims, ", ")));
  }
  return binding;
}

Result<sched::DimValues> DimBinding::Apply(const traffic::Arrival& arrival,
                                           SimulateOptions::AboveDomain above_domain) {
  sched::DimValues dims(source_.size(), 1);
  bool clamped = false;
  for (std::size_t d = 0; d < source_.size(); ++d) {
    const plan::Dim& dim = plan_->dims[d];
    if (source_[d] != kFree) dims[d] = arrival.dims[source_[d]];
    if (dims[d] >= dim.min && dims[d] <= dim.max) continue;
    if (above_domain == SimulateOptions::AboveDomain::kError) {
      return base::OutOfRange(absl::StrCat("request at ", arrival.at.count(), " ns: dim \"",
                                           dim.name, "\" is ", dims[d], ", outside its domain [",
                                           dim.min, ", ", dim.max, "]"));
    }
    dims[d] = std::clamp(dims[d], dim.min, dim.max);
    clamped = true;
  }
  if (clamped) ++clamped_;
  return dims;
}

Result<std::size_t> DimBinding::SourceOf(plan::Index dim) const {
  if (source_[dim] != kFree) return source_[dim];
  return base::InvalidArgument(
      absl::StrCat("dim \"", plan_->dims[dim].name, "\" of the plan has no source in the traffic"));
}

}  // namespace leeway::api
