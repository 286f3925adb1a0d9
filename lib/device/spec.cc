#include "device/spec.h"

#include "base/check.h"
#include "base/math.h"

namespace leeway::device {

double CoreClass::DtypeFactor(DType dtype) const {
  for (const auto& [of, factor] : dtype_factors) {
    if (of == dtype) return factor;
  }
  return 1;
}

double CoreClass::OpsPerElement(std::string_view kind, double stated) const {
  for (const auto& [of, ops] : op_counts) {
    if (of == kind) return ops;
  }
  return stated;
}

std::size_t Spec::core_count() const {
  return classes.empty() ? 0 : classes.back().first_core + classes.back().count;
}

std::size_t Spec::accelerator_count() const {
  std::size_t count = 0;
  for (const CoreClass& of : classes) count += of.host ? 0 : of.count;
  return count;
}

std::size_t Spec::ClassOf(CoreIndex core) const {
  LEEWAY_CHECK(core < core_count());
  std::size_t of = 0;
  while (core >= classes[of].first_core + classes[of].count) ++of;
  return of;
}

std::optional<std::size_t> Spec::FindClass(std::string_view class_name) const {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].name == class_name) return i;
  }
  return std::nullopt;
}

std::string Spec::CoreName(CoreIndex core) const {
  const CoreClass& of = classes[ClassOf(core)];
  return of.name + ":" + std::to_string(core - of.first_core);
}

ByteUnits Spec::dram_rate() const { return RateUnits(dram_bytes_per_second); }

EventEnergy Spec::event_energy() const {
  double macs_per_second = 0;
  double vector_ops_per_second = 0;
  double sram_bytes_per_second = 0;
  for (const CoreClass& of : classes) {
    const double cycles = static_cast<double>(of.clock_hz) * of.count;
    macs_per_second += cycles * of.array_rows * of.array_cols * of.arrays;
    vector_ops_per_second += cycles * of.vector_lanes * of.vector_issue;
    sram_bytes_per_second += cycles * static_cast<double>(of.sram_bytes_per_cycle);
  }
  EventEnergy energy;
  if (macs_per_second > 0) energy.mac = power.matrix_watts / macs_per_second * 1e12;
  if (vector_ops_per_second > 0) {
    energy.vector_op = power.vector_watts / vector_ops_per_second * 1e12;
  }
  if (sram_bytes_per_second > 0) {
    energy.sram_byte = power.sram_watts / sram_bytes_per_second * 1e12;
  }
  // A watt a GB/s is a nanojoule a byte.
  energy.dram_byte = power.dram_watts_per_gbps * 1e3;
  return energy;
}

ByteUnits RateUnits(std::int64_t bytes_per_second) {
  return base::MulDivFloor(bytes_per_second, std::int64_t{1} << kByteUnitBits, 1'000'000'000);
}

}  // namespace leeway::device
