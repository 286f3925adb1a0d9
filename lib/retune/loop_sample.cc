#include "retune/loop_sample.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "traffic/draw.h"

namespace leeway::retune {
namespace {

// Returns `count` of `total` indices, rising (Knuth, TAOCP 2, 3.4.2, algorithm S).
std::vector<std::size_t> Choose(std::size_t count, std::size_t total, base::Prng& prng) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < total && chosen.size() < count; ++i) {
    if (prng.Below(total - i) < count - chosen.size()) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

Sample::Sample(const std::vector<ServedWindow>& windows, std::uint64_t size, std::uint64_t seed)
    : counts_(windows.size()) {
  std::vector<std::uint64_t> held;
  std::uint64_t all = 0;
  for (std::size_t w = 1; w < windows.size(); ++w) {
    held.push_back(windows[w].requests.size());
    all += held.back();
  }
  if (all == 0) return;
  const std::vector<std::uint64_t> shares = traffic::Apportion(std::min(size, all), held);
  base::Prng gaps = base::Prng(seed).Fork("loop sample gaps");
  double due = 0;
  for (std::size_t w = 1; w < windows.size(); ++w) {
    base::Prng prng = base::Prng(seed).Fork("loop sample window " + std::to_string(w));
    counts_[w] = shares[w - 1];
    for (std::size_t i : Choose(shares[w - 1], held[w - 1], prng)) {
      requests_.push_back(windows[w].requests[i]);
      window_.push_back(w);
      due_.push_back(due);
      due += gaps.Exponential();
    }
  }
}

Sample::Timed Sample::At(double rate_rps, const PlanOfWindow& plans) const {
  Timed timed;
  const double gap_ns = 1e9 / rate_rps;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    LoopRequest request = requests_[i];
    request.at = Instant(Nanos{base::RoundToInt64(due_[i] * gap_ns).value_or(0)});
    const auto& plan = plans[window_[i]];
    if (timed.plans.empty() || timed.plans.back().plan != plan) {
      timed.plans.push_back({timed.plans.empty() ? Instant() : request.at, plan});
    }
    timed.requests.push_back(request);
  }
  return timed;
}

Sample::Timed Sample::AtOnce(const PlanOfWindow& plans) const {
  // Requests of one instant bind to the plan of their window if that serves from a nanosecond of
  // its own; a few hundred of them are nothing beside a run.
  Timed timed;
  Instant at;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    LoopRequest request = requests_[i];
    const auto& plan = plans[window_[i]];
    if (timed.plans.empty() || timed.plans.back().plan != plan) {
      if (!timed.plans.empty()) at += Nanos{1};
      timed.plans.push_back({at, plan});
    }
    request.at = at;
    timed.requests.push_back(request);
  }
  return timed;
}

double ThroughputOf(const ReplayOutcome& outcome) {
  const auto seconds = static_cast<double>(outcome.summary.makespan.count()) * 1e-9;
  return seconds > 0 ? static_cast<double>(outcome.summary.counts.ok) / seconds : 0;
}

Result<std::optional<double>> CapacityOf(const Sample& sample, const PlanOfWindow& plans, Nanos slo,
                                         const Replay& replay, const ReplayRequest& base) {
  ReplayRequest request = base;
  const Sample::Timed full = sample.AtOnce(plans);
  request.requests = full.requests;
  request.plans = full.plans;
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome at_once, replay(request));
  double low = 0, high = ThroughputOf(at_once);
  if (!(high > 0)) return std::optional<double>();
  // The nearest-rank p99 is within the SLO iff no more than so many are late.
  const auto limit = sample.size() / 100;
  request.late_after = slo;
  request.late_limit = limit;
  for (std::size_t step = 1; step < kCapacityReplays; ++step) {
    const double rate = (low + high) / 2;
    const Sample::Timed timed = sample.At(rate, plans);
    request.requests = timed.requests;
    request.plans = timed.plans;
    LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay(request));
    const auto late =
        static_cast<std::size_t>(std::count_if(outcome.latencies.begin(), outcome.latencies.end(),
                                               [&](Nanos latency) { return latency > slo; }));
    (outcome.stopped || late > limit ? high : low) = rate;
  }
  return low > 0 ? std::optional(low) : std::nullopt;
}

}  // namespace leeway::retune
