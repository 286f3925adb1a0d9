// The plan's own profile of a group, between and beyond its points.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/math.h"
#include "device/step_cost.h"

namespace leeway::device {
namespace {

using plan::ProfilePoint;

// 2⁸ corners at most; a profile over more dims is answered by its nearest point.
constexpr std::size_t kMaxAxes = 8;

// A dim along which the points differ, and where the query lies between two of its values.
struct Axis {
  std::size_t dim = 0;
  std::int64_t low = 0, high = 0;
  double weight_high = 0;
};

class Interpolation {
 public:
  Interpolation(const std::vector<ProfilePoint>& points, std::span<const std::int64_t> dims)
      : points_(points), query_(dims.begin(), dims.end()) {
    for (std::size_t dim = 0; dim < query_.size(); ++dim) AddDim(dim);
  }

  template <typename Value>
  double Mean(Value value) {
    if (axes_.size() > kMaxAxes) {
      extrapolated_ = true;
      return value(Nearest(query_));
    }
    double mean = 0;
    std::vector<std::int64_t> corner = query_;
    for (std::size_t bits = 0; bits < std::size_t{1} << axes_.size(); ++bits) {
      double weight = 1;
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        const bool high = (bits >> i & 1) != 0;
        corner[axes_[i].dim] = high ? axes_[i].high : axes_[i].low;
        weight *= high ? axes_[i].weight_high : 1 - axes_[i].weight_high;
      }
      if (weight > 0) mean += weight * value(Nearest(corner));
    }
    return mean;
  }

  bool extrapolated() const { return extrapolated_; }

 private:
  static std::int64_t Of(const ProfilePoint& point, std::size_t dim) {
    return dim < point.dims.size() ? point.dims[dim] : 0;
  }

  // Moves the query into the points' range along `dim`.
  void AddDim(std::size_t dim) {
    std::vector<std::int64_t> values;
    for (const ProfilePoint& point : points_) values.push_back(Of(point, dim));
    std::sort(values.begin(), values.end());
    const std::int64_t asked = query_[dim];
    query_[dim] = std::clamp(asked, values.front(), values.back());
    if (query_[dim] != asked) extrapolated_ = true;
    if (values.front() == values.back()) return;
    Axis axis{.dim = dim};
    const auto high = std::lower_bound(values.begin(), values.end(), query_[dim]);
    axis.high = *high;
    axis.low = *high == query_[dim] ? *high : *(high - 1);
    if (axis.high != axis.low) {
      axis.weight_high =
          static_cast<double>(query_[dim] - axis.low) / static_cast<double>(axis.high - axis.low);
    }
    axes_.push_back(axis);
  }

  // Where a corner of the grid has no point, the nearest one (the first on ties) stands for it.
  const ProfilePoint& Nearest(const std::vector<std::int64_t>& at) {
    const ProfilePoint* nearest = nullptr;
    double least = 0;
    for (const ProfilePoint& point : points_) {
      double distance = 0;
      for (const Axis& axis : axes_) {
        const auto wanted = static_cast<double>(at[axis.dim]);
        const double off = static_cast<double>(Of(point, axis.dim)) - wanted;
        distance += (off < 0 ? -off : off) / (wanted > 1 ? wanted : 1);
      }
      if (nearest == nullptr || distance < least) {
        nearest = &point;
        least = distance;
      }
    }
    if (least > 0) extrapolated_ = true;
    return *nearest;
  }

  const std::vector<ProfilePoint>& points_;
  std::vector<std::int64_t> query_;
  std::vector<Axis> axes_;
  bool extrapolated_ = false;
};

}  // namespace

std::optional<Prediction> PlannedTime(const plan::Group& group,
                                      std::span<const std::int64_t> dims) {
  if (!group.profile.empty()) {
    Interpolation between(group.profile, dims);
    const double mean =
        between.Mean([](const ProfilePoint& point) { return static_cast<double>(point.p50_ns); });
    const auto rounded = base::RoundToInt64(mean);
    if (!rounded) return std::nullopt;
    return Prediction{Nanos(*rounded), between.extrapolated() ? Prediction::Range::kExtrapolated
                                                              : Prediction::Range::kInside};
  }
  if (!group.cost_ns) return std::nullopt;
  const Result<std::int64_t> value = group.cost_ns->Evaluate(dims);
  if (!value.ok()) return std::nullopt;
  return Prediction{Nanos(*value), Prediction::Range::kInside};
}

namespace {

double MeanOf(const plan::Group& group, std::span<const std::int64_t> dims,
              std::int64_t ProfilePoint::*figure) {
  if (group.profile.empty()) return 0;
  return Interpolation(group.profile, dims).Mean([figure](const ProfilePoint& point) {
    return static_cast<double>(point.*figure);
  });
}

}  // namespace

double PlannedBytes(const plan::Group& group, std::span<const std::int64_t> dims) {
  return MeanOf(group, dims, &ProfilePoint::dram_bytes);
}

double PlannedSram(const plan::Group& group, std::span<const std::int64_t> dims) {
  return MeanOf(group, dims, &ProfilePoint::sram_peak_bytes);
}

}  // namespace leeway::device
