// V3. Source: lines fitted to single transfers on TPU v4 (COST_MODEL section 4), in cycles of its
// 1.05 GHz clock. They are what the preset states: plumbing.

#include "device/dma.h"

#include <string>

#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

struct Line {
  std::string name;
  double latency, cycles_per_kib, tolerance;
};

TEST_CASE("transfers on TPU v4 take what its lines say, from 4 KiB to 4 MiB",
          "[device][plumbing]") {
  const Spec spec = testing::ShippedDevice("tpu_v4");
  const Line line =
      GENERATE(Line{"hbm-vmem", 483.6, 1.1046, 0.03}, Line{"vmem-hbm", 417.5, 1.0506, 0.03},
               Line{"hbm-cmem", 438.0, 1.1105, 0.03}, Line{"cmem-hbm", 378.3, 1.0013, 0.03},
               Line{"cmem-vmem", 311, 0.5, 0}, Line{"vmem-cmem", 309, 1.0, 0});
  const std::int64_t kib = GENERATE(4, 16, 64, 256, 1024, 4096);
  CAPTURE(line.name, kib);
  const DmaPath* path = FindPath(spec.classes[0], line.name);
  REQUIRE(path != nullptr);
  const double measured = line.latency + line.cycles_per_kib * static_cast<double>(kib);
  const double cycles = TransferCycles(*path, kib * 1024);
  if (line.tolerance == 0) {
    CHECK(cycles == measured);
  } else {
    CHECK(cycles == Approx(measured).epsilon(line.tolerance));
  }
}

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
