// Where groups are planned: list scheduling by bottom level, and where groups are tasks of one core
// each, what the plan-time placer makes of it.
//
// Threading: pure function.

#ifndef LEEWAY_COMPILE_PLACEMENT_H_
#define LEEWAY_COMPILE_PLACEMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "compile/fusion.h"
#include "device/spec.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::compile {

struct PlacedGroups {
  Nanos end{0};             // of the last group
  plan::Schedule schedule;  // empty unless it is what makes the end this early
};

// Gives every group but calls a PREFERRED placement on all cores of its class, those first that are
// free first when the groups start in the order of the longest way to the run's end. `times` has
// each group's time; a call has the device to itself.
// Where all groups run on a core each, of one class, the placer looks for a shorter schedule among
// kSchedules; one that it finds gives each core its order, which the steps of a run then keep.
inline constexpr std::uint64_t kSchedules = 400;
PlacedGroups PlaceGroups(std::span<FusedGroup> groups, std::span<const Nanos> times,
                         const std::vector<bool>& calls, const device::Spec& device);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_PLACEMENT_H_
