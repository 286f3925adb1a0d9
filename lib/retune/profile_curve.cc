#include "retune/profile_curve.h"

#include <algorithm>
#include <map>
#include <span>

#include "device/step_cost.h"

namespace leeway::retune {
namespace {

// Sums what the plan predicts, callees once however often they are called: a plan may nest calls so
// that expanding them would never end.
class Predictions {
 public:
  Predictions(const plan::Body& plan, std::span<const std::int64_t> dims)
      : plan_(plan), dims_(dims) {}

  // Core time of one run of a variant, or nothing where the plan is silent. Calls nest at most
  // plan::kMaxCallDepth deep: validation saw to it.
  std::optional<double> WorkOf(plan::Index entry, plan::Index variant) {
    const auto known = known_.find({entry, variant});
    if (known != known_.end()) return known->second;
    const plan::Variant& mapping = plan_.entries[entry].variants[variant];
    double sum = 0;
    for (const plan::Group& group : mapping.groups) {
      const std::optional<double> work = WorkOf(plan_.entries[entry], mapping, group);
      if (!work) return std::nullopt;
      sum += *work;
    }
    known_[{entry, variant}] = sum;
    return sum;
  }

 private:
  std::optional<double> WorkOf(const plan::Entry& entry, const plan::Variant& caller,
                               const plan::Group& group) {
    const plan::Call* call = plan::CallOf(entry, group);
    if (call == nullptr) {
      const std::optional<device::Prediction> planned = device::PlannedTime(group, dims_);
      if (!planned || planned->time < Nanos(0)) return std::nullopt;
      return static_cast<double>(planned->time.count()) * static_cast<double>(group.shards(dims_));
    }
    const std::optional<plan::Index> callee = plan_.CalledVariant(caller, call->entry);
    if (!callee) return std::nullopt;
    const std::optional<double> once = WorkOf(call->entry, *callee);
    if (!once) return std::nullopt;
    return *once * static_cast<double>(call->times(dims_));
  }

  const plan::Body& plan_;
  std::span<const std::int64_t> dims_;
  std::map<std::pair<plan::Index, plan::Index>, double> known_;
};

}  // namespace

std::optional<ProfileCurve> ProfileCurve::Make(const plan::Body& plan, plan::Index entry,
                                               plan::Index dim) {
  std::map<std::int64_t, double> by_edge;
  const std::vector<plan::Variant>& variants = plan.entries[entry].variants;
  for (plan::Index v = 0; v < variants.size(); ++v) {
    const plan::Variant& variant = variants[v];
    std::vector<std::int64_t> dims;
    for (plan::Index d = 0; d < plan.dims.size(); ++d) {
      dims.push_back(plan::IsBatchDim(plan.dims[d]) ? plan.dims[d].min : variant.envelope[d].max);
    }
    const std::optional<double> work = Predictions(plan, dims).WorkOf(entry, v);
    if (!work || !(*work > 0)) return std::nullopt;
    const auto [at, added] = by_edge.try_emplace(variant.envelope[dim].max, *work);
    if (!added) at->second = std::min(at->second, *work);
  }
  if (by_edge.empty()) return std::nullopt;
  ProfileCurve curve;
  double highest = 0;
  for (const auto& [edge, work] : by_edge) {
    highest = std::max(highest, work);
    curve.points_.emplace_back(edge, highest);
  }
  return curve;
}

double ProfileCurve::operator()(std::int64_t length) const {
  const auto x = static_cast<double>(length);
  const auto high = std::lower_bound(
      points_.begin(), points_.end(), length,
      [](const std::pair<std::int64_t, double>& point, std::int64_t l) { return point.first < l; });
  if (high == points_.begin()) return high->second * x / static_cast<double>(high->first);
  const auto& [low_edge, low_work] = *(high - 1);
  if (high == points_.end()) return low_work * x / static_cast<double>(low_edge);
  const double share =
      (x - static_cast<double>(low_edge)) / static_cast<double>(high->first - low_edge);
  return low_work + share * (high->second - low_work);
}

}  // namespace leeway::retune
