#include "telemetry/exponential_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/telemetry/wide_integer.h"

namespace leeway::telemetry {
namespace {

using testing::CeilScaledLog2;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr int kFinest = ExponentialHistogram::kMaxScale;

// Every magnitude is equally likely.
std::int64_t AnyMagnitude(base::Prng& prng) {
  return static_cast<std::int64_t>(prng.Next() >> (1 + prng.Below(62)));
}

std::vector<std::int64_t> RandomValues(base::Prng& prng, std::size_t n) {
  std::vector<std::int64_t> values(n);
  const bool latencies = prng.Below(2) == 0;
  for (std::int64_t& v : values) {
    v = latencies ? static_cast<std::int64_t>(prng.Exponential() * 1e6) : AnyMagnitude(prng);
    // Sums must stay exact here.
    v %= std::int64_t{1} << 50;
  }
  return values;
}

ExponentialHistogram Of(const std::vector<std::int64_t>& values, int scale) {
  ExponentialHistogram histogram(scale);
  for (std::int64_t value : values) histogram.Record(value);
  return histogram;
}

ExponentialHistogram Merged(ExponentialHistogram a, const ExponentialHistogram& b) {
  a.Merge(b);
  return a;
}

}  // namespace

TEST_CASE("a bucket's bounds bracket its values exactly, at every scale", "[telemetry][property]") {
  const int scale = GENERATE(range(0, kFinest + 1));
  CAPTURE(scale);
  base::Prng prng(static_cast<std::uint64_t>(scale));
  for (int i = 0; i < 500; ++i) {
    const std::int64_t value = AnyMagnitude(prng) | 1;
    CAPTURE(value);
    const std::int32_t bucket = ExponentialHistogram::BucketOf(value, scale);
    // 2^(b/2^s) < v <= 2^((b+1)/2^s) says that b + 1 is the ceiling of 2^s·log2 v.
    REQUIRE(bucket + 1 == CeilScaledLog2(static_cast<std::uint64_t>(value), scale));
    REQUIRE(ExponentialHistogram::UpperBound(bucket, scale) >= value);
    REQUIRE(ExponentialHistogram::UpperBound(bucket - 1, scale) < value);
  }
}

TEST_CASE("small values and powers of two are in the buckets that the definition says",
          "[telemetry][property]") {
  const int scale = GENERATE(0, 1, 4, kFinest);
  CAPTURE(scale);
  for (std::uint64_t value = 1; value <= 2048; ++value) {
    REQUIRE(ExponentialHistogram::BucketOf(static_cast<std::int64_t>(value), scale) + 1 ==
            CeilScaledLog2(value, scale));
  }
  for (int e = 0; e < 63; ++e) {
    const std::int64_t power = std::int64_t{1} << e;
    REQUIRE(ExponentialHistogram::BucketOf(power, scale) == (e << scale) - 1);
    REQUIRE(ExponentialHistogram::UpperBound((e << scale) - 1, scale) == power);
  }
  REQUIRE(ExponentialHistogram::BucketOf(kMax, scale) == (63 << scale) - 1);
  REQUIRE(ExponentialHistogram::UpperBound((63 << scale) - 1, scale) == kMax);
}

TEST_CASE("each of the 256 thresholds is exact where the values are finest",
          "[telemetry][property]") {
  for (std::int32_t j = 0; j < 256; ++j) {
    CAPTURE(j);
    // The octave that ends at 2^63: 63 significant bits.
    const std::int32_t bucket = 62 * 256 + j - 1;
    const std::int64_t bound = ExponentialHistogram::UpperBound(bucket, kFinest);
    REQUIRE(CeilScaledLog2(static_cast<std::uint64_t>(bound), kFinest) <= bucket + 1);
    REQUIRE(CeilScaledLog2(static_cast<std::uint64_t>(bound) + 1, kFinest) > bucket + 1);
    REQUIRE(ExponentialHistogram::BucketOf(bound, kFinest) == bucket);
    REQUIRE(ExponentialHistogram::BucketOf(bound + 1, kFinest) == bucket + 1);
  }
}

TEST_CASE("a quantile is the oracle's or above it by the bucket's width at most",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const int scale = static_cast<int>(prng.Below(kFinest + 1));
  std::vector<std::int64_t> values = RandomValues(prng, 1 + prng.Below(3000));
  const ExponentialHistogram histogram = Of(values, scale);
  std::sort(values.begin(), values.end());
  const double width = std::exp2(std::ldexp(1.0, -scale));
  for (double q : {0.0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0}) {
    CAPTURE(scale, q, values.size());
    const double rank = std::ceil(q * static_cast<double>(values.size()) * (1 - 1e-15));
    const std::int64_t exact = values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
    REQUIRE(histogram.Quantile(q) >= exact);
    REQUIRE(static_cast<double>(histogram.Quantile(q)) <=
            static_cast<double>(exact) * width * (1 + 1e-12));
  }
  REQUIRE(histogram.min() == values.front());
  REQUIRE(histogram.max() == values.back());
  REQUIRE(histogram.Quantile(1) == values.back());
}

TEST_CASE("seven of a hundred values are the quantile 0.07", "[telemetry][unit]") {
  ExponentialHistogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.Record(i);
  REQUIRE(histogram.Quantile(0.07) == 7);
  REQUIRE(histogram.Quantile(0.29) == 29);
}

TEST_CASE("merging is associative, commutative and equals recording everything",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<ExponentialHistogram> parts;
  std::vector<std::int64_t> all;
  int coarsest = kFinest;
  for (int i = 0; i < 3; ++i) {
    const int scale = static_cast<int>(prng.Below(kFinest + 1));
    const std::vector<std::int64_t> values = RandomValues(prng, prng.Below(200));
    parts.push_back(Of(values, scale));
    all.insert(all.end(), values.begin(), values.end());
    coarsest = std::min(coarsest, scale);
  }
  const ExponentialHistogram left = Merged(Merged(parts[0], parts[1]), parts[2]);
  REQUIRE(left == Merged(parts[0], Merged(parts[1], parts[2])));
  REQUIRE(left == Merged(Merged(parts[2], parts[1]), parts[0]));
  REQUIRE(left == Of(all, coarsest));
}

TEST_CASE("a histogram merged with itself counts everything twice", "[telemetry][unit]") {
  base::Prng prng(7);
  const std::vector<std::int64_t> values = RandomValues(prng, 500);
  ExponentialHistogram histogram = Of(values, 5);
  histogram.Merge(histogram);
  ExponentialHistogram twice(5);
  for (std::int64_t value : values) twice.RecordMany(value, 2);
  REQUIRE(histogram == twice);
}

TEST_CASE("down-scaling by a merge is exact", "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::vector<std::int64_t> values = RandomValues(prng, 400);
  const int from = static_cast<int>(prng.Below(kFinest + 1));
  const int to = static_cast<int>(prng.Below(static_cast<std::uint64_t>(from) + 1));
  REQUIRE(Merged(Of(values, from), ExponentialHistogram(to)) == Of(values, to));
}

TEST_CASE("an empty histogram answers 0, and counts of 0 leave it empty", "[telemetry][unit]") {
  ExponentialHistogram histogram;
  histogram.RecordMany(12, 0);
  REQUIRE(histogram == ExponentialHistogram());
  REQUIRE(histogram.Quantile(0.5) == 0);
  REQUIRE(histogram.mean() == 0);
  histogram.RecordMany(0, 3);
  REQUIRE(histogram.Quantile(1) == 0);
  REQUIRE(histogram.buckets().empty());
  histogram.Record(9);
  REQUIRE(histogram.Quantile(0.75) == 0);
  REQUIRE(histogram.Quantile(0.76) == 9);
}

TEST_CASE("the sum saturates instead of overflowing", "[telemetry][unit]") {
  ExponentialHistogram histogram;
  histogram.RecordMany(kMax / 2, 5);
  REQUIRE(histogram.sum() == kMax);
  histogram.Record(kMax);
  REQUIRE(histogram.sum() == kMax);
  REQUIRE(histogram.count() == 6);
  REQUIRE(histogram.max() == kMax);
}

}  // namespace leeway::telemetry
