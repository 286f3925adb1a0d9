// What a transfer moves and takes. The lines of TPU v4 (V3) are checked in lib/api.

#include "device/dma.h"

#include "tests/catch.h"

namespace leeway::device {
namespace {

TEST_CASE("transfers move whole granules", "[device][unit]") {
  const DmaPath path{"p", 100, 1024, 512};  // a cycle a byte
  CHECK(TransferCycles(path, 0) == 100);
  CHECK(TransferCycles(path, 1) == 612);
  CHECK(TransferCycles(path, 512) == 612);
  CHECK(TransferCycles(path, 513) == 1124);
  CHECK(MovedBytes(std::int64_t{1} << 62, 512) == std::int64_t{1} << 62);
  CHECK(FindPath(CoreClass{}, "p") == nullptr);
}

// The oracle touches granules byte by byte.
TEST_CASE("strided transfers waste what their granules hold besides", "[device][property]") {
  const std::uint32_t granule = GENERATE(1u, 32u, 512u);
  const std::int64_t contiguous = GENERATE(1, 31, 32, 33, 511, 512, 513, 4096);
  for (std::uint32_t misaligned = 0; misaligned < granule; misaligned += 1 + granule / 7) {
    std::int64_t granules = 0, last = -1;
    for (std::int64_t byte = misaligned; byte < misaligned + contiguous; ++byte) {
      if (byte / granule == last) continue;
      last = byte / granule;
      ++granules;
    }
    CHECK(StridedEfficiency(contiguous, misaligned, granule) ==
          Approx(static_cast<double>(contiguous) / static_cast<double>(granules * granule)));
  }
}

}  // namespace
}  // namespace leeway::device
