#include "telemetry/wait_clock.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::telemetry {
namespace {

using Class = WaitClock::Class;
using Reading = WaitClock::Reading;

Instant At(std::int64_t ns) { return Instant(Nanos(ns)); }

Reading Only(Class c, std::int64_t ns) {
  Reading reading{};
  reading[static_cast<std::size_t>(c)] = Nanos(ns);
  return reading;
}

// Samples the state every nanosecond and classifies by the definition, word for word.
class Oracle {
 public:
  struct Wait {
    std::size_t domain;
    std::uint64_t slot;
    Reading parts{};
  };

  Oracle(std::size_t cores, std::vector<WaitClock::Domain> domains)
      : cores_(cores), domains_(std::move(domains)) {}

  void Tick() {
    for (Wait& wait : waits_) {
      wait.parts[static_cast<std::size_t>(ClassOf(wait))] += Nanos(1);
    }
  }

  std::vector<std::deque<std::uint64_t>> cores_;
  std::vector<WaitClock::Domain> domains_;
  std::map<std::pair<std::size_t, std::uint64_t>, int> held_;
  std::vector<Wait> waits_;

 private:
  Class ClassOf(const Wait& wait) const {
    const WaitClock::Domain& domain = domains_[wait.domain];
    const auto idle = [&](std::uint32_t core) { return cores_[core].empty(); };
    const auto larger = [&](std::uint32_t core) { return cores_[core].front() > wait.slot; };
    const auto smaller = [&](std::uint32_t core) { return cores_[core].front() < wait.slot; };
    const std::vector<std::uint32_t>& e = domain.allowed;
    if (std::any_of(e.begin(), e.end(), idle)) {
      const auto held = held_.find({wait.domain, wait.slot});
      return held != held_.end() && held->second > 0 ? Class::kImbalance : Class::kDispatch;
    }
    for (std::uint32_t core : domain.of_class) {
      if (std::find(e.begin(), e.end(), core) == e.end() && idle(core)) return Class::kImbalance;
    }
    if (std::any_of(e.begin(), e.end(), larger)) return Class::kLowerInFlight;
    if (std::any_of(e.begin(), e.end(), smaller)) return Class::kHigherPriority;
    return Class::kCapacity;
  }
};

WaitClock::Domain RandomDomain(base::Prng& prng, std::size_t cores) {
  WaitClock::Domain domain;
  for (std::uint32_t core = 0; core < cores; ++core) {
    if (prng.Below(4) == 0) continue;
    domain.of_class.push_back(core);
    if (prng.Below(3) != 0) domain.allowed.push_back(core);
  }
  return domain;
}

// Drives a clock and the oracle with the same random events.
class RandomSystem {
 public:
  explicit RandomSystem(std::uint64_t seed)
      : prng_(seed),
        cores_(1 + prng_.Below(seed % 10 == 0 ? 100 : 5)),
        // The rest of the domains arrive later, as those of a plan loaded under load do.
        domains_(Domains(1 + prng_.Below(3))),
        oracle_(cores_, domains_),
        clock_(cores_, domains_),
        slots_(1 + prng_.Below(4)),
        // How busy the cores are kept, so that every class is met.
        load_(prng_.Below(4)),
        idle_events_(prng_.Below(3)) {}

  // Returns the sum of all finished waits by class.
  Reading Run(std::int64_t horizon) {
    Reading seen{};
    for (now_ = 0; now_ < horizon; ++now_) {
      const std::uint64_t bursts = prng_.Below(2 + idle_events_);
      for (std::uint64_t n = bursts * prng_.Below(4); n > 0; --n) {
        Step(seen);
      }
      oracle_.Tick();
    }
    while (!oracle_.waits_.empty()) Leave(0, seen);
    return seen;
  }

 private:
  std::vector<WaitClock::Domain> Domains(std::size_t n) {
    std::vector<WaitClock::Domain> domains;
    for (std::size_t i = 0; i < n; ++i) domains.push_back(RandomDomain(prng_, cores_));
    return domains;
  }

  void Step(Reading& seen) {
    const std::uint64_t slot = prng_.Below(slots_);
    const std::size_t domain = prng_.Below(oracle_.domains_.size());
    switch (prng_.Below(8)) {
      case 0:
      case 1:
        return Enter(domain, slot);
      case 2:
        if (!oracle_.waits_.empty()) Leave(prng_.Below(oracle_.waits_.size()), seen);
        return;
      case 3:
        return Hold(domain, slot);
      case 4:
        if (prng_.Below(10) == 0) AddDomain();
        return;
      default:
        return StartOrEnd(slot);
    }
  }

  void Enter(std::size_t domain, std::uint64_t slot) {
    entered_.push_back({now_, clock_.Enter(At(now_), domain, slot)});
    oracle_.waits_.push_back({domain, slot});
  }

  void Leave(std::size_t i, Reading& seen) {
    const Oracle::Wait wait = oracle_.waits_[i];
    const auto& [since, reading] = entered_[i];
    const Reading parts = clock_.Leave(At(now_), wait.domain, wait.slot, reading);
    REQUIRE(parts == wait.parts);
    REQUIRE(std::accumulate(parts.begin(), parts.end(), Nanos(0)) == Nanos(now_ - since));
    for (std::size_t c = 0; c < seen.size(); ++c) seen[c] += parts[c];
    oracle_.waits_.erase(oracle_.waits_.begin() + static_cast<std::ptrdiff_t>(i));
    entered_.erase(entered_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void Hold(std::size_t domain, std::uint64_t slot) {
    int& held = oracle_.held_[{domain, slot}];
    if (held > 0 && prng_.Below(2) == 0) {
      --held;
      clock_.Unhold(At(now_), domain, slot);
    } else if (held < 3) {
      ++held;
      clock_.Hold(At(now_), domain, slot);
    }
  }

  void AddDomain() {
    oracle_.domains_.push_back(RandomDomain(prng_, cores_));
    REQUIRE(clock_.AddDomain(oracle_.domains_.back()) == oracle_.domains_.size() - 1);
  }

  void StartOrEnd(std::uint64_t slot) {
    const auto core = static_cast<std::uint32_t>(prng_.Below(cores_));
    std::deque<std::uint64_t>& steps = oracle_.cores_[core];
    const bool start = steps.empty() || (steps.size() < 3 && prng_.Below(4) < load_);
    if (start) {
      steps.push_back(slot);
      clock_.Started(At(now_), core, slot);
    } else {
      steps.pop_front();
      clock_.Ended(At(now_), core);
    }
  }

  base::Prng prng_;
  std::size_t cores_;
  std::vector<WaitClock::Domain> domains_;
  Oracle oracle_;
  WaitClock clock_;
  std::uint64_t slots_, load_, idle_events_;
  std::int64_t now_ = 0;
  // Beside oracle_.waits_.
  std::vector<std::pair<std::int64_t, Reading>> entered_;
};

}  // namespace

TEST_CASE("the parts of every wait are those of sampling each nanosecond, and add up to it",
          "[telemetry][property]") {
  Reading seen{};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Reading one = RandomSystem(seed).Run(120);
    for (std::size_t c = 0; c < seen.size(); ++c) seen[c] += one[c];
  }
  // Not vacuous: every class was met.
  for (Nanos time : seen) CHECK(time > Nanos(1000));
}

TEST_CASE("an idle allowed core is dispatch, unless the policy holds the step",
          "[telemetry][unit]") {
  WaitClock clock(2, {{{0}, {0, 1}}});
  const Reading entered = clock.Enter(At(10), 0, 5);
  clock.Hold(At(13), 0, 5);
  clock.Unhold(At(20), 0, 5);
  Reading expected = Only(Class::kDispatch, 3 + 2);
  expected[static_cast<std::size_t>(Class::kImbalance)] = Nanos(7);
  REQUIRE(clock.Leave(At(22), 0, 5, entered) == expected);
}

TEST_CASE("a hold that begins before the first step waits still counts", "[telemetry][unit]") {
  WaitClock clock(1, {{{0}, {0}}});
  clock.Hold(At(0), 0, 5);
  const Reading entered = clock.Enter(At(1), 0, 5);
  REQUIRE(clock.Leave(At(4), 0, 5, entered) == Only(Class::kImbalance, 3));
  clock.Unhold(At(4), 0, 5);
}

TEST_CASE("a lower priority in flight comes before higher-priority work", "[telemetry][unit]") {
  WaitClock clock(2, {{{0, 1}, {0, 1}}});
  clock.Started(At(0), 0, 1);
  clock.Started(At(0), 1, 9);
  const Reading entered = clock.Enter(At(0), 0, 5);
  REQUIRE(clock.Leave(At(8), 0, 5, entered) == Only(Class::kLowerInFlight, 8));
}

TEST_CASE("what happens at one instant takes no time", "[telemetry][unit]") {
  WaitClock clock(1, {{{0}, {0}}});
  clock.Started(At(0), 0, 5);
  const Reading entered = clock.Enter(At(0), 0, 5);
  clock.Ended(At(6), 0);
  clock.Started(At(6), 0, 5);
  REQUIRE(clock.Leave(At(9), 0, 5, entered) == Only(Class::kCapacity, 9));
}

TEST_CASE("of steps launched ahead the oldest one counts", "[telemetry][unit]") {
  WaitClock clock(1, {{{0}, {0}}});
  clock.Started(At(0), 0, 1);
  clock.Started(At(0), 0, 9);
  const Reading entered = clock.Enter(At(0), 0, 5);
  clock.Ended(At(4), 0);
  Reading expected = Only(Class::kHigherPriority, 4);
  expected[static_cast<std::size_t>(Class::kLowerInFlight)] = Nanos(3);
  REQUIRE(clock.Leave(At(7), 0, 5, entered) == expected);
}

TEST_CASE("each class of a wait goes to its cause", "[telemetry][unit]") {
  Attribution attribution;
  Reading reading;
  for (std::size_t c = 0; c < reading.size(); ++c) reading[c] = Nanos(1 << c);
  WaitClock::AddTo(reading, attribution);
  REQUIRE(attribution.part(Cause::kDispatch) == Nanos(1));
  REQUIRE(attribution.part(Cause::kCoreImbalance) == Nanos(2));
  REQUIRE(attribution.part(Cause::kLowerPriorityInFlight) == Nanos(4));
  REQUIRE(attribution.part(Cause::kHigherPriority) == Nanos(8));
  REQUIRE(attribution.part(Cause::kCapacity) == Nanos(16));
  REQUIRE(attribution.total() == Nanos(31));
}

}  // namespace leeway::telemetry
