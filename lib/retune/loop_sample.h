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

// Replays that CapacityOf() makes.
inline constexpr std::size_t kCapacityReplays = 8;

// Returns the highest rate at which at most one in a hundred requests misses the SLO (p99 within
// it and 99 % OK: MLPerf's Server scenario), in requests a second, by bisections below the
// throughput; nothing if even the lowest tried misses it. Errors of the replay.
Result<std::optional<double>> CapacityOf(const Sample& sample, const PlanOfWindow& plans, Nanos slo,
                                         const Replay& replay, const ReplayRequest& base);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_SAMPLE_H_
