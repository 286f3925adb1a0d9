// Where groups are planned: list scheduling by bottom level.
//
// Threading: pure function.

#ifndef LEEWAY_COMPILE_PLACEMENT_H_
#define LEEWAY_COMPILE_PLACEMENT_H_

#include <span>
#include <vector>

#include "compile/fusion.h"
#include "device/spec.h"
#include "leeway/time.h"

namespace leeway::compile {

// Gives every group but calls a PREFERRED placement on all cores of its class, those first that are
// free first when the groups start in the order of the longest way to the run's end. `times` has
// each group's time; a call has the device to itself. Returns when the last group ends.
Nanos PlaceGroups(std::span<FusedGroup> groups, std::span<const Nanos> times,
                  const std::vector<bool>& calls, const device::Spec& device);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_PLACEMENT_H_
