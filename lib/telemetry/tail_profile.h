// Latencies of one stream with their attribution, by latency bucket: percentiles, and the mean
// parts of the requests at and above one. Memory does not depend on the number of requests.

#ifndef LEEWAY_TELEMETRY_TAIL_PROFILE_H_
#define LEEWAY_TELEMETRY_TAIL_PROFILE_H_

#include <cstdint>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/time.h"
#include "telemetry/exponential_histogram.h"

namespace leeway::telemetry {

class TailProfile {
 public:
  // Requires latency >= 0 and parts.total() == latency. Sums saturate.
  void Record(Nanos latency, const Attribution& parts);
  void Merge(const TailProfile& other);

  const ExponentialHistogram& latency() const { return latency_; }
  // Sum of the parts over all requests.
  const Attribution& total() const { return total_; }

  struct Tail {
    std::uint64_t count = 0;
    Attribution sum;
    // Mean parts, each rounded down; zero if the tail is empty.
    Attribution mean() const;
  };
  // The requests whose latency bucket is that of the q-quantile or above.
  Tail TailFrom(double q) const;

 private:
  // Makes one sum for each bucket of latency_.
  void AlignWithLatency();

  ExponentialHistogram latency_;
  Attribution total_;
  // Sums by bucket, aligned with latency_.buckets(), and of the zeros.
  std::int32_t offset_ = 0;
  std::vector<Attribution> sums_;
  Attribution zero_sum_;
};

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_TAIL_PROFILE_H_
