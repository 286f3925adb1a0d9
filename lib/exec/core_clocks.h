// The clocks of a device's cores while it serves: slow cores, and what heat and power leave of the
// rest; and what the steps spend meanwhile.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_CORE_CLOCKS_H_
#define LEEWAY_EXEC_CORE_CLOCKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device/clocked_step.h"
#include "device/power_loop.h"
#include "device/spec.h"
#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway::exec {

class CoreClocks {
 public:
  enum class Heat { kModelled, kOff };

  // Null where every core keeps its class's clock: nothing is to be done then. `device` outlives
  // the clocks.
  static std::unique_ptr<CoreClocks> Create(const device::Spec& device, Heat heat);

  // A step begins on a core; its body does, at the clock of that moment, and ends.
  void Begin(std::size_t core, const device::StepCost& cost);
  void EnterBody(Instant now, std::size_t core, const device::StepCost& cost);
  void LeaveBody(Instant now, std::size_t core, const device::StepCost& cost);

  // Of the body on a core: its demand cap, how long what takes `nominal` takes, and the reverse.
  device::ByteUnits Cap(std::size_t core, const device::StepCost& cost) const {
    return device::CapAt(cost, cores_[core].clock);
  }
  Nanos Slowed(std::size_t core, Nanos nominal) const {
    return device::Slowed(nominal, cores_[core].clock);
  }
  Nanos Nominal(std::size_t core, Nanos slowed) const {
    return device::Nominal(slowed, cores_[core].clock);
  }
  // Counts what a body has spent once `done` of `total` is done. Requires 0 <= done <= total > 0.
  void Spend(std::size_t core, std::int64_t done, std::int64_t total);

  // When the period that `now` lies in ends, after a rest; Instant::Max() where nothing heats up.
  Instant WakeAt(Instant now);
  // Ends a period. Returns whether the clock has changed: bodies then need Reclock().
  bool EndPeriod();
  Nanos period() const { return power_->period(); }
  // Gives the body on a core the clock of now.
  void Reclock(Instant now, std::size_t core, const device::StepCost& cost);

  // Of the step that began last on a core, once its body has ended: what it spent, and by how much
  // the clock lengthened it.
  std::int64_t spent_pj(std::size_t core) const { return cores_[core].spent_pj; }
  Nanos slowed(std::size_t core) const { return cores_[core].slowed; }

  // Null where nothing heats up.
  const device::PowerLoop* power() const { return power_ ? &*power_ : nullptr; }
  // kOutOfRange once the die has run away.
  const Status& status() const { return status_; }

 private:
  // A step's energy is spent evenly over its body.
  struct Core {
    device::ClockShare own = device::kNominalClock;    // of the core's class
    device::ClockShare clock = device::kNominalClock;  // of the body that runs
    std::int64_t core_pj = 0, transfer_pj = 0;         // of the whole step, at nominal voltage
    std::int64_t core_told = 0, transfer_told = 0;     // of these
    std::int64_t spent_pj = 0;
    device::BodyAlone alone;
    Nanos slowed{0};
  };

  CoreClocks(const device::Spec& device, Heat heat);
  device::ClockShare ClockOf(const Core& core) const;

  const device::Spec& device_;
  double dram_byte_pj_;
  std::vector<Core> cores_;
  std::optional<device::PowerLoop> power_;
  Status status_;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_CORE_CLOCKS_H_
