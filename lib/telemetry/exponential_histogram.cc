#include "telemetry/exponential_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/math.h"
#include "telemetry/bucket_thresholds.h"

namespace leeway::telemetry {
namespace {

constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

static_assert(ExponentialHistogram::kMaxScale == kSubBits);

// Cells of a mantissa, narrower than any gap between thresholds: at most one threshold lies in a
// cell, so one comparison finishes the search.
constexpr int kCellBits = 9;

// By cell, the smallest j whose threshold is not below the cell's first mantissa; 256 past the
// last.
constexpr std::array<std::uint16_t, 1 << kCellBits> FirstThresholds() {
  std::array<std::uint16_t, 1 << kCellBits> first{};
  std::size_t j = 0;
  for (std::size_t cell = 0; cell < first.size(); ++cell) {
    const std::uint64_t begin =
        (std::uint64_t{1} << 63) + (static_cast<std::uint64_t>(cell) << (63 - kCellBits));
    while (j < kThresholds.size() && kThresholds[j] < begin) ++j;
    first[cell] = static_cast<std::uint16_t>(j);
  }
  return first;
}

constexpr std::array<std::uint16_t, 1 << kCellBits> kFirst = FirstThresholds();

constexpr bool OneThresholdPerCell() {
  for (std::size_t j = 1; j < kThresholds.size(); ++j) {
    if (kThresholds[j] - kThresholds[j - 1] < std::uint64_t{1} << (63 - kCellBits)) return false;
  }
  return true;
}
static_assert(OneThresholdPerCell());

// The bucket at kMaxScale.
inline std::int32_t FinestBucketOf(std::int64_t value) {
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  const int leading = std::countl_zero(bits);
  const std::uint64_t mantissa = bits << leading;
  const std::uint32_t first = kFirst[(mantissa << 1) >> (64 - kCellBits)];
  const std::uint32_t j =
      first + (first < kSubBuckets && mantissa > kThresholds[first % kSubBuckets] ? 1 : 0);
  return (63 - leading) * kSubBuckets + static_cast<std::int32_t>(j) - 1;
}

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kMaxValue : sum;
}

// Saturating sums of what is not negative are still associative and commutative.
std::int64_t SaturatingProduct(std::int64_t value, std::uint64_t count) {
  std::int64_t product;
  return __builtin_mul_overflow(value, count, &product) ? kMaxValue : product;
}

}  // namespace

ExponentialHistogram::ExponentialHistogram(int scale) : scale_(scale) {
  LEEWAY_CHECK(scale >= 0 && scale <= kMaxScale);
}

std::int32_t ExponentialHistogram::BucketOf(std::int64_t value, int scale) {
  // Arithmetic shift: a coarser bucket is the union of a power of two of finer ones, from −1 too.
  return FinestBucketOf(value) >> (kMaxScale - scale);
}

std::int64_t ExponentialHistogram::UpperBound(std::int32_t index, int scale) {
  const std::int64_t power = (std::int64_t{index} + 1) << (kMaxScale - scale);
  if (power < 0) return 0;
  const std::int64_t exponent = power >> kSubBits;
  if (exponent >= 63) return kMaxValue;
  // floor(floor(2^63 x) / 2^(63 − e)) = floor(2^e x).
  return static_cast<std::int64_t>(kThresholds[static_cast<std::size_t>(power % kSubBuckets)] >>
                                   (63 - exponent));
}

void ExponentialHistogram::RecordMany(std::int64_t value, std::uint64_t count) {
  if (count == 0) return;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += count;
  sum_ = SaturatingAdd(sum_, count == 1 ? value : SaturatingProduct(value, count));
  if (value == 0) {
    zero_count_ += count;
    return;
  }
  const std::int32_t index = BucketOf(value, scale_);
  const auto at = static_cast<std::size_t>(std::int64_t{index} - offset_);
  if (at < buckets_.size()) [[likely]] {
    buckets_[at] += count;
  } else {
    Extend(index, index);
    buckets_[static_cast<std::size_t>(index - offset_)] += count;
  }
}

void ExponentialHistogram::Extend(std::int32_t first, std::int32_t last) {
  if (buckets_.empty()) offset_ = first;
  if (first < offset_) {
    buckets_.insert(buckets_.begin(), static_cast<std::size_t>(offset_ - first), 0);
    offset_ = first;
  }
  const auto needed = static_cast<std::size_t>(last - offset_) + 1;
  if (needed > buckets_.size()) buckets_.resize(needed);
}

void ExponentialHistogram::Merge(const ExponentialHistogram& other) {
  Downscale(std::min(scale_, other.scale_));
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  zero_count_ += other.zero_count_;
  sum_ = SaturatingAdd(sum_, other.sum_);
  if (other.buckets_.empty()) return;
  const int shift = other.scale_ - scale_;
  const auto other_last = other.offset_ + static_cast<std::int32_t>(other.buckets_.size()) - 1;
  Extend(other.offset_ >> shift, other_last >> shift);
  // `other` may be this very histogram: then nothing was extended and each bucket doubles.
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) {
    const std::int32_t index = (other.offset_ + static_cast<std::int32_t>(i)) >> shift;
    buckets_[static_cast<std::size_t>(index - offset_)] += other.buckets_[i];
  }
}

void ExponentialHistogram::Downscale(int scale) {
  const int shift = scale_ - scale;
  if (shift == 0) return;
  scale_ = scale;
  if (buckets_.empty()) return;
  const std::int32_t offset = offset_ >> shift;
  const auto last = (offset_ + static_cast<std::int32_t>(buckets_.size()) - 1) >> shift;
  std::vector<std::uint64_t> coarse(static_cast<std::size_t>(last - offset) + 1);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const std::int32_t index = (offset_ + static_cast<std::int32_t>(i)) >> shift;
    coarse[static_cast<std::size_t>(index - offset)] += buckets_[i];
  }
  buckets_ = std::move(coarse);
  offset_ = offset;
}

std::int64_t ExponentialHistogram::Quantile(double q) const {
  if (count_ == 0) return 0;
  const std::uint64_t rank = base::NearestRank(q, count_);
  std::uint64_t seen = zero_count_;
  if (seen >= rank) return 0;
  std::size_t i = 0;
  while (i + 1 < buckets_.size() && (seen += buckets_[i]) < rank) ++i;
  return std::min(UpperBound(offset_ + static_cast<std::int32_t>(i), scale_), max_);
}

double ExponentialHistogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

}  // namespace leeway::telemetry
