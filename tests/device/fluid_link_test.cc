// The link against oracles that share no code with it: the definition of fair shares for the rates,
// and a simulation that moves each flow only when its own rate changes for the times.

#include "device/fluid_link.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/prng.h"
#include "device/fair_shares.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

__extension__ typedef __int128 Int128;  // NOLINT: __extension__ takes no alias

constexpr ByteUnits kBytesPerNs = ByteUnits{1} << kByteUnitBits;

Instant At(std::int64_t ns) { return Instant(Nanos(ns)); }

// Max–min rates of `caps`; all of them on an unshared link.
std::map<std::size_t, ByteUnits> FairRates(const std::map<std::size_t, ByteUnits>& caps,
                                           ByteUnits capacity) {
  if (capacity == FluidLink::kUnshared) return caps;
  FlowDemands demands;
  for (const auto& [slot, cap] : caps) demands[slot].cap = cap;
  return FairShares(demands, capacity);
}

// The lazy algorithm: a flow's end is fixed until its rate changes.
class LazyLink {
 public:
  explicit LazyLink(ByteUnits capacity) : capacity_(capacity) {}

  void Start(std::int64_t now, std::size_t slot, ByteUnits bytes, ByteUnits cap) {
    caps_[slot] = cap;
    flows_[slot] = {.remaining = bytes, .rate = 0, .since = now, .end = 0};
    Share(now);
  }
  ByteUnits Stop(std::int64_t now, std::size_t slot) {
    const ByteUnits left = Left(flows_[slot], now);
    caps_.erase(slot);
    flows_.erase(slot);
    Share(now);
    return left;
  }
  std::optional<std::pair<std::int64_t, std::size_t>> NextEnd() const {
    std::optional<std::pair<std::int64_t, std::size_t>> next;
    for (const auto& [slot, flow] : flows_) {
      const std::pair candidate(flow.end, slot);
      if (!next || candidate < *next) next = candidate;
    }
    return next;
  }
  const std::map<std::size_t, ByteUnits>& caps() const { return caps_; }

 private:
  struct Flow {
    ByteUnits remaining, rate;
    std::int64_t since, end;
  };
  static ByteUnits Left(const Flow& flow, std::int64_t now) {
    const Int128 left = Int128{flow.remaining} - Int128{flow.rate} * (now - flow.since);
    return static_cast<ByteUnits>(std::max<Int128>(left, 0));
  }
  void Share(std::int64_t now) {
    for (const auto& [slot, rate] : FairRates(caps_, capacity_)) {
      Flow& flow = flows_[slot];
      if (flow.rate == rate) continue;
      flow.remaining = Left(flow, now);
      flow.rate = rate;
      flow.since = now;
      flow.end = now + static_cast<std::int64_t>((Int128{flow.remaining} + rate - 1) / rate);
    }
  }

  ByteUnits capacity_;
  std::map<std::size_t, ByteUnits> caps_;
  std::map<std::size_t, Flow> flows_;
};

void CheckFairness(const std::map<std::size_t, ByteUnits>& caps, FluidLink& link,
                   ByteUnits capacity) {
  const auto flows = static_cast<ByteUnits>(caps.size());
  Int128 total = 0;
  Int128 demand = 0;
  for (const auto& [slot, cap] : caps) {
    CHECK(link.rate(slot) >= 1);
    CHECK(link.rate(slot) <= cap);
    total += link.rate(slot);
    demand += cap;
  }
  CHECK(total <= capacity);
  // Work conservation, and what the roundings of one re-share may lose.
  CHECK(total + flows >= std::min<Int128>(demand, capacity));
  if (demand <= capacity) return;
  // A flow below its cap could only gain at the cost of one that has no more than it: nobody has
  // more than it (but for the unit of rounding).
  for (const auto& [slot, cap] : caps) {
    if (link.rate(slot) == cap) continue;
    for (const auto& other : caps) CHECK(link.rate(other.first) <= link.rate(slot) + 1);
  }
}

struct Random {
  explicit Random(std::uint64_t seed) : prng(seed) {}
  ByteUnits Between(ByteUnits low, ByteUnits high) {
    return low + static_cast<ByteUnits>(prng.Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  // Log-uniform: small and large magnitudes alike.
  ByteUnits Size(int max_bits) {
    const auto bits = static_cast<int>(prng.Below(static_cast<std::uint64_t>(max_bits)));
    return (ByteUnits{1} << bits) + static_cast<ByteUnits>(prng.Below(std::uint64_t{1} << bits));
  }
  base::Prng prng;
};

// One random life of a link beside the lazy one; `visit` sees every state.
template <typename Visit>
void LiveBeside(std::uint64_t seed, std::size_t slots, ByteUnits capacity, Visit visit) {
  Random random(seed);
  FluidLink link(capacity, slots);
  LazyLink lazy(capacity);
  std::int64_t now = 0;
  for (int event = 0; event < 120; ++event) {
    const auto next = lazy.NextEnd();
    REQUIRE(next.has_value() == (link.next_end() != Instant::Max()));
    if (next) {
      REQUIRE(link.next_end().count() == next->first);
      REQUIRE(link.next_slot() == next->second);
    }
    const auto slot = static_cast<std::size_t>(random.prng.Below(slots));
    const bool busy = lazy.caps().count(slot) != 0;
    const std::int64_t until = next ? next->first - now : 1000;
    if (next && (random.prng.Below(2) == 0 || until == 0)) {
      now = next->first;
      CHECK(lazy.Stop(now, next->second) == 0);
      CHECK(link.Stop(At(now), next->second) == 0);
    } else if (busy) {
      now += random.Between(0, until);
      REQUIRE(link.Stop(At(now), slot) == lazy.Stop(now, slot));
    } else {
      now += random.Between(0, std::min<std::int64_t>(until, 1'000'000'000));
      const ByteUnits bytes = random.Size(50);
      const ByteUnits cap = random.Size(40);
      link.Start(At(now), slot, bytes, cap);
      lazy.Start(now, slot, bytes, cap);
    }
    visit(lazy.caps(), link);
  }
}

TEST_CASE("rates are max-min fair and end times equal those of another algorithm",
          "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 300)));
  CAPTURE(seed);
  Random random(seed + 1000);
  const auto slots = static_cast<std::size_t>(random.Between(1, 20));
  const ByteUnits capacity = std::max<ByteUnits>(random.Size(44), 20);
  LiveBeside(seed, slots, capacity, [&](const auto& caps, FluidLink& link) {
    for (const auto& [slot, rate] : FairRates(caps, capacity)) REQUIRE(link.rate(slot) == rate);
    CheckFairness(caps, link, capacity);
  });
}

TEST_CASE("an unshared link gives every flow its cap", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 30)));
  CAPTURE(seed);
  LiveBeside(seed, 8, FluidLink::kUnshared, [](const auto& caps, FluidLink& link) {
    for (const auto& [slot, cap] : caps) REQUIRE(link.rate(slot) == cap);
  });
}

TEST_CASE("n equal flows end together at n times bytes over capacity", "[device][property]") {
  const auto n = static_cast<std::size_t>(GENERATE(1, 2, 3, 7, 16, 256));
  const ByteUnits capacity = 614 * kBytesPerNs;
  const ByteUnits bytes = (ByteUnits{1} << 20) * kBytesPerNs;
  FluidLink link(capacity, n);
  for (std::size_t slot = 0; slot < n; ++slot) link.Start(At(5), slot, bytes, 900 * kBytesPerNs);
  const auto exact = static_cast<std::int64_t>(Int128{bytes} * static_cast<Int128>(n) / capacity);
  for (std::size_t slot = 0; slot < n; ++slot) {
    CHECK(link.next_slot() == slot);
    CHECK(link.next_end().count() - 5 >= exact);
    CHECK(link.next_end().count() - 5 <= exact + 1);
    CHECK(link.Stop(link.next_end(), slot) == 0);
  }
  CHECK(link.next_end() == Instant::Max());
}

TEST_CASE("two bandwidth-bound bodies together gain nothing over one after the other",
          "[device][property]") {
  const ByteUnits capacity = 100 * kBytesPerNs;
  FluidLink link(capacity, 2);
  link.Start(At(0), 0, 1'000'000 * kBytesPerNs, capacity);
  link.Start(At(0), 1, 500'000 * kBytesPerNs, capacity);
  CHECK(link.next_end().count() == 10'000);
  CHECK(link.next_slot() == 1);
  link.Stop(link.next_end(), 1);
  CHECK(link.next_end().count() == 15'000);  // the sum of 10,000 and 5,000 alone
}

TEST_CASE("a flow that demands little leaves the rest to the others", "[device][unit]") {
  FluidLink link(100, 3);
  link.Start(At(0), 0, 1'000'000, 10);
  link.Start(At(0), 1, 1'000'000, 200);
  link.Start(At(0), 2, 1'000'000, 70);
  CHECK(link.rate(0) == 10);
  CHECK(link.rate(1) == 45);
  CHECK(link.rate(2) == 45);
}

TEST_CASE("sizes up to the largest count without overflow", "[device][unit]") {
  constexpr ByteUnits kLargest = std::numeric_limits<ByteUnits>::max();
  FluidLink link(4, 2);
  link.Start(At(1), 0, kLargest, kLargest);
  link.Start(At(1), 1, kLargest, 1);
  CHECK(link.rate(0) == 3);
  CHECK(link.next_end().count() == 1 + kLargest / 3 + (kLargest % 3 != 0));
  CHECK(link.next_slot() == 0);
  CHECK(link.Stop(link.next_end(), 0) == 0);
  // What is left at rate 1 ends beyond the end of time.
  CHECK(link.next_end() == Instant::Max());
  CHECK(link.Stop(At(kLargest), 1) == 1);
}

}  // namespace
}  // namespace leeway::device
