#include "device/dma.h"

#include "base/check.h"
#include "base/math.h"

namespace leeway::device {

const DmaPath* FindPath(const CoreClass& core, std::string_view name) {
  for (const DmaPath& path : core.dma_paths) {
    if (path.name == name) return &path;
  }
  return nullptr;
}

std::int64_t MovedBytes(std::int64_t bytes, std::uint32_t granule) {
  return base::CeilDiv(bytes, granule) * granule;
}

double TransferCycles(const DmaPath& path, std::int64_t bytes) {
  const auto moved = static_cast<double>(MovedBytes(bytes, path.granule_bytes));
  return path.latency_cycles + moved / 1024 * path.cycles_per_kib;
}

double StridedEfficiency(std::int64_t contiguous, std::uint32_t misaligned, std::uint32_t granule) {
  LEEWAY_CHECK(contiguous > 0 && misaligned < granule);
  return static_cast<double>(contiguous) /
         static_cast<double>(MovedBytes(contiguous + misaligned, granule));
}

}  // namespace leeway::device
