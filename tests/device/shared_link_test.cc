// The link against the definition of what it computes.

#include "device/shared_link.h"

#include <algorithm>
#include <map>

#include "base/prng.h"
#include "device/fair_shares.h"
#include "device/fluid_link.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

__extension__ typedef __int128 Wide;  // NOLINT: __extension__ takes no alias

constexpr ByteUnits kByteANs = ByteUnits{1} << kByteUnitBits;

Instant After(std::int64_t ns) { return Instant(Nanos(ns)); }

void CheckShares(const FlowDemands& wishes, const SharedLink& link, ByteUnits capacity) {
  Wide total = 0, demand = 0;
  for (const auto& [slot, wish] : wishes) {
    CHECK(link.rate(slot) <= wish.cap);
    total += link.rate(slot);
    demand += wish.cap;
  }
  // Capacity, and work conservation but for a unit a flow.
  CHECK(total <= capacity);
  CHECK(total + static_cast<Wide>(wishes.size()) >= std::min<Wide>(demand, capacity));
  // Max-min: of a flow below its cap, nobody of its rank has more a weight, nobody after it any.
  for (const auto& [slot, wish] : wishes) {
    if (link.rate(slot) == wish.cap) continue;
    for (const auto& [other, its] : wishes) {
      if (its.claim.rank > wish.claim.rank) CHECK(link.rate(other) == 0);
      if (its.claim.rank != wish.claim.rank) continue;
      CHECK(Wide{link.rate(other)} * wish.claim.weight <=
            Wide{link.rate(slot) + 1} * its.claim.weight);
    }
  }
}

TEST_CASE("rates by weight and rank are those of brute force, and so are ends",
          "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 300)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto size = [&](int bits) {
    return static_cast<ByteUnits>(1 + prng.Below(std::uint64_t{1} << (1 + prng.Below(bits))));
  };
  const std::size_t slots = 1 + prng.Below(16);
  const std::uint64_t ranks = 1 + prng.Below(4);
  const ByteUnits capacity = size(44);
  SharedLink link(capacity, slots);
  FlowDemands wishes;
  std::map<std::size_t, ByteUnits> remain;
  std::int64_t now = 0;
  for (int event = 0; event < 100; ++event) {
    const auto rates = FairShares(wishes, capacity);
    std::int64_t next = Instant::Max().count();
    std::size_t first = 0;
    for (const auto& [slot, wish] : wishes) {
      REQUIRE(link.rate(slot) == rates.at(slot));
      if (rates.at(slot) == 0) continue;
      const Wide lasts = (Wide{remain[slot]} + rates.at(slot) - 1) / rates.at(slot);
      if (now + lasts >= next) continue;
      next = now + static_cast<std::int64_t>(lasts);
      first = slot;
    }
    REQUIRE(link.next_end().count() == next);
    if (next != Instant::Max().count()) REQUIRE(link.next_slot() == first);
    CheckShares(wishes, link, capacity);
    const std::size_t slot = prng.Below(slots);
    const bool end = next != Instant::Max().count() && prng.Below(2) == 0;
    const std::int64_t to =
        end ? next
            : now + static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(
                        std::min<std::int64_t>(next - now, 1'000'000) + 1)));
    for (const auto& [other, rate] : rates) {
      const Wide left = Wide{remain[other]} - Wide{rate} * (to - now);
      remain[other] = static_cast<ByteUnits>(std::max<Wide>(left, 0));
    }
    now = to;
    const std::size_t subject = end ? first : slot;
    if (wishes.count(subject) != 0) {
      REQUIRE(link.Left(After(now), subject) == remain[subject]);
      REQUIRE(link.Stop(After(now), subject) == remain[subject]);
      wishes.erase(subject);
    } else {
      remain[subject] = size(50);
      FlowDemand wish{size(40), {size(10), prng.Below(ranks)}};
      link.Start(After(now), subject, remain[subject], wish.cap, wish.claim);
      wish.cap = std::min(wish.cap, capacity);
      wishes[subject] = wish;
    }
  }
}

TEST_CASE("equal weights and ranks share as the fluid link does", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 50)));
  base::Prng prng(seed);
  const ByteUnits capacity = ByteUnits{1} << 30;
  SharedLink shared(capacity, 8);
  FluidLink fluid(capacity, 8);
  for (std::size_t slot = 0; slot < 8; ++slot) {
    const auto bytes = static_cast<ByteUnits>(1 + prng.Below(std::uint64_t{1} << 50));
    const auto cap = static_cast<ByteUnits>(1 + prng.Below(std::uint64_t{1} << 30));
    shared.Start(After(0), slot, bytes, cap, {});
    fluid.Start(After(0), slot, bytes, cap);
  }
  for (std::size_t slot = 0; slot < 8; ++slot) CHECK(shared.rate(slot) == fluid.rate(slot));
  CHECK(shared.next_end() == fluid.next_end());
}

TEST_CASE("who is served first takes its time alone, the other ends when both would",
          "[device][unit]") {
  constexpr ByteUnits kRate = 100 * kByteANs, kBytes = 4096 * kByteANs;
  SharedLink link(kRate, 2);
  link.Start(After(0), 0, kBytes, kRate, {1, 1});
  link.Start(After(0), 1, kBytes, kRate, {1, 0});
  CHECK(link.next_slot() == 1);
  CHECK(link.next_end().count() == 41);
  CHECK(link.Stop(link.next_end(), 1) == 0);
  CHECK(link.next_slot() == 0);
  CHECK(link.next_end().count() == 82);
}

}  // namespace
}  // namespace leeway::device
