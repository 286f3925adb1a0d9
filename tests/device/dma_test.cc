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
    CHECK(MovedPerByte(contiguous, misaligned, granule) ==
          Approx(static_cast<double>(granules * granule) / static_cast<double>(contiguous)));
  }
}

CoreClass WithPort() {
  CoreClass core;
  core.clock_hz = 1'050'000'000;
  core.dma_bytes_per_second = 500'000'000'000;
  core.dma_latency = Nanos(300);
  core.dma_granule_bytes = 64;
  return core;
}

TEST_CASE("a class that states no line moves by its port in both directions", "[device][unit]") {
  CoreClass core = WithPort();
  core.dma_paths = {{"core-core", 418, 1.003, 512}};
  const DramLines lines = DramLinesOf(core);
  for (const DramLine& line : {lines.read, lines.write}) {
    CHECK(line.latency_ns == 300);
    CHECK(line.bytes_per_ns == 500);
    CHECK(line.granule_bytes == 64);
  }
  CHECK(lines.TransferNs(1000, 400, 800) == 2);
  CHECK(lines.TransferNs(1000, 400, 100) == 10);
}

// The oracle is the single transfer in cycles.
TEST_CASE("lines are those of the paths in nanoseconds, and reads and writes take turns",
          "[device][property]") {
  CoreClass core = WithPort();
  const DmaPath read{"hbm-vmem", 483.6, 1.1046, 512}, write{"vmem-hbm", 417.5, 1.0506, 128};
  core.dma_paths = {write, read};
  const DramLines lines = DramLinesOf(core);
  constexpr double kAnyDram = 1e9;
  for (const std::int64_t bytes : {1, 511, 512, 513, 1 << 20}) {
    const auto size = static_cast<double>(bytes);
    CHECK(lines.read.Ns(size) == Approx(TransferCycles(read, bytes) / 1.05));
    CHECK(lines.write.Ns(size) == Approx(TransferCycles(write, bytes) / 1.05));
  }
  CHECK(lines.read.Ns(0) == 0);
  const double kib_in = 1.1046 / 1.05, kib_out = 1.0506 / 1.05;
  CHECK(lines.TransferNs(3 * 1024, 1024, kAnyDram) == Approx(2 * kib_in + kib_out));
  CHECK(lines.TransferNs(1024, 0, kAnyDram) == Approx(kib_in));
  CHECK(lines.TransferNs(1024, 1024, kAnyDram) == Approx(kib_out));
  CHECK(lines.TransferNs(3 * 1024, 1024, 1) == 3 * 1024);
  CHECK(static_cast<double>(lines.PortRate(3 * 1024, 1024)) ==
        Approx(0x1p20 * 3 * 1024 / (2 * kib_in + kib_out)));
}

TEST_CASE("several engines move as many times as much, each as late", "[device][unit]") {
  CoreClass core = WithPort();
  core.dma_paths = {{"hbm-vmem", 105, 1.05, 1}};
  const DramLine one = DramLinesOf(core).read;
  core.dma_engines = 3;
  const DramLine three = DramLinesOf(core).read;
  CHECK(one.latency_ns == Approx(100));
  CHECK(three.latency_ns == one.latency_ns);
  CHECK(three.bytes_per_ns == Approx(3 * 1024));
}

}  // namespace
}  // namespace leeway::device
