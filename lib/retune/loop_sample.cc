#include "retune/loop_sample.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "retune/block_bootstrap.h"
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

Capacity::Probe Capacity::ProbeOf(const Sample& sample, double rate_rps, Nanos slo,
                                  const ReplayOutcome& outcome) const {
  Probe probe{rate_rps, std::vector<std::uint64_t>(held_.size()), outcome.stopped};
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Nanos latency = outcome.latencies[i];
    // Of a replay that stopped it is not known how requests without a latency would have ended.
    const bool late = latency > slo && !(outcome.stopped && latency == Nanos::max());
    if (late) ++probe.late[sample.window_of(i) - 1];
  }
  return probe;
}

bool Capacity::Within(const Probe& probe, std::span<const std::uint32_t> draw) const {
  std::uint64_t late = 0, held = 0;
  for (std::size_t w = 0; w < held_.size(); ++w) {
    late += draw[w] * probe.late[w];
    held += draw[w] * held_[w];
  }
  // The nearest-rank p99 is within the SLO iff no more than so many are late.
  return late <= held / 100;
}

Capacity::Bracket Capacity::Of(std::span<const std::uint32_t> draw) const {
  Bracket bracket{0, throughput_rps_};
  for (const Probe& probe : probes_) {
    if (!Within(probe, draw)) {
      bracket.high = probe.rate_rps;
      break;
    }
    if (!probe.stopped) bracket.low = probe.rate_rps;
  }
  return bracket;
}

Result<Capacity> Capacity::Measure(const Sample& sample, const PlanOfWindow& plans, Nanos slo,
                                   const Replay& replay, const ReplayRequest& base) {
  Capacity capacity;
  for (std::size_t w = 1; w < sample.windows(); ++w) {
    capacity.held_.push_back(sample.of_window(w));
  }
  ReplayRequest request = base;
  const Sample::Timed full = sample.AtOnce(plans);
  request.requests = full.requests;
  request.plans = full.plans;
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome at_once, replay(request));
  capacity.throughput_rps_ = ThroughputOf(at_once);
  double low = 0, high = capacity.throughput_rps_;
  if (!(high > 0)) return capacity;
  const Multiplicities once(capacity.held_.size(), 1);
  // A replay goes on for a while after it has failed: how clearly it does is asked for when its
  // windows are drawn again.
  constexpr std::uint64_t kClear = 3;
  request.late_after = slo;
  request.late_limit = kClear * (sample.size() / 100);
  for (std::size_t step = 1; step < kReplays; ++step) {
    const double rate = (low + high) / 2;
    const Sample::Timed timed = sample.At(rate, plans);
    request.requests = timed.requests;
    request.plans = timed.plans;
    LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, replay(request));
    capacity.probes_.push_back(capacity.ProbeOf(sample, rate, slo, outcome));
    const bool within = !outcome.stopped && capacity.Within(capacity.probes_.back(), once);
    (within ? low : high) = rate;
  }
  std::sort(capacity.probes_.begin(), capacity.probes_.end(),
            [](const Probe& a, const Probe& b) { return a.rate_rps < b.rate_rps; });
  return capacity;
}

std::optional<double> Capacity::rate_rps() const {
  const double low = Of(Multiplicities(held_.size(), 1)).low;
  return low > 0 ? std::optional(low) : std::nullopt;
}

std::optional<LoopFigure> Capacity::figure(std::uint64_t seed) const {
  const std::optional<double> rate = rate_rps();
  if (!rate) return std::nullopt;
  LoopFigure figure{*rate, std::nullopt};
  const auto low =
      BootstrapInterval(held_.size(), seed, [&](const auto& draw) { return Of(draw).low; });
  const auto high =
      BootstrapInterval(held_.size(), seed, [&](const auto& draw) { return Of(draw).high; });
  if (low && high) figure.interval.emplace(low->low, high->high);
  return figure;
}

std::optional<LoopFigure> Capacity::Gain(const Capacity& before, const Capacity& after,
                                         std::uint64_t seed) {
  const std::optional<double> from = before.rate_rps(), to = after.rate_rps();
  if (!from || !to) return std::nullopt;
  // Equal plans on equal requests: there is nothing to doubt.
  if (before.probes_ == after.probes_) return LoopFigure{0, std::pair(0.0, 0.0)};
  LoopFigure gain{*to / *from - 1, std::nullopt};
  const std::size_t windows = before.held_.size();
  // Where `before` carries nothing there is nothing to compare with.
  auto end = [&](double Bracket::*of_after, double Bracket::*of_before) {
    return BootstrapInterval(windows, seed,
                             [&](const Multiplicities& draw) -> std::optional<double> {
                               const Bracket from = before.Of(draw);
                               if (!(from.low > 0)) return std::nullopt;
                               return after.Of(draw).*of_after / from.*of_before - 1;
                             });
  };
  const auto low = end(&Bracket::low, &Bracket::high);
  const auto high = end(&Bracket::high, &Bracket::low);
  if (low && high) gain.interval.emplace(low->low, high->high);
  return gain;
}

}  // namespace leeway::retune
