// Renders a snapshot in Prometheus' text format 0.0.4. Alerts are written against these names: they
// do not change.
//
// Units:   base units; times are exact decimals of seconds.
// Buckets: the classic histograms have fixed edges at powers of two of a nanosecond, from 2^10
//          (1 µs) to 2^36 (69 s). Every scale of the exponential histogram has bounds there, so
//          that cumulative counts are exact.
// Output:  equal inputs give equal bytes. A family without samples is left out.

#ifndef LEEWAY_TELEMETRY_PROMETHEUS_H_
#define LEEWAY_TELEMETRY_PROMETHEUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/snapshot.h"

namespace leeway::telemetry {

inline constexpr int kFirstBucketExponent = 10;
inline constexpr int kLastBucketExponent = 36;

// What a snapshot does not carry.
struct PrometheusContext {
  struct Regret {
    std::string stream;
    double ratio = 0;
  };
  struct Compiles {
    std::string outcome;
    std::uint64_t count = 0;
  };

  std::string model;
  // Of the rollout, e.g. "stable".
  std::string channel;
  std::string version;
  std::string commit;
  std::optional<double> mapping_accuracy;
  // At most one a stream.
  std::vector<Regret> drift_regret;
  // At most one an outcome.
  std::vector<Compiles> plan_compiles;
};

// Requires a canonical snapshot with names in UTF-8, as Snapshot::Parse() and Merge() give it.
std::string RenderPrometheus(const Snapshot& snapshot, const PrometheusContext& context);

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_PROMETHEUS_H_
