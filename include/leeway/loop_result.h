// What the closed loop found: compile-time mapping accuracy against runtime adaptation gain.
//
// Threading: values; LoopResult is immutable and its copies share one body.
// Units:     ratios are fractions; a gain is positive where it is better. A figure that cannot be
//            told is absent, and `notes` or the field's own verdict say why.

#ifndef LEEWAY_LOOP_RESULT_H_
#define LEEWAY_LOOP_RESULT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/plan.h"
#include "leeway/time.h"

namespace leeway {

namespace retune {
struct LoopRecord;
}  // namespace retune

inline namespace v0 {

// A figure with its 95 % interval by paired moving-block bootstrap over windows.
struct LoopFigure {
  double value = 0;
  std::optional<std::pair<double, double>> interval;
};

// Share of core time that ran as the plan mapped it and as long as it predicted, and by which check
// the rest failed first. Time is without contention. The five shares sum to 1.
struct MappingAccuracy {
  double accuracy = 0;  // within 15 % of the prediction
  double lost_envelope = 0, lost_variant = 0, lost_placement = 0, lost_cost = 0;
  // The same by number of steps, and at tolerances of 10 % and 25 %.
  double accuracy_by_steps = 0, accuracy_10 = 0, accuracy_25 = 0;
  // Σ|c − ĉ|/Σc, and Σ(c − ĉ)/Σĉ.
  double cost_error = 0, bias = 0;
  // Of `accuracy`: its 95 % interval by moving-block bootstrap over windows.
  std::optional<std::pair<double, double>> interval;
  // Least and most accuracy over the noise seeds.
  std::optional<std::pair<double, double>> over_seeds;
};

// What the requests at and above a percentile spent their latency on, in the mean.
struct LoopTail {
  double percentile = 0;  // 0: all requests
  std::uint64_t requests = 0;
  Attribution mean;
};

// One way to serve the scored windows; all on the same arrivals.
struct LoopArm {
  std::string name;  // "frozen", "adapted", "clairvoyant"
  // Σ over submitted requests of the modelled core time at the smallest bucket that covers them.
  Nanos work{0};
  // Exact percentiles over windows that no arm was overloaded in.
  Nanos p50{0}, p95{0}, p99{0}, mean{0};
  std::uint64_t submitted = 0, ok = 0;
  double goodput_rps = 0;  // OK within the SLO, per second of device time
  // Highest rate with p99 within the SLO and 99 % OK on the fixed sample; absent if none is. The
  // interval draws the sample's windows again and is wide enough for what lies between two probed
  // rates; from 0: with some windows drawn more often, none that was probed would do.
  std::optional<LoopFigure> capacity_rps;
  double slo_attainment = 0;
  std::optional<MappingAccuracy> accuracy;
  // Share of requests, and of core time, that no variant covered.
  double fallback_rate = 0, fallback_time = 0;
  double padding_waste = 0;
  double energy_j = 0;
  std::uint64_t runs = 0, steps = 0;
  std::vector<LoopTail> tails;  // of all, from p95, from p99; empty where it was not attributed
  std::string telemetry_digest;
};

struct LoopGain {
  LoopFigure work;
  // Absent where no request outside overloaded windows ended OK in both arms.
  std::optional<LoopFigure> p50, p95, p99;
  std::optional<LoopFigure> capacity;
  // Share of the clairvoyant's gain in work; absent where there is no headroom. `captured_cf`
  // compares with the cross-fitted clairvoyant, of which nothing is claimed.
  std::optional<LoopFigure> captured, captured_cf;
  // Captured by a library of early plans (every third of the first two dozen windows) that is only
  // switched in.
  std::optional<double> captured_by_switching;
  // Captured by the reference policy, which compiles whenever the last window's optimum, blended
  // with a day's average, beats the serving plan by tau; and how often it compiled.
  std::optional<double> captured_by_reference;
  std::uint64_t reference_compiles = 0;
};

struct LoopHeadroom {
  LoopFigure gain;  // work of frozen / of the cross-fitted clairvoyant − 1
  enum class Verdict { kPresent, kNone, kInsufficient } verdict = Verdict::kInsufficient;
};

// A change of plan at a bound between windows.
struct LoopAction {
  enum class Kind { kCompile, kSwitch } kind = Kind::kCompile;
  std::uint64_t window = 0;  // the first window that it serves
  Instant at;                // of trace time
  std::size_t plan = 0;      // number in the library; 0 is the first window's
  std::vector<std::int64_t> edges;
  // On the window just closed: work of the plan before / of the plan after − 1. Observed: the same
  // on the windows that it then served.
  double expected_gain = 0, observed_gain = 0;
};

struct LoopWindow {
  Instant from, to;            // of trace time
  std::uint64_t requests = 0;  // 0 for the first, which is compiled for and not served
  // Offered load under the frozen plan: arrival rate / throughput.
  double load = 0;
  bool overloaded = false;
  Nanos frozen_work{0}, adapted_work{0}, clairvoyant_work{0}, cross_fitted_work{0};
  Nanos frozen_p99{0}, adapted_p99{0};
  std::optional<double> frozen_accuracy, adapted_accuracy;
  std::size_t plan = 0;              // that serves it when adapted
  std::int64_t median = 0, p95 = 0;  // lengths
};

// A variant's bucket, and what came into it.
struct LoopBucket {
  std::int64_t edge = 0;
  double planned = 0;   // share of the first window's requests
  double observed = 0;  // share of the scored windows'
};

struct LoopSweepPoint {
  double load = 0;
  double rate_rps = 0;
  Nanos frozen_p99{0}, adapted_p99{0}, clairvoyant_p99{0};
};

// Batches of one bucket against batches in order of arrival, by the adapted plans on the fixed
// sample.
struct LoopFormation {
  std::string name;      // "by bucket", "first come"
  Nanos p50{0}, p99{0};  // at the load
  // With all requests due at once, so that batches fill.
  double throughput_rps = 0;
  // 1 − Σ f(own length) / Σ f(length its batch ran at), of the requests that ran in a variant.
  double padding_share = 0;
  std::uint64_t fallbacks = 0;  // the others, each alone and unpadded
  std::uint64_t runs = 0;
};

struct LoopDigests {
  std::string model, device, traffic, frozen_plan, adapted_plan;
};

struct LoopSummary {
  std::string model, device, traffic, dim;
  std::uint64_t seed = 0;
  std::uint64_t requests = 0;         // drawn or read
  std::uint64_t scored_requests = 0;  // served by each arm
  Nanos window{0}, span{0}, compile_time{0};
  std::string rate;  // "flat" or "recorded"
  double load = 0, phi = 0, time_compression = 0, clamped_rate = 0;
  // What the fallback was measured to take, alone on the served device, relative to fused runs.
  // Work is counted at phi.
  double fallback_stretch = 0;
  int variants = 0;
  Nanos slo{0};
  std::string reality;  // "noise, seed 0" or "exact"
  std::uint64_t overloaded_windows = 0;
  LoopHeadroom headroom;
  LoopArm frozen, adapted, clairvoyant;
  LoopGain gain;
  std::uint64_t compiles = 0, switches = 0;
  double worst_window = 0;  // the largest adapted work / frozen work − 1 of a window
  double harmed_share = 0;  // windows worse by more than 1 %
  std::vector<LoopAction> actions;
  std::vector<LoopWindow> windows;
  std::vector<LoopBucket> frozen_buckets;
  std::vector<LoopSweepPoint> sweep;
  std::vector<LoopFormation> formation;
  std::vector<std::string> contradictions, notes;
  LoopDigests digests;
};

class LoopResult {
 public:
  const LoopSummary& summary() const;
  // The plan of the first window, and the one that served the last when adapted.
  Plan frozen_plan() const;
  Plan adapted_plan() const;
  // Serialized leeway.telemetry snapshots of what the two arms served.
  const std::string& frozen_telemetry() const;
  const std::string& adapted_telemetry() const;

  // The closed-loop mapping report. Equal results give equal bytes.
  std::string ToMarkdown() const;
  std::string ToJson() const;  // schema leeway.loop.v1

  // For the library's own modules.
  explicit LoopResult(std::shared_ptr<const retune::LoopRecord> record)
      : record_(std::move(record)) {}

 private:
  std::shared_ptr<const retune::LoopRecord> record_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_LOOP_RESULT_H_
