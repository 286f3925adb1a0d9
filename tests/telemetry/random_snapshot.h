// Random snapshots that are valid and, of different replicas, merge with one another. Draws are
// sequenced, so that a seed gives the same one with every compiler.
#ifndef LEEWAY_TESTS_TELEMETRY_RANDOM_SNAPSHOT_H_
#define LEEWAY_TESTS_TELEMETRY_RANDOM_SNAPSHOT_H_

#include <string>
#include <vector>

#include "base/prng.h"
#include "telemetry/length_counts.h"
#include "telemetry/snapshot.h"

namespace leeway::telemetry::testing {

inline std::string RandomName(base::Prng& prng, const char* prefix) {
  return prefix + std::to_string(prng.Below(3));
}

inline std::int64_t RandomAmount(base::Prng& prng) {
  return static_cast<std::int64_t>(prng.Next() >> (8 + prng.Below(50)));
}

inline ExponentialHistogram RandomHistogram(base::Prng& prng) {
  ExponentialHistogram histogram(static_cast<int>(prng.Below(9)));
  for (std::uint64_t n = prng.Below(20); n > 0; --n) {
    const std::int64_t value = RandomAmount(prng) >> 20;
    histogram.RecordMany(value, prng.Below(4));
  }
  return histogram;
}

inline std::vector<ReasonCount> RandomReasons(base::Prng& prng) {
  std::vector<ReasonCount> reasons(prng.Below(3));
  for (ReasonCount& reason : reasons) {
    reason = {RandomName(prng, "reason_"), prng.Below(100), Nanos(RandomAmount(prng))};
  }
  return reasons;
}

inline Counters RandomCounters(base::Prng& prng) {
  Counters c;
  for (std::uint64_t* part :
       {&c.ok, &c.rejected, &c.expired, &c.cancelled, &c.failed, &c.in_flight}) {
    c.submitted += * part = prng.Below(1000);
  }
  c.fallback = prng.Below(100);
  c.steps = prng.Next() >> 8;
  c.steals = prng.Below(100);
  c.stray_completions = prng.Below(3);
  c.events_dropped = prng.Below(3);
  c.attribution_missing = prng.Below(3);
  c.runs = prng.Below(1000);
  c.affinity_holds = prng.Below(50);
  c.rejected_by = RandomReasons(prng);
  c.fallback_by = RandomReasons(prng);
  return c;
}

inline StreamTelemetry RandomStream(base::Prng& prng) {
  StreamTelemetry stream;
  stream.name = RandomName(prng, "stream \xE2\x82\xAC");
  stream.priority_level = static_cast<std::uint32_t>(prng.Below(3));
  stream.counters = RandomCounters(prng);
  stream.latency_ns = RandomHistogram(prng);
  stream.queue_wait_ns = RandomHistogram(prng);
  for (Nanos& part : stream.attribution.parts) part = Nanos(RandomAmount(prng));
  stream.attribution[Cause::kUnexplained] = -Nanos(RandomAmount(prng));
  return stream;
}

inline LengthWindow RandomWindow(base::Prng& prng) {
  LengthWindow window{RandomName(prng, "entry_"), RandomName(prng, "dim_"), "chat", 0, 0, {}};
  window.start_ns = static_cast<std::int64_t>(prng.Below(2)) * 100 - 100;
  window.end_ns = window.start_ns + 100;
  LengthCounts counts({std::int64_t{1} << prng.Below(3), 30});
  for (std::uint64_t n = prng.Below(60); n > 0; --n) {
    const std::int64_t length = RandomAmount(prng) >> prng.Below(50);
    counts.Add(length, prng.Below(9));
  }
  window.counts = counts.Counts();
  return window;
}

inline Snapshot RandomSnapshot(base::Prng& prng, const std::string& replica) {
  Snapshot s;
  const auto start = static_cast<std::int64_t>(prng.Below(3));
  s.ranges.push_back({replica, start, 5, 5 + prng.Below(10)});
  if (prng.Below(2) == 0) s.ranges.push_back({replica, start, 16 + prng.Below(4), 30});
  s.origin = Origin::kMeasured;
  s.plan_digest = std::string(32, 'p');
  for (std::uint64_t n = prng.Below(4); n > 0; --n) s.streams.push_back(RandomStream(prng));
  for (std::uint64_t n = prng.Below(4); n > 0; --n) {
    s.cores.push_back({RandomName(prng, "core_"), Nanos(RandomAmount(prng)), prng.Below(99),
                       RandomAmount(prng), RandomAmount(prng), prng.Below(99), prng.Below(99),
                       prng.Below(99), RandomAmount(prng)});
  }
  for (std::uint64_t n = prng.Below(6); n > 0; --n) s.lengths.push_back(RandomWindow(prng));
  for (std::uint64_t n = prng.Below(6); n > 0; --n) {
    s.groups.push_back({RandomName(prng, "entry_"), RandomName(prng, "variant_"), "ffn",
                        prng.Below(99), Nanos(RandomAmount(prng)), Nanos(RandomAmount(prng)),
                        -Nanos(RandomAmount(prng))});
  }
  s.counters = RandomCounters(prng);
  return s;
}

}  // namespace leeway::telemetry::testing

#endif  // LEEWAY_TESTS_TELEMETRY_RANDOM_SNAPSHOT_H_
