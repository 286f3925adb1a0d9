// Why a ready step waits, as running integrals: one per (allowed cores, slot) with waiting steps. A
// part of a step's wait is the difference of two readings.
//
// D is the set of cores of the step's class, E ⊆ D those its placement allows. Each instant belongs
// to exactly one class, the first that matches:
//   (1) a core of E is idle: imbalance if the policy holds the step, else dispatch
//   (2) a core of D∖E is idle: imbalance
//   (3) a core of E runs a step of a larger slot: lower priority in flight
//   (4) a core of E runs a step of a smaller slot: higher-priority work
//   (5) capacity
//
// Threading: one thread at a time.
// Cost:      Advancing is lazy: nothing while no step waits; else one look at each domain with
//            waiting steps (a scan of its cores only when all of them are busy and one changed).
//            Waiting pairs are touched only when what their domain sees changes.

#ifndef LEEWAY_TELEMETRY_WAIT_CLOCK_H_
#define LEEWAY_TELEMETRY_WAIT_CLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/time.h"

namespace leeway::telemetry {

class WaitClock {
 public:
  enum class Class { kDispatch, kImbalance, kLowerInFlight, kHigherPriority, kCapacity };
  static constexpr std::size_t kClasses = 5;
  using Reading = std::array<Nanos, kClasses>;

  // A placement domain: E and D as core indices.
  struct Domain {
    std::vector<std::uint32_t> allowed;
    std::vector<std::uint32_t> of_class;
  };

  // Requires every core index of a domain below `cores`.
  WaitClock(std::size_t cores, std::vector<Domain> domains);
  // Adds a domain of a plan loaded later; returns its index.
  std::size_t AddDomain(Domain domain);

  // A core starts (ends) a step of a slot. A core may hold several at launch depth > 1; it runs
  // them in order, so the oldest is the one that counts and the one that ends. Time never goes back
  // between calls; what happens at one instant takes no time, in whatever order it is reported.
  void Started(Instant now, std::uint32_t core, std::uint64_t slot);
  void Ended(Instant now, std::uint32_t core);

  // The policy begins (ceases) to hold steps of this domain and slot for a busy or full core.
  void Hold(Instant now, std::size_t domain, std::uint64_t slot);
  void Unhold(Instant now, std::size_t domain, std::uint64_t slot);

  // A step begins to wait: returns the reading now. Enter and Leave pair up per (domain, slot).
  Reading Enter(Instant now, std::size_t domain, std::uint64_t slot);
  // It ceases to wait: returns the parts of its wait, which add up to the time since Enter.
  Reading Leave(Instant now, std::size_t domain, std::uint64_t slot, const Reading& entered);

  // Adds a wait's parts to an attribution.
  static void AddTo(const Reading& parts, Attribution& attribution);

 private:
  // What decides the class of every step that waits in a domain, but for slots and holds.
  struct View {
    enum class Cores { kAllowedIdle, kOtherIdle, kBusy };
    Cores cores = Cores::kBusy;
    // Over the running steps of E; looked at only if all of D is busy.
    std::uint64_t smallest_slot = 0, largest_slot = 0;

    friend bool operator==(const View&, const View&) = default;
  };

  // The steps of one slot that wait in a domain. `spent` is up to date as of `since`, and `current`
  // is the class since then.
  struct Waiting {
    std::uint64_t slot = 0;
    std::uint32_t steps = 0;
    std::uint32_t held = 0;
    Class current = Class::kDispatch;
    Instant since;
    Reading spent{};
  };

  struct DomainState {
    std::vector<std::uint32_t> allowed;
    // E and D as bits, in words of 64 cores.
    std::vector<std::uint64_t> allowed_mask, class_mask;
    std::vector<Waiting> waiting;
    View view;
    // The value of changes_ that `view` belongs to.
    std::uint64_t viewed = 0;
    // A pair of `waiting` is new or its hold changed: its class is to be found again.
    bool stale = false;
  };

  struct Core {
    std::uint32_t steps = 0;
    // Slots of the steps launched behind the running one.
    std::vector<std::uint64_t> queued;
  };

  // Accounts for the time up to `now` under the state since the last call.
  void Advance(Instant now);
  void Reclassify(DomainState& domain);
  View ViewOf(const DomainState& domain) const;
  static Class ClassOf(const View& view, const Waiting& waiting);
  Waiting& Find(Instant now, std::size_t domain, std::uint64_t slot);
  void DropIfUnused(std::size_t domain, Waiting& waiting);
  static Reading Read(Instant now, const Waiting& waiting);

  std::vector<DomainState> domains_;
  // Indices of the domains with waiting pairs.
  std::vector<std::size_t> live_;
  std::vector<Core> cores_;
  // By core, beside cores_ so that a scan stays within few cache lines; old where the core is idle.
  std::vector<std::uint64_t> running_slot_;
  std::vector<std::uint64_t> idle_mask_;
  // Counts starts and ends.
  std::uint64_t changes_ = 1;
  Instant updated_{Nanos::min()};
};

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_WAIT_CLOCK_H_
