// What a device draws, how warm it gets and which clock that leaves it: advanced once a period by
// the energy spent in it.
//
// Energy is counted in whole picojoules: that of the steps as they spend it, and static power and
// leakage by the period. The power of a period is its energy over its length, so that the energy is
// the integral of the power exactly. Leakage follows the temperature and the voltage at the
// beginning of a period.
//
// Threading: one thread at a time.

#ifndef LEEWAY_DEVICE_POWER_LOOP_H_
#define LEEWAY_DEVICE_POWER_LOOP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/numeric/int128.h"
#include "device/clocked_step.h"
#include "device/governor.h"
#include "device/spec.h"
#include "device/thermal.h"
#include "leeway/time.h"

namespace leeway::device {

class PowerLoop {
 public:
  // Beyond this no die works: what gets there has run away.
  static constexpr double kRunawayCelsius = 400;

  // `spec` outlives the loop. It starts at the full clock, as warm as idleness keeps it.
  explicit PowerLoop(const Spec& spec);

  // Counts what a step spends in this period: on the core, at nominal voltage, and on transfers.
  // Returns what that is at today's voltage. Requires neither to be negative.
  std::int64_t Spend(std::int64_t core_pj, std::int64_t transfer_pj);

  // Ends the period. Returns whether the clock has changed.
  bool EndPeriod();
  // Passes over `periods` in which nothing is spent.
  void Rest(std::int64_t periods);

  // The end of the last period.
  Instant now() const { return now_; }
  Nanos period() const { return spec_.power.period; }

  ClockShare clock() const { return clock_; }
  double volts() const { return governor_ ? governor_->volts() : 0; }
  // The ambient's where heat is not modelled.
  double die_celsius() const;
  // Of the last period, steps included.
  double watts() const { return watts_; }

  // Static power and leakage from the origin to `at`, beyond now() at the last period's.
  absl::int128 BackgroundPj(Instant at) const;

  struct Summary {
    double max_celsius = 0, max_watts = 0;
    ClockShare min_clock = kNominalClock;
    Nanos throttled{0};  // time below the nominal clock
  };
  const Summary& summary() const { return summary_; }

  // Whether the die has run away.
  bool ran_away() const { return ran_away_; }

 private:
  std::int64_t BackgroundOf(std::int64_t periods) const;
  void Pass(std::int64_t periods, const ThermalStep* step);

  const Spec& spec_;
  std::optional<Governor> governor_;
  std::vector<ThermalStep> steps_;  // of 2ⁱ periods each; empty without heat
  Temperatures above_ambient_{};
  double nominal_volts_ = 0;
  Instant now_;
  ClockShare clock_ = kNominalClock;
  std::int64_t squared_volts_ = kNominalClock;  // relative to nominal, in parts of 2²⁰
  absl::int128 spent_pj_ = 0;
  absl::int128 background_pj_ = 0;
  std::int64_t background_a_period_ = 0;
  double watts_ = 0;
  Summary summary_;
  bool ran_away_ = false;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_POWER_LOOP_H_
