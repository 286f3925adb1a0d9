#include "device/power_loop.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/math.h"

namespace leeway::device {
namespace {

// Idleness is passed over in strides of up to 2¹⁰ periods: a second, where sinks take 20.
constexpr std::size_t kStrides = 11;
// The first of them one by one, while clock and temperature still move.
constexpr std::int64_t kSingly = 64;

std::int64_t PicoJoules(double watts, Nanos length) {
  // A watt is a thousand picojoules a nanosecond.
  return base::RoundToInt64(watts * 1e3 * static_cast<double>(length.count()))
      .value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

PowerLoop::PowerLoop(const Spec& spec) : spec_(spec) {
  if (spec.power.dvfs) {
    governor_.emplace(*spec.power.dvfs);
    nominal_volts_ = governor_->volts();
  }
  if (!spec.power.thermal) return;
  const Thermal& ladder = *spec.power.thermal;
  for (std::size_t i = 0; i < kStrides; ++i) {
    steps_.emplace_back(ladder, (std::int64_t{1} << i) * period());
  }
  const double fixed = spec.power.static_watts - ladder.leakage_watts;
  const std::optional<double> idle = SteadyCelsius(ladder, fixed);
  LEEWAY_CHECK(idle.has_value());  // ParseSpec refuses what runs away at rest
  // At rest the same power flows through every resistance.
  double celsius = ladder.ambient_celsius;
  const double watts = (*idle - celsius) / LadderResistance(ladder);
  for (std::size_t i = ladder.nodes.size(); i-- > 0;) {
    celsius += watts * ladder.nodes[i].kelvins_per_watt;
    above_ambient_[i] = celsius - ladder.ambient_celsius;
  }
  summary_.max_celsius = die_celsius();
}

double PowerLoop::die_celsius() const {
  return spec_.power.thermal ? spec_.power.thermal->ambient_celsius + above_ambient_[0] : 0;
}

std::int64_t PowerLoop::Spend(std::int64_t core_pj, std::int64_t transfer_pj) {
  const std::int64_t spent =
      base::MulDivFloor(core_pj, squared_volts_, kNominalClock) + transfer_pj;
  spent_pj_ += spent;
  return spent;
}

std::int64_t PowerLoop::BackgroundOf(std::int64_t periods) const {
  double watts = spec_.power.static_watts;
  if (const auto& ladder = spec_.power.thermal) {
    const double volts = governor_ ? governor_->volts() - nominal_volts_ : 0;
    watts += LeakageWatts(*ladder, die_celsius(), volts) - ladder->leakage_watts;
  }
  return PicoJoules(watts, periods * period());
}

void PowerLoop::Pass(std::int64_t periods, const ThermalStep* step) {
  const Nanos length = periods * period();
  const std::int64_t background = BackgroundOf(periods);
  background_pj_ += background;
  background_a_period_ = background / periods;
  watts_ = static_cast<double>(background + spent_pj_) * 1e-3 / static_cast<double>(length.count());
  spent_pj_ = 0;
  now_ += length;
  if (clock_ < kNominalClock) summary_.throttled += length;
  if (step) above_ambient_ = step->After(above_ambient_, watts_);
  summary_.max_watts = std::max(summary_.max_watts, watts_);
  summary_.max_celsius = std::max(summary_.max_celsius, die_celsius());
  if (die_celsius() > kRunawayCelsius) {
    ran_away_ = true;
    above_ambient_ = Temperatures{};  // what follows means nothing, but stays finite
  }
  if (!governor_) return;
  governor_->Advance(watts_, die_celsius(), periods);
  clock_ = base::MulDivFloor(governor_->hz(), kNominalClock, spec_.power.dvfs->max_hz);
  const double relative = std::min(governor_->volts() / nominal_volts_, 1.0);
  squared_volts_ = base::RoundToInt64(relative * relative * kNominalClock).value_or(0);
  summary_.min_clock = std::min(summary_.min_clock, clock_);
}

bool PowerLoop::EndPeriod() {
  const ClockShare before = clock_;
  Pass(1, steps_.empty() ? nullptr : &steps_.front());
  return clock_ != before;
}

void PowerLoop::Rest(std::int64_t periods) {
  LEEWAY_CHECK(periods >= 0 && spent_pj_ == 0);
  for (std::int64_t done = 0; done < periods;) {
    std::size_t stride = 0;
    while (done >= kSingly && stride + 1 < kStrides &&
           (std::int64_t{2} << stride) <= std::min(done, periods - done)) {
      ++stride;
    }
    Pass(std::int64_t{1} << stride, steps_.empty() ? nullptr : &steps_[stride]);
    done += std::int64_t{1} << stride;
  }
}

absl::int128 PowerLoop::BackgroundPj(Instant at) const {
  const absl::int128 more =
      absl::int128((at - now_).count()) * background_a_period_ / period().count();
  return background_pj_ + more;
}

}  // namespace leeway::device
