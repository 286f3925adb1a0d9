#include "device/dma.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/math.h"
#include "device/cycles.h"

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

double MovedPerByte(std::int64_t contiguous, std::uint32_t misaligned, std::uint32_t granule) {
  LEEWAY_CHECK(contiguous > 0 && misaligned < granule);
  return static_cast<double>(MovedBytes(contiguous + misaligned, granule)) /
         static_cast<double>(contiguous);
}

double DramLine::Ns(double bytes) const {
  if (bytes == 0) return 0;
  const double granule = granule_bytes;
  return latency_ns + Ceil(bytes / granule) * granule / bytes_per_ns;
}

double DramLines::TransferNs(double bytes, double written, double fair_bytes_per_ns) const {
  if (read.bytes_per_ns == write.bytes_per_ns) {
    return bytes / std::min(read.bytes_per_ns, fair_bytes_per_ns);
  }
  return std::max((bytes - written) / read.bytes_per_ns + written / write.bytes_per_ns,
                  bytes / fair_bytes_per_ns);
}

ByteUnits DramLines::PortRate(double bytes, double written) const {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const double rate = bytes / TransferNs(bytes, written, kAny);
  const auto units = static_cast<ByteUnits>(rate * static_cast<double>(1 << kByteUnitBits));
  return std::max<ByteUnits>(units, 1);
}

DramLines DramLinesOf(const CoreClass& core) {
  const DramLine port{static_cast<double>(core.dma_latency.count()),
                      static_cast<double>(core.dma_bytes_per_second) / 1e9, core.dma_granule_bytes};
  DramLines lines{port, port};
  const double cycle_ns = 1e9 / static_cast<double>(core.clock_hz);
  for (const DmaPath& path : core.dma_paths) {
    const DramLine line{path.latency_cycles * cycle_ns,
                        core.dma_engines * 1024 / (path.cycles_per_kib * cycle_ns),
                        path.granule_bytes};
    if (path.name == kReadPath) lines.read = line;
    if (path.name == kWritePath) lines.write = line;
  }
  return lines;
}

}  // namespace leeway::device
