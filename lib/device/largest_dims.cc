#include "device/largest_dims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/math.h"

namespace leeway::device {
namespace {

using DimValues = std::vector<std::int64_t>;

class LargestSearch {
 public:
  explicit LargestSearch(const plan::Variant& variant) : variant_(variant) {
    for (const plan::Range& range : variant.envelope) {
      if (range.min < range.max) free_.push_back(low_.size());
      low_.push_back(range.min);
      high_.push_back(range.max);
    }
  }

  std::vector<DimValues> Find() const {
    if (plan::Covers(variant_, high_)) return {high_};
    // Corners double with each dim; past these, only the straight way up.
    constexpr std::size_t kMaxFree = 8;
    std::vector<DimValues> found;
    const std::size_t corners = free_.size() <= kMaxFree ? std::size_t{1} << free_.size() : 2;
    for (std::size_t bits = 1; bits < corners; ++bits) {
      DimValues corner = free_.size() <= kMaxFree ? low_ : high_;
      for (std::size_t i = 0; i < free_.size() && i < kMaxFree; ++i) {
        if ((bits >> i & 1) != 0) corner[free_[i]] = high_[free_[i]];
      }
      if (const auto furthest = Furthest(corner)) found.push_back(*furthest);
    }
    return found;
  }

 private:
  std::optional<DimValues> Furthest(const DimValues& corner) const {
    constexpr std::int64_t kSteps = 1 << 10;
    DimValues at = low_;
    for (std::int64_t low = 0, high = kSteps + 1; high - low > 1;) {
      const std::int64_t middle = (low + high) / 2;
      DimValues candidate = low_;
      for (const std::size_t dim : free_) {
        candidate[dim] += base::MulDivFloor(corner[dim] - low_[dim], middle, kSteps);
      }
      const bool within = WithinBounds(candidate);
      (within ? low : high) = middle;
      if (within) at = std::move(candidate);
    }
    return CoveredBelow(std::move(at));
  }

  bool WithinBounds(const DimValues& dims) const {
    return std::all_of(variant_.constraints.begin(), variant_.constraints.end(),
                       [&](const plan::Constraint& c) { return c.expr(dims) <= c.max; });
  }

  std::optional<DimValues> CoveredBelow(DimValues at) const {
    constexpr int kTries = 1 << 12;
    for (int i = 0; i < kTries && !plan::Covers(variant_, at); ++i) {
      if (at == low_) return std::nullopt;
      for (const std::size_t dim : free_) at[dim] = std::max(at[dim] - 1, low_[dim]);
    }
    if (plan::Covers(variant_, at)) return at;
    return plan::Covers(variant_, low_) ? std::optional(low_) : std::nullopt;
  }

  const plan::Variant& variant_;
  std::vector<std::size_t> free_;
  DimValues low_, high_;
};

}  // namespace

std::vector<DimValues> LargestDims(const plan::Variant& variant) {
  return LargestSearch(variant).Find();
}

}  // namespace leeway::device
