#include "device/governor.h"

#include <algorithm>

#include "base/math.h"

namespace leeway::device {
namespace {

constexpr double kGainMhz = 500;
constexpr std::int64_t kMhz = 1'000'000;

double Mhz(std::int64_t hz) { return static_cast<double>(hz) / kMhz; }

}  // namespace

double VoltsAt(const Dvfs& dvfs, std::int64_t hz) {
  double volts = 0;
  for (std::size_t i = dvfs.volts_by_mhz.size(); i-- > 0;) {
    volts = volts * Mhz(hz) + dvfs.volts_by_mhz[i];
  }
  return volts;
}

Governor::Governor(const Dvfs& dvfs)
    : dvfs_(dvfs),
      arbiters_(dvfs.limiters.size()),
      hz_(dvfs.max_hz),
      volts_(VoltsAt(dvfs, dvfs.max_hz)) {
  for (Arbiter& arbiter : arbiters_) arbiter.mhz = Mhz(dvfs.max_hz);
}

// Sums of a ring drift by rounding: each time it comes round, the sum is taken anew.
double Governor::Averaged(Arbiter& arbiter, std::uint32_t window, double value,
                          std::int64_t periods) const {
  if (window <= 1) return value;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(periods, window); ++i) {
    if (arbiter.window.size() < window) {
      arbiter.window.push_back(value);
      arbiter.sum += value;
      continue;
    }
    arbiter.sum += value - arbiter.window[arbiter.oldest];
    arbiter.window[arbiter.oldest] = value;
    arbiter.oldest = (arbiter.oldest + 1) % window;
    if (arbiter.oldest != 0) continue;
    arbiter.sum = 0;
    for (const double x : arbiter.window) arbiter.sum += x;
  }
  return arbiter.sum / static_cast<double>(arbiter.window.size());
}

void Governor::Move(const ClockLimiter& limiter, Arbiter& arbiter, double value,
                    std::int64_t periods) const {
  const double average = Averaged(arbiter, limiter.window, value, periods);
  // Smoothing over many equal periods has done its work.
  const double weight = arbiter.measured && periods == 1 ? limiter.smoothing : 1;
  arbiter.smoothed = weight * average + (1 - weight) * arbiter.smoothed;
  const double error = (limiter.limit - arbiter.smoothed) / limiter.limit;
  const double before = arbiter.measured ? arbiter.error_before : error;
  const double proportional = limiter.proportional * error * static_cast<double>(periods);
  arbiter.mhz += kGainMhz * (proportional + limiter.derivative * (error - before));
  arbiter.mhz = std::clamp(arbiter.mhz, Mhz(dvfs_.min_hz), Mhz(dvfs_.max_hz));
  arbiter.error_before = error;
  arbiter.measured = true;
}

void Governor::Advance(double watts, double die_celsius, std::int64_t periods) {
  double least = Mhz(dvfs_.max_hz);
  for (std::size_t i = 0; i < arbiters_.size(); ++i) {
    const ClockLimiter& limiter = dvfs_.limiters[i];
    double value = watts;
    if (limiter.measure == ClockLimiter::Measure::kCurrent) value = watts / volts_;
    if (limiter.measure == ClockLimiter::Measure::kDieTemperature) value = die_celsius;
    Move(limiter, arbiters_[i], value, periods);
    least = std::min(least, arbiters_[i].mhz);
  }
  const auto whole = static_cast<std::int64_t>(least) * kMhz;
  hz_ = std::clamp(whole, dvfs_.min_hz, dvfs_.max_hz);
  if (least >= Mhz(dvfs_.max_hz)) hz_ = dvfs_.max_hz;
  volts_ = VoltsAt(dvfs_, hz_);
}

}  // namespace leeway::device
