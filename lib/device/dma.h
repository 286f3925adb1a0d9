// Transfers along the measured ways through a memory system.
//
// A transfer takes its path's latency, then its bytes at the path's rate, in whole granules
// (COST_MODEL section 4: lines measured on TPU v4). Latency is not shared between transfers; the
// rate is (fluid_link.h, shared_link.h).
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

// Returns which part of what a strided transfer moves is wanted: `contiguous` bytes at a time, each
// beginning `misaligned` bytes into a granule. Requires contiguous > 0 and misaligned < granule.
double StridedEfficiency(std::int64_t contiguous, std::uint32_t misaligned, std::uint32_t granule);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_DMA_H_
