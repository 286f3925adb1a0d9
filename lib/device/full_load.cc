#include "device/full_load.h"

#include "base/check.h"
#include "base/math.h"

namespace leeway::device {

FullLoad FullLoadOf(const Spec& spec) {
  const EventEnergy energy = spec.event_energy();
  FullLoad load;
  load.dram_watts = energy.dram_byte * static_cast<double>(spec.dram_bytes_per_second) * 1e-12;
  for (const CoreClass& of : spec.classes) {
    const double cycles = static_cast<double>(of.clock_hz) * of.count;
    load.core_watts += cycles * 1e-12 *
                       (energy.mac * of.array_rows * of.array_cols * of.arrays +
                        energy.vector_op * of.vector_lanes * of.vector_issue +
                        energy.sram_byte * static_cast<double>(of.sram_bytes_per_cycle));
  }
  return load;
}

double WattsUnderFullLoad(const Spec& spec, PowerLoop& loop) {
  LEEWAY_CHECK(loop.period() == Nanos{1'000'000});
  constexpr int kPeriods = 60'000, kMeasured = 1000;
  constexpr double kPjAPeriod = 1e9;  // of a watt
  const FullLoad load = FullLoadOf(spec);
  double sum = 0;
  for (int i = 0; i < kPeriods; ++i) {
    const double share = static_cast<double>(loop.clock()) / static_cast<double>(kNominalClock);
    loop.Spend(base::RoundToInt64(load.core_watts * share * kPjAPeriod).value_or(0),
               base::RoundToInt64(load.dram_watts * kPjAPeriod).value_or(0));
    loop.EndPeriod();
    if (i >= kPeriods - kMeasured) sum += loop.watts();
  }
  return sum / kMeasured;
}

}  // namespace leeway::device
