#include "telemetry/tail_profile.h"

#include <limits>

namespace leeway::telemetry {
namespace {

// Saturates: a thousand requests in flight fill an int64 of nanoseconds in a hundred days.
void Accumulate(Attribution& sum, const Attribution& more) {
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const std::int64_t part = more.parts[i].count();
    std::int64_t total;
    if (__builtin_add_overflow(sum.parts[i].count(), part, &total)) {
      total = part < 0 ? std::numeric_limits<std::int64_t>::min()
                       : std::numeric_limits<std::int64_t>::max();
    }
    sum.parts[i] = Nanos(total);
  }
}

}  // namespace

void TailProfile::Record(Nanos latency, const Attribution& parts) {
  latency_.Record(latency.count());
  Accumulate(total_, parts);
  if (latency.count() == 0) return Accumulate(zero_sum_, parts);
  AlignWithLatency();
  const std::int32_t bucket =
      ExponentialHistogram::BucketOf(latency.count(), ExponentialHistogram::kMaxScale);
  Accumulate(sums_[static_cast<std::size_t>(bucket - offset_)], parts);
}

void TailProfile::AlignWithLatency() {
  const std::size_t size = latency_.buckets().size();
  if (sums_.size() == size) return;
  if (!sums_.empty() && latency_.offset() < offset_) {
    sums_.insert(sums_.begin(), static_cast<std::size_t>(offset_ - latency_.offset()), {});
  }
  offset_ = latency_.offset();
  sums_.resize(size);
}

void TailProfile::Merge(const TailProfile& other) {
  latency_.Merge(other.latency_);
  AlignWithLatency();
  Accumulate(total_, other.total_);
  Accumulate(zero_sum_, other.zero_sum_);
  for (std::size_t i = 0; i < other.sums_.size(); ++i) {
    const auto at = static_cast<std::size_t>(other.offset_ - offset_) + i;
    Accumulate(sums_[at], other.sums_[i]);
  }
}

TailProfile::Tail TailProfile::TailFrom(double q) const {
  Tail tail;
  if (latency_.count() == 0) return tail;
  const std::int64_t from = latency_.Quantile(q);
  std::size_t first = 0;
  if (from == 0) {
    tail.count = latency_.zero_count();
    tail.sum = zero_sum_;
  } else {
    // The quantile lies in its own bucket: a bucket's bound, or the maximum in the last one.
    const std::int32_t bucket =
        ExponentialHistogram::BucketOf(from, ExponentialHistogram::kMaxScale);
    first = static_cast<std::size_t>(bucket - offset_);
  }
  for (std::size_t i = first; i < sums_.size(); ++i) {
    tail.count += latency_.buckets()[i];
    Accumulate(tail.sum, sums_[i]);
  }
  return tail;
}

Attribution TailProfile::Tail::mean() const {
  Attribution mean;
  if (count == 0) return mean;
  const auto divisor = static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const std::int64_t part = sum.parts[i].count();
    // Down, also below zero.
    mean.parts[i] = Nanos(part / divisor - (part % divisor < 0 ? 1 : 0));
  }
  return mean;
}

}  // namespace leeway::telemetry
