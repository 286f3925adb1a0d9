#include "retune/mapping_accuracy.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "retune/block_bootstrap.h"

namespace leeway::retune {
namespace {

using telemetry::ExecutedSteps;

// Factors are asked for once per kind, not once per row.
class StepTimes {
 public:
  explicit StepTimes(const device::Reality* reality) : reality_(reality) {}

  // Returns c, in nanoseconds.
  double Of(const ExecutedSteps& steps) {
    const auto launch = static_cast<double>(steps.launch.count());
    const auto modelled = static_cast<double>(steps.modelled.count());
    if (reality_ == nullptr) return modelled;
    std::int64_t& factor = factors_[{steps.op_key, steps.size_quarter}];
    if (factor == 0) factor = reality_->Factor(steps.op_key, steps.size_quarter);
    return launch + (modelled - launch) * static_cast<double>(factor) /
                        static_cast<double>(device::Reality::kOne);
  }

 private:
  const device::Reality* reality_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::int64_t> factors_;
};

// |ln(c/ĉ)| ≤ ln(1 + τ), without a logarithm.
bool Within(double c, double planned, double tolerance) {
  return c <= planned * (1 + tolerance) && planned <= c * (1 + tolerance);
}

// Core time and steps by the first check that failed.
struct Sums {
  double time = 0, steps = 0;
  double accurate = 0, accurate_steps = 0, within_10 = 0, within_25 = 0;
  double envelope = 0, variant = 0, placement = 0, cost = 0;
  double planned = 0, absolute = 0, difference = 0;

  void Add(const ExecutedSteps& kind, double c) {
    const auto planned_time = static_cast<double>(kind.planned.count());
    const auto count = static_cast<double>(kind.steps);
    const auto displaced = static_cast<double>(kind.displaced);
    time += count * c;
    steps += count;
    planned += count * planned_time;
    absolute += count * std::abs(c - planned_time);
    difference += count * (c - planned_time);
    if (kind.fallback) {
      envelope += count * c;
      return;
    }
    if (kind.rebound) {
      variant += count * c;
      return;
    }
    placement += displaced * c;
    const double mapped = (count - displaced) * c;
    if (Within(c, planned_time, kAccuracyTolerance)) {
      accurate += mapped;
      accurate_steps += count - displaced;
    } else {
      cost += mapped;
    }
    if (Within(c, planned_time, 0.10)) within_10 += mapped;
    if (Within(c, planned_time, 0.25)) within_25 += mapped;
  }
};

}  // namespace

std::optional<MappingAccuracy> AccuracyOf(std::span<const ExecutedSteps> executed,
                                          const device::Reality* reality) {
  StepTimes times(reality);
  Sums sums;
  for (const ExecutedSteps& kind : executed) sums.Add(kind, times.Of(kind));
  if (!(sums.time > 0)) return std::nullopt;
  MappingAccuracy result;
  result.accuracy = sums.accurate / sums.time;
  result.lost_envelope = sums.envelope / sums.time;
  result.lost_variant = sums.variant / sums.time;
  result.lost_placement = sums.placement / sums.time;
  result.lost_cost = sums.cost / sums.time;
  result.accuracy_by_steps = sums.accurate_steps / sums.steps;
  result.accuracy_10 = sums.within_10 / sums.time;
  result.accuracy_25 = sums.within_25 / sums.time;
  result.cost_error = sums.absolute / sums.time;
  result.bias = sums.planned > 0 ? sums.difference / sums.planned : 0;
  return result;
}

std::optional<std::pair<double, double>> AccuracyInterval(std::span<const ExecutedSteps> executed,
                                                          const device::Reality* reality,
                                                          std::size_t windows, std::uint64_t seed) {
  StepTimes times(reality);
  std::vector<Sums> sums(windows);
  for (const ExecutedSteps& kind : executed) sums.at(kind.window).Add(kind, times.Of(kind));
  const auto interval =
      BootstrapInterval(windows, seed, [&](const Multiplicities& draw) -> std::optional<double> {
        double accurate = 0, time = 0;
        for (std::size_t w = 0; w < windows; ++w) {
          accurate += draw[w] * sums[w].accurate;
          time += draw[w] * sums[w].time;
        }
        return time > 0 ? std::optional(accurate / time) : std::nullopt;
      });
  if (!interval) return std::nullopt;
  return std::pair(interval->low, interval->high);
}

std::optional<std::pair<double, double>> AccuracyRange(std::span<const ExecutedSteps> executed,
                                                       const device::RealityNoise& noise,
                                                       int seeds) {
  std::optional<std::pair<double, double>> range;
  for (int i = 0; i < seeds; ++i) {
    device::RealityNoise other = noise;
    other.seed += static_cast<std::uint64_t>(i);
    const device::Reality reality(other);
    const std::optional<MappingAccuracy> result = AccuracyOf(executed, &reality);
    if (!result) return std::nullopt;
    if (!range) range.emplace(result->accuracy, result->accuracy);
    range->first = std::min(range->first, result->accuracy);
    range->second = std::max(range->second, result->accuracy);
  }
  return range;
}

double FallbackTime(std::span<const ExecutedSteps> executed, const device::Reality* reality) {
  StepTimes times(reality);
  double all = 0, fallback = 0;
  for (const ExecutedSteps& kind : executed) {
    const double time = static_cast<double>(kind.steps) * times.Of(kind);
    all += time;
    if (kind.fallback) fallback += time;
  }
  return all > 0 ? fallback / all : 0;
}

}  // namespace leeway::retune
