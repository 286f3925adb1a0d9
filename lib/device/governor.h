// The clock that follows power, current and heat: once a period each limiter moves its own clock by
// the distance of what it measures from its limit, and the device runs at the least of them.
//
// x ← a·measured + (1 − a)·x;  e = (limit − x) / limit;  f += 500 MHz · (kp·e + kd·(e − e before)),
// within [min, max]. A limiter with a window measures the moving average over it.
//
// Source: the control law, its constant and its limiters are those of Tenstorrent's Blackhole
// firmware (tt-system-firmware, lib/tenstorrent/bh_arc: throttler.c, aiclk_ppm.c, vf_curve.c).
//
// Threading: one thread at a time. No libm: results are the same everywhere.

#ifndef LEEWAY_DEVICE_GOVERNOR_H_
#define LEEWAY_DEVICE_GOVERNOR_H_

#include <cstdint>
#include <vector>

#include "device/spec.h"

namespace leeway::device {

// Returns the voltage for a clock: the polynomial at `hz`.
double VoltsAt(const Dvfs& dvfs, std::int64_t hz);

class Governor {
 public:
  // `dvfs` outlives the governor, which starts at the full clock.
  explicit Governor(const Dvfs& dvfs);

  // After `periods` in which all measurements were the same.
  void Advance(double watts, double die_celsius, std::int64_t periods = 1);

  // The clock, in whole MHz where that is within [min_hz, max_hz].
  std::int64_t hz() const { return hz_; }
  double volts() const { return volts_; }

 private:
  struct Arbiter {
    double mhz = 0;  // the most that this limiter allows
    double smoothed = 0, error_before = 0;
    bool measured = false;
    std::vector<double> window;  // a ring of the last measurements
    std::size_t oldest = 0;
    double sum = 0;
  };

  double Averaged(Arbiter& arbiter, std::uint32_t window, double value, std::int64_t periods) const;
  void Move(const ClockLimiter& limiter, Arbiter& arbiter, double value,
            std::int64_t periods) const;

  const Dvfs& dvfs_;
  std::vector<Arbiter> arbiters_;  // one a limiter
  std::int64_t hz_;
  double volts_;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_GOVERNOR_H_
