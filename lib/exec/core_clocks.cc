#include "exec/core_clocks.h"

#include <algorithm>
#include <string>

#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::exec {

using device::ClockShare;
using device::kNominalClock;
using device::StepCost;

std::unique_ptr<CoreClocks> CoreClocks::Create(const device::Spec& device, Heat heat) {
  std::unique_ptr<CoreClocks> clocks(new CoreClocks(device, heat));
  const bool all_nominal = std::all_of(clocks->cores_.begin(), clocks->cores_.end(),
                                       [](const Core& core) { return core.own == kNominalClock; });
  return clocks->power_ || !all_nominal ? std::move(clocks) : nullptr;
}

CoreClocks::CoreClocks(const device::Spec& device, Heat heat)
    : device_(device), dram_byte_pj_(device.event_energy().dram_byte) {
  for (const device::CoreClass& of : device.classes) {
    for (std::size_t i = 0; i < of.count; ++i) {
      Core core;
      const std::int64_t hz = i < of.core_clock_hz.size() ? of.core_clock_hz[i] : of.clock_hz;
      core.own = std::max<ClockShare>(base::MulDivFloor(hz, kNominalClock, of.clock_hz), 1);
      cores_.push_back(core);
    }
  }
  if (heat == Heat::kModelled && (device.power.thermal || device.power.dvfs)) {
    power_.emplace(device);
  }
}

ClockShare CoreClocks::ClockOf(const Core& core) const {
  const ClockShare device = power_ ? power_->clock() : kNominalClock;
  return std::max<ClockShare>(core.own * device / kNominalClock, 1);
}

void CoreClocks::Begin(std::size_t c, const StepCost& cost) {
  Core& core = cores_[c];
  const auto transfer = base::RoundToInt64(static_cast<double>(cost.dram_bytes) * dram_byte_pj_);
  core.transfer_pj = std::min(transfer.value_or(cost.energy_pj), cost.energy_pj);
  core.core_pj = cost.energy_pj - core.transfer_pj;
  core.core_told = core.transfer_told = core.spent_pj = 0;
}

void CoreClocks::EnterBody(Instant now, std::size_t c, const StepCost& cost) {
  Core& core = cores_[c];
  core.clock = ClockOf(core);
  core.alone = device::BodyAlone(now, cost, core.clock, device_.dram_rate());
}

void CoreClocks::LeaveBody(Instant now, std::size_t c, const StepCost& cost) {
  Core& core = cores_[c];
  core.slowed = std::max(core.alone.Lasts(now) - cost.BodyAlone(device_.dram_rate()), Nanos{0});
  Spend(c, 1, 1);
}

void CoreClocks::Spend(std::size_t c, std::int64_t done, std::int64_t total) {
  Core& core = cores_[c];
  const std::int64_t of_core = base::MulDivFloor(core.core_pj, done, total) - core.core_told;
  const std::int64_t of_transfer =
      base::MulDivFloor(core.transfer_pj, done, total) - core.transfer_told;
  core.core_told += of_core;
  core.transfer_told += of_transfer;
  core.spent_pj += power_ ? power_->Spend(of_core, of_transfer) : of_core + of_transfer;
}

Instant CoreClocks::WakeAt(Instant now) {
  if (!power_) return Instant::Max();
  const Nanos rested = now - power_->now();
  if (rested > Nanos{0}) power_->Rest(rested / power_->period());
  return power_->now() + power_->period();
}

bool CoreClocks::EndPeriod() {
  const bool changed = power_->EndPeriod();
  if (power_->ran_away() && status_.ok()) {
    status_ =
        base::OutOfRange("device \"" + device_.name + "\": the die passes " +
                         std::to_string(static_cast<int>(device::PowerLoop::kRunawayCelsius)) +
                         " degrees at " + std::to_string(power_->now().count()) +
                         " ns: its leakage and its load heat it faster than its ladder cools it");
  }
  return changed;
}

void CoreClocks::Reclock(Instant now, std::size_t c, const StepCost& cost) {
  Core& core = cores_[c];
  core.clock = ClockOf(core);
  core.alone.Reclock(now, cost, core.clock);
}

}  // namespace leeway::exec
