// A base-2 exponential histogram: bucket i of scale s covers (2^(i/2^s), 2^((i+1)/2^s)], the same
// buckets as OpenTelemetry's and Prometheus' native histograms.
//
// Errors:  a quantile is off by at most a factor 2^(2^-s) − 1 (0.27 % at scale 8).
// Merging: associative and commutative; of two scales the coarser wins, exactly (buckets halve).
// Buckets come from exponent bits and an integer table: no libm.

#ifndef LEEWAY_TELEMETRY_EXPONENTIAL_HISTOGRAM_H_
#define LEEWAY_TELEMETRY_EXPONENTIAL_HISTOGRAM_H_

#include <cstdint>
#include <vector>

namespace leeway::telemetry {

class ExponentialHistogram {
 public:
  static constexpr int kMaxScale = 8;

  // Requires 0 <= scale <= kMaxScale.
  explicit ExponentialHistogram(int scale = kMaxScale);

  // Requires value >= 0 and a total count below 2^64. Constant time, but for a value outside the
  // range so far, which moves at most 64·2^scale counters. The sum saturates.
  void Record(std::int64_t value) { RecordMany(value, 1); }
  void RecordMany(std::int64_t value, std::uint64_t count);
  void Merge(const ExponentialHistogram& other);

  // Index of the bucket that holds `value` > 0, at this scale.
  static std::int32_t BucketOf(std::int64_t value, int scale);
  // Largest integer in bucket `index`.
  static std::int64_t UpperBound(std::int32_t index, int scale);

  // Smallest recorded-bucket bound that at least ⌈q·count⌉ values do not exceed, within [min, max];
  // 0 if empty. q in [0, 1]; a product q·count that only rounding keeps from an integer is that
  // one.
  std::int64_t Quantile(double q) const;

  int scale() const { return scale_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t zero_count() const { return zero_count_; }
  std::int64_t sum() const { return sum_; }
  std::int64_t min() const { return count_ == 0 ? 0 : min_; }
  std::int64_t max() const { return max_; }
  double mean() const;
  // Bucket counts from index offset() on; empty if only zeros were recorded.
  std::int32_t offset() const { return offset_; }
  const std::vector<std::uint64_t>& buckets() const { return buckets_; }

  friend bool operator==(const ExponentialHistogram&, const ExponentialHistogram&) = default;

 private:
  friend class SnapshotCodec;
  // Makes room for the buckets [first, last]. The first and last bucket are never left empty, so
  // that equal contents compare equal.
  void Extend(std::int32_t first, std::int32_t last);
  void Downscale(int scale);

  int scale_;
  std::uint64_t zero_count_ = 0;
  std::int32_t offset_ = 0;
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::int64_t sum_ = 0;
  std::int64_t min_ = 0, max_ = 0;
};

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_EXPONENTIAL_HISTOGRAM_H_
