// A link shared by weight and rank, in the engine's integers: what fluid_link.h, which serves equal
// flows in less time, does not do.
//
// Flows of a smaller rank are served before any of a larger one. Within a rank, progressive filling
// (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2): all rates rise in proportion to
// the weights; a flow stops at its cap, the rest share what is left. Rates are rounded down: at
// most one unit a flow is lost per re-share. A flow that the ranks before it leave nothing waits.
//
// Ranks drawn by lot as transfers begin make the unfair arbitration that TPU v4 shows (COST_MODEL
// section 6): which transfer wins is chance, the sum of what they move is not.
//
// Cost: O(n log n) a change. Threading: one thread at a time. Time as in fluid_link.h.

#ifndef LEEWAY_DEVICE_SHARED_LINK_H_
#define LEEWAY_DEVICE_SHARED_LINK_H_

#include <cstdint>
#include <vector>

#include "device/spec.h"
#include "leeway/time.h"

namespace leeway::device {

class SharedLink {
 public:
  // `slots` flows at most, one a slot. Requires 0 < capacity < 2⁵³ and slots <= kMaxCores.
  SharedLink(ByteUnits capacity, std::size_t slots);

  struct Claim {
    std::int64_t weight = 1;  // in [1, 2²⁰]
    std::uint64_t rank = 0;
  };
  // Begins a flow. Requires a free slot, bytes > 0 and cap > 0.
  void Start(Instant now, std::size_t slot, ByteUnits bytes, ByteUnits cap, Claim claim);
  // Takes a flow off, ended or not. Returns what was left of it. Requires a started slot.
  ByteUnits Stop(Instant now, std::size_t slot);
  // Returns what is left of a flow. Requires a started slot.
  ByteUnits Left(Instant now, std::size_t slot);

  // When the first flow ends at today's rates, and which (the smallest slot on ties);
  // Instant::Max() if none does.
  Instant next_end() const { return next_end_; }
  std::size_t next_slot() const { return next_slot_; }

  // Requires a started slot.
  ByteUnits rate(std::size_t slot) const { return Of(slot).rate; }
  Claim claim(std::size_t slot) const { return Of(slot).claim; }
  std::size_t active() const { return flows_.size(); }

 private:
  struct Flow {
    std::size_t slot = 0;
    ByteUnits left = 0, cap = 0, rate = 0;
    Claim claim;
  };

  const Flow& Of(std::size_t slot) const;
  void Advance(Instant now);
  void Share();
  ByteUnits Fill(std::size_t begin, std::size_t end, ByteUnits left);

  ByteUnits capacity_;
  std::vector<Flow> flows_;  // by rank, then cap / weight, then slot
  std::vector<bool> started_;
  Instant updated_;
  Instant next_end_ = Instant::Max();
  std::size_t next_slot_ = 0;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_SHARED_LINK_H_
