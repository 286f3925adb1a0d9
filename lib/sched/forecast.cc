#include "sched/forecast.h"

#include <algorithm>
#include <limits>

namespace leeway::sched {

Forecast::Forecast(std::size_t cores, std::size_t run_slots, Nanos horizon)
    : cores_(static_cast<double>(cores)),
      run_slots_(run_slots),
      // Ends are whole nanoseconds wherever they are exact: half of one is rounding.
      horizon_(static_cast<double>(horizon.count()) + 0.5) {}

bool Forecast::Add(const RunLoad& run) {
  while (active_.size() >= run_slots_ && !past()) Step();
  if (past()) return false;
  ++added_;
  last_active_ = run.work > Nanos{0};
  if (!last_active_) return true;
  Active active;
  active.urgency = run.urgency;
  active.width = run.width;
  active.left = static_cast<double>(run.work.count()) / run.width;
  active.number = added_;
  const auto at =
      std::upper_bound(active_.begin(), active_.end(), active,
                       [](const Active& a, const Active& b) { return a.urgency < b.urgency; });
  active_.insert(at, active);
  return true;
}

bool Forecast::LastEndsInTime() {
  while (last_active_ && !past()) Step();
  return !past();
}

void Forecast::SetSpeeds() {
  double free = cores_;
  for (auto first = active_.begin(); first != active_.end();) {
    double wanted = 0;
    auto last = first;
    for (; last != active_.end() && last->urgency == first->urgency; ++last) wanted += last->width;
    const double speed = wanted <= free ? 1 : free / wanted;
    free = wanted <= free ? free - wanted : 0;
    for (; first != last; ++first) first->speed = speed;
  }
}

void Forecast::Step() {
  SetSpeeds();
  double soonest = std::numeric_limits<double>::max();
  for (const Active& run : active_) {
    if (run.speed > 0) soonest = std::min(soonest, run.left / run.speed);
  }
  clock_ += soonest;
  // By the very quotients that were compared: a difference need not come to nothing.
  auto ended = [&](const Active& run) {
    if (run.speed <= 0 || run.left / run.speed > soonest) return false;
    if (run.number == added_) last_active_ = false;
    return true;
  };
  active_.erase(std::remove_if(active_.begin(), active_.end(), ended), active_.end());
  for (Active& run : active_) run.left = std::max(0.0, run.left - run.speed * soonest);
}

}  // namespace leeway::sched
