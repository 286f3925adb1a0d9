#include "retune/plan_buckets.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace leeway::retune {
namespace {

bool SameRange(const plan::Range& a, const plan::Range& b) {
  return std::tie(a.min, a.max, a.mode, a.granule) == std::tie(b.min, b.max, b.mode, b.granule);
}

// Whether the ranges leave no hole from `from` to the largest maximum.
bool WithoutHole(std::vector<plan::Range> ranges, std::int64_t from) {
  std::sort(ranges.begin(), ranges.end(),
            [](const plan::Range& a, const plan::Range& b) { return a.min < b.min; });
  std::int64_t covered = from - 1;
  for (const plan::Range& range : ranges) {
    if (range.min > covered + 1) return false;
    covered = std::max(covered, range.max);
  }
  return true;
}

}  // namespace

Result<plan::Index> FindEntry(const plan::Body& plan, std::string_view name) {
  std::vector<std::string> names;
  std::optional<plan::Index> found;
  for (plan::Index i = 0; i < plan.entries.size(); ++i) {
    const plan::Entry& entry = plan.entries[i];
    if (entry.internal && entry.name != name) continue;
    if (entry.internal) {
      return base::InvalidArgument(
          absl::StrCat("entry \"", std::string(name), "\" is internal: no request runs it"));
    }
    names.push_back(entry.name);
    if (name.empty() || entry.name == name) found = i;
  }
  if (name.empty() && names.size() != 1) {
    return base::InvalidArgument(absl::StrCat(
        "the plan has ", names.size(), " entries, name one of: ", absl::StrJoin(names, ", ")));
  }
  if (found) return *found;
  return base::NotFound(absl::StrCat("the plan has no entry \"", std::string(name),
                                     "\"; it has: ", absl::StrJoin(names, ", ")));
}

std::vector<plan::Index> LengthDims(const plan::Body& plan) {
  std::vector<plan::Index> dims;
  for (plan::Index d = 0; d < plan.dims.size(); ++d) {
    if (plan.dims[d].bind == plan::Bind::kSubmit && !plan::IsBatchDim(plan.dims[d])) {
      dims.push_back(d);
    }
  }
  return dims;
}

PlanBuckets::PlanBuckets(const plan::Body& plan, const plan::Entry& entry, plan::Index dim)
    : dim_(dim) {
  for (const plan::Variant& variant : entry.variants) {
    const plan::Range& range = variant.envelope[dim];
    edges_.push_back(range.max);
    const auto same = [&range](const plan::Range& other) { return SameRange(range, other); };
    if (std::none_of(ranges_.begin(), ranges_.end(), same)) ranges_.push_back(range);
  }
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  contiguous_ = WithoutHole(ranges_, plan.dims[dim].min);
}

BucketWork PlanBuckets::Work(const LengthHistogram& lengths, const BucketSpec& spec) const {
  BucketWork work;
  for (const LengthWeight& e : lengths) {
    const double useful = spec.cost(e.length);
    std::optional<std::int64_t> padded;
    for (const plan::Range& range : ranges_) {
      if (e.length < range.min || e.length > range.max) continue;
      const std::int64_t to = plan::PaddedValue(range, e.length);
      padded = padded ? std::min(*padded, to) : to;
    }
    work.requests += e.weight;
    work.useful += e.weight * useful;
    if (padded) {
      work.cost += e.weight * spec.cost(*padded);
    } else {
      const double fallback = e.weight * spec.Fallback(e.length, useful);
      work.cost += fallback;
      work.fallback_requests += e.weight;
      work.fallback_cost += fallback;
    }
  }
  return work;
}

}  // namespace leeway::retune
