// Transfers along the measured ways through a memory system.
//
// A transfer takes its path's latency, then its bytes at the path's rate, in whole granules
// (COST_MODEL section 4: lines measured on TPU v4). Latency is not shared between transfers; the
// rate is (fluid_link.h, shared_link.h).
//
// Steps move bytes between the DRAM and their core's SRAM: by the paths "hbm-vmem" and "vmem-hbm"
// where the class states them, else by its port, the same in both directions.
//
// Threading: pure functions.

#ifndef LEEWAY_DEVICE_DMA_H_
#define LEEWAY_DEVICE_DMA_H_

#include <cstdint>
#include <string_view>

#include "device/spec.h"

namespace leeway::device {

// Returns the core's path of that name, or null.
const DmaPath* FindPath(const CoreClass& core, std::string_view name);

// Returns the bytes that a transfer of `bytes` moves: whole granules. Requires 0 <= bytes <= 2⁶².
std::int64_t MovedBytes(std::int64_t bytes, std::uint32_t granule);

// Returns the cycles of one transfer that has the path to itself; its latency alone for 0 bytes.
double TransferCycles(const DmaPath& path, std::int64_t bytes);

// Returns how many bytes a strided transfer moves for one that is wanted, at least 1: `contiguous`
// bytes at a time, each beginning `misaligned` bytes into a granule. Requires contiguous > 0 and
// misaligned < granule.
double MovedPerByte(std::int64_t contiguous, std::uint32_t misaligned, std::uint32_t granule);

inline constexpr std::string_view kReadPath = "hbm-vmem", kWritePath = "vmem-hbm";

// One direction between the DRAM and the SRAM of a core, all of its engines together.
struct DramLine {
  double latency_ns = 0, bytes_per_ns = 0;
  std::uint32_t granule_bytes = 1;

  // Of one transfer that has the line to itself; nothing for no bytes.
  double Ns(double bytes) const;
};

struct DramLines {
  DramLine read, write;

  // What moving `bytes`, of them `written`, takes at least, without latency: reads and writes take
  // turns at the port, and `fair_bytes_per_ns` is what the DRAM gives.
  double TransferNs(double bytes, double written, double fair_bytes_per_ns) const;
  // The rate at which such a mixture passes the port.
  ByteUnits PortRate(double bytes, double written) const;
};
DramLines DramLinesOf(const CoreClass& core);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_DMA_H_
