// What a simulation found.
//
// Threading: immutable; any thread may read. Copies share one body.
// Percentiles come from exponential histograms of scale 8: at most 0.27 % above the exact ones.

#ifndef LEEWAY_SIM_RESULT_H_
#define LEEWAY_SIM_RESULT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/time.h"
#include "leeway/types.h"

namespace leeway {

namespace exec {
struct SimRecord;
}  // namespace exec

inline namespace v0 {

class Recording;

struct LatencyStats {
  std::uint64_t count = 0;
  Nanos mean{0}, min{0}, p50{0}, p90{0}, p95{0}, p99{0}, max{0};
};

// submitted = ok + rejected + expired + cancelled + failed + in_flight, each counted by itself.
struct Counts {
  std::uint64_t submitted = 0, ok = 0, rejected = 0, expired = 0, cancelled = 0, failed = 0,
                in_flight = 0;
  // Of the submitted: bound to no variant; dims outside the domain (only in the total).
  std::uint64_t fallback = 0, clamped = 0;
  // Of the rejected, by reason: the queue is full; no variant covers the request and the fallback
  // is REJECT; it is predicted to miss the SLO.
  std::uint64_t rejected_queue_full = 0, rejected_no_variant = 0, rejected_deadline = 0;
  // OK and within the SLO; equals ok where there is none.
  std::uint64_t within_slo = 0;
};

struct StreamSummary {
  std::string name;
  int priority_level = 1;
  Counts counts;
  LatencyStats latency, queue_wait;
  // Core time that the stream's OK requests used, shared by a batch's members.
  Nanos core_time{0};
  double slo_attainment = 0;  // within_slo / submitted
};

// Of steps whose weights stay on cores between runs: weights that were in place, that were not and
// were fetched, and that made room for others. A weight counts once a step.
struct WeightUse {
  std::uint64_t hits = 0, misses = 0, evictions = 0;
  std::int64_t fetched_bytes = 0;
};

struct CoreSummary {
  std::string name;
  Nanos busy{0};
  std::uint64_t steps = 0;
  std::int64_t dram_bytes = 0;
  std::optional<WeightUse> weights;  // nothing where no step used such weights
};

// Of a device whose description states a thermal ladder or a clock loop, by its control period.
struct HeatSummary {
  double max_celsius = 0;  // of the die; 0 where heat is not modelled
  double max_watts = 0;
  double min_clock = 1;  // least clock, as a part of the nominal one
  Nanos throttled{0};    // time below the nominal clock
};

struct SimSummary {
  Counts counts;
  LatencyStats latency, queue_wait;
  std::vector<StreamSummary> streams;
  std::vector<CoreSummary> cores;
  // Processors of the host, beside the cores and in no figure of theirs; none without HOST work.
  std::vector<CoreSummary> hosts;
  std::uint64_t runs = 0, steps = 0, steals = 0, stray_completions = 0;
  // Steps launched while a more urgent one was held for a busy core that finishes it sooner.
  std::uint64_t holds = 0;
  // OK requests whose parts could not be told.
  std::uint64_t attribution_missing = 0;
  // From the trace's origin to the last completion.
  Nanos makespan{0};
  // Σ over submitted requests of predicted core time at their bucket, alone, batch of one, launches
  // per step included and per run excluded; the fallback at phi.
  Nanos work{0};
  double fallback_rate = 0;  // fallback / submitted
  double padding_waste = 0;  // 1 − Σ f(actual dims) / Σ f(bucket), in core time
  double goodput_rps = 0;    // within_slo per second of makespan
  double slo_attainment = 0;
  double energy_j = 0;
  std::string energy_origin;                        // how far it is modelled; empty: it is not
  std::optional<HeatSummary> heat;                  // nothing where it is not modelled
  double fairness_streams = 0, fairness_cores = 0;  // Jain's index over mean slowdown, busy time
  // What was assumed on the way, e.g. which dim of the traffic feeds which of the plan.
  std::vector<std::string> notes;
};

// Mean attribution of a set of requests.
class MeanAttribution {
 public:
  MeanAttribution(std::uint64_t count, Attribution mean) : count_(count), mean_(mean) {}
  std::uint64_t count() const { return count_; }
  Nanos part(Cause cause) const { return mean_.part(cause); }
  const Attribution& parts() const { return mean_; }

 private:
  std::uint64_t count_;
  Attribution mean_;
};

class SimResult {
 public:
  const SimSummary& summary() const;
  std::uint64_t steps() const { return summary().steps; }
  Nanos makespan() const { return summary().makespan; }
  // Latency of a stream's OK requests; of none if there is no such stream.
  LatencyStats latency(std::string_view stream) const;
  // Mean parts of the requests at and above the q-quantile of latency, of all streams or of one.
  // Each part is rounded down; MeanAttribution of 0 is that of all requests.
  MeanAttribution tail_mean(double q) const;
  MeanAttribution tail_mean(double q, std::string_view stream) const;
  // A serialized leeway.telemetry snapshot, and its SHA-256 in hexadecimal.
  const std::string& telemetry() const;
  const std::string& telemetry_digest() const;
  // The arrivals that were served, for a replay (leeway/recording.h).
  const Recording& recording() const;

  // For the library's own modules.
  SimResult(std::shared_ptr<const exec::SimRecord> record,
            std::shared_ptr<const Recording> recording)
      : record_(std::move(record)), recording_(std::move(recording)) {}

 private:
  std::shared_ptr<const exec::SimRecord> record_;
  std::shared_ptr<const Recording> recording_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_SIM_RESULT_H_
