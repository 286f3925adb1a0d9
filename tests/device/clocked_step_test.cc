#include "device/clocked_step.h"

#include <algorithm>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

StepCost Body(std::int64_t bytes, Nanos compute, ByteUnits port) {
  StepCost cost;
  cost.compute = compute;
  cost.dram_bytes = bytes;
  cost.body_bytes = bytes << kByteUnitBits;
  cost.cap = port;
  const ByteUnits demand = (cost.body_bytes + compute.count() - 1) / compute.count();
  if (demand <= port) {
    cost.cap = demand;
    cost.body_bytes = demand * compute.count();
  }
  return cost;
}

TEST_CASE("computation stretches with the clock, and transfers until it takes longer than they do",
          "[device][unit]") {
  const ByteUnits port = ByteUnits{100} << kByteUnitBits;
  const StepCost computes = Body(1000, Nanos{1000}, port);        // 1 B/ns
  const StepCost transfers = Body(1'000'000, Nanos{1000}, port);  // 10,000 ns at the port
  CHECK(CapAt(computes, kNominalClock / 2) == computes.cap / 2);
  CHECK(CapAt(transfers, kNominalClock) == port);
  CHECK(CapAt(transfers, kNominalClock / 2) == port);
  CHECK(CapAt(transfers, kNominalClock / 10 + 1) == port);
  CHECK(CapAt(transfers, kNominalClock / 20) < port);
  CHECK(Slowed(Nanos{1000}, kNominalClock / 2) == Nanos{2000});
  CHECK(Nominal(Nanos{2000}, kNominalClock / 2) == Nanos{1000});
  CHECK(Slowed(Nanos{1000}, kNominalClock) == Nanos{1000});
}

// The oracle moves the body nanosecond by nanosecond.
TEST_CASE("a body alone ends when its bytes are moved at the clocks it met", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const StepCost cost = Body(1 + static_cast<std::int64_t>(prng.Below(20'000)),
                             Nanos{1 + static_cast<std::int64_t>(prng.Below(3000))},
                             static_cast<ByteUnits>(1 + prng.Below(20)) << kByteUnitBits);
  const ByteUnits dram = static_cast<ByteUnits>(1 + prng.Below(20)) << kByteUnitBits;
  ClockShare share = 1 + static_cast<ClockShare>(prng.Below(kNominalClock));
  share = std::max<ClockShare>(share, kNominalClock / 8);
  BodyAlone alone(Instant(Nanos{0}), cost, share, dram);
  ByteUnits left = cost.body_bytes;
  std::int64_t now = 0;
  for (; left > 0; ++now) {
    if (now > 0 && prng.Below(100) == 0) {
      share = kNominalClock / 8 + static_cast<ClockShare>(prng.Below(kNominalClock * 7 / 8));
      alone.Reclock(Instant(Nanos{now}), cost, share);
    }
    left -= std::min({left, CapAt(cost, share), dram});
  }
  // Asked later, as when others delayed it: what happens after its end changes nothing.
  alone.Reclock(Instant(Nanos{now + 5}), cost, kNominalClock / 8);
  CHECK(alone.Lasts(Instant(Nanos{now + 9})) == Nanos{now});
  CHECK(Nanos{now} >= cost.BodyAlone(dram));
}

}  // namespace
}  // namespace leeway::device
