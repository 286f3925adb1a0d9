// The fixed sample of a loop experiment: some thousand requests stratified over the scored windows,
// at whatever rate is asked for. What an arm's plans can carry is measured on it.
//
// Threading: Sample is immutable; any thread may read.

#ifndef LEEWAY_RETUNE_LOOP_SAMPLE_H_
#define LEEWAY_RETUNE_LOOP_SAMPLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "leeway/status.h"
#include "plan/body.h"
#include "retune/adaptation.h"
#include "retune/replay.h"

namespace leeway::retune {

// The plan that serves each window.
using PlanOfWindow = std::vector<std::shared_ptr<const plan::Body>>;

class Sample {
 public:
  // Takes `size` requests, or all there are, from windows 1 on: as many from each as its share, at
  // random without replacement, in order. Gaps between them are exponential, from `seed` too.
  Sample(const std::vector<ServedWindow>& windows, std::uint64_t size, std::uint64_t seed);

  std::size_t size() const { return requests_.size(); }
  // Requests of window w.
  std::uint64_t of_window(std::size_t w) const { return counts_[w]; }
  // The window of request i.
  std::size_t window_of(std::size_t i) const { return window_[i]; }
  // Windows, the first, which has none, included.
  std::size_t windows() const { return counts_.size(); }

  // Returns the sample at a mean rate in requests a second, served by an arm's plans in their
  // order; without a rate all requests are due at once, at the origin.
  struct Timed {
    LoopRequests requests;
    std::vector<TimedPlan> plans;
  };
  Timed At(double rate_rps, const PlanOfWindow& plans) const;
  Timed AtOnce(const PlanOfWindow& plans) const;

 private:
  LoopRequests requests_;              // untimed
  std::vector<std::size_t> window_;    // by request
  std::vector<std::uint64_t> counts_;  // by window
  std::vector<double> due_;            // by request: sum of unit-mean gaps
};

// Returns the replay's requests a second when all are due at once; 0 if none ended OK.
double ThroughputOf(const ReplayOutcome& outcome);

// The highest rate at which at most one in a hundred requests misses the SLO (p99 within it and
// 99 % OK: MLPerf's Server scenario), in requests a second; and what is known of the sample at the
// rates that were tried, so that its windows can be drawn again.
class Capacity {
 public:
  // Replays that Measure() makes: all at once, then bisections below that throughput.
  static constexpr std::size_t kReplays = 8;

  // Errors of the replay.
  static Result<Capacity> Measure(const Sample& sample, const PlanOfWindow& plans, Nanos slo,
                                  const Replay& replay, const ReplayRequest& base);

  // Nothing if even the lowest rate tried misses the SLO.
  std::optional<double> rate_rps() const;
  // The rate with its interval.
  std::optional<LoopFigure> figure(std::uint64_t seed) const;
  // What `after` carries over what `before` does, less 1; both of one sample. Nothing if either
  // carries nothing; the interval leaves out resamples in which `before` does not. What behaved
  // equally at every rate gains 0 without doubt.
  static std::optional<LoopFigure> Gain(const Capacity& before, const Capacity& after,
                                        std::uint64_t seed);

 private:
  struct Probe {
    double rate_rps = 0;
    std::vector<std::uint64_t> late;  // by scored window, as far as it was served
    bool stopped = false;             // late often enough without the rest
    friend bool operator==(const Probe&, const Probe&) = default;
  };

  Probe ProbeOf(const Sample& sample, double rate_rps, Nanos slo,
                const ReplayOutcome& outcome) const;
  bool Within(const Probe& probe, std::span<const std::uint32_t> draw) const;
  // The rates between which the capacity of a draw lies: the highest that is known to be within the
  // SLO below the first that is known not to be.
  struct Bracket {
    double low = 0, high = 0;
  };
  Bracket Of(std::span<const std::uint32_t> draw) const;

  std::vector<std::uint64_t> held_;  // requests by scored window
  double throughput_rps_ = 0;
  std::vector<Probe> probes_;  // by rate
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_SAMPLE_H_
