// DRAM bandwidth shared max–min fairly between flows, in integers.
//
// Progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2): raise all
// rates together; a flow stops at its cap, the rest share what is left. Rates are constant between
// changes, so that the engine only sees starts and ends. Bytes are in 2⁻²⁰ B, rates in 2⁻²⁰ B/ns
// rounded down: at most one unit a flow of capacity is lost per re-share.
//
// Cost: O(active flows) a change, no allocation after construction. Changes at one instant are
// shared out once, when somebody asks, so that four shards that start together cost one re-share.
//
// Threading: one thread at a time; the accessors that are not const may re-share.
// Time:      never goes back between calls, and never past next_end(): whoever is late still
//            stops the flows at their ends, in order.

#ifndef LEEWAY_DEVICE_FLUID_LINK_H_
#define LEEWAY_DEVICE_FLUID_LINK_H_

#include <cstdint>
#include <vector>

#include "device/spec.h"
#include "leeway/time.h"

namespace leeway::device {

class FluidLink {
 public:
  // `slots` flows at most, one a slot. Requires slots <= capacity, so that no flow is ever given
  // rate 0; kUnshared gives every flow its cap.
  static constexpr ByteUnits kUnshared = 0;
  FluidLink(ByteUnits capacity, std::size_t slots);

  // Begins a flow. Requires a free slot, bytes > 0 and cap > 0.
  void Start(Instant now, std::size_t slot, ByteUnits bytes, ByteUnits cap);
  // Takes a flow off, ended or not. Returns what was left of it. Requires a started slot.
  ByteUnits Stop(Instant now, std::size_t slot);

  // Returns what is left of a flow. Requires a started slot.
  ByteUnits Left(Instant now, std::size_t slot);

  // When the first flow ends at today's rates, and which (the smallest slot on ties);
  // Instant::Max() if there is none. end = now + ceil(remaining / rate).
  Instant next_end() { return Settle(), next_end_; }
  std::size_t next_slot();

  // Requires a started slot.
  ByteUnits rate(std::size_t slot);
  std::size_t active() const { return flows_.size(); }

 private:
  // A capped flow keeps its rate and its end until the level falls below its cap. All others have
  // one rate, the level, so that one sum of what each of them has moved serves all. Neither kind
  // is touched as time passes.
  struct Flow {
    ByteUnits cap = 0;
    // Modulo 2⁶⁴: what remains, plus cap·now if capped, plus moved_ if not.
    std::uint64_t mark = 0;
    std::int64_t end = 0;  // of a capped flow
    std::uint32_t slot = 0;
  };

  void Advance(Instant now);
  // Inserts a flow in its order, the rest of which is to be filled.
  Flow& MakeRoom(ByteUnits cap, std::uint32_t slot);
  void Settle() {
    if (!settled_) Share(), FindNextEnd(), settled_ = true;
  }
  void Share();
  void FindNextEnd();
  bool StaysCapped(std::size_t at, ByteUnits below) const;
  void Cap(Flow& flow, ByteUnits remaining) const;
  ByteUnits Remaining(std::size_t at) const;
  std::size_t Find(std::size_t slot) const;

  ByteUnits capacity_;
  std::vector<Flow> flows_;  // rising by (cap, slot): the capped ones, then those at the level
  std::size_t capped_ = 0;
  ByteUnits capped_rate_ = 0;  // sum over the capped; 0 where nothing is shared
  ByteUnits level_ = 0;
  std::uint64_t moved_ = 0;  // by each flow at the level, modulo 2⁶⁴
  std::vector<bool> started_;
  bool settled_ = true;
  Instant updated_;
  Instant next_end_ = Instant::Max();
  std::int64_t capped_end_ = 0, level_end_ = 0;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_FLUID_LINK_H_
