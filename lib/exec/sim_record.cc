#include "exec/sim_record.h"

namespace leeway::exec {

LatencyStats StatsOf(const telemetry::ExponentialHistogram& histogram) {
  LatencyStats stats;
  stats.count = histogram.count();
  if (stats.count == 0) return stats;
  stats.mean = Nanos{histogram.sum() / static_cast<std::int64_t>(stats.count)};
  stats.min = Nanos{histogram.min()};
  stats.max = Nanos{histogram.max()};
  stats.p50 = Nanos{histogram.Quantile(0.50)};
  stats.p90 = Nanos{histogram.Quantile(0.90)};
  stats.p95 = Nanos{histogram.Quantile(0.95)};
  stats.p99 = Nanos{histogram.Quantile(0.99)};
  return stats;
}

double JainIndex(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  if (squares == 0) return 1;
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace leeway::exec
