// Max–min rates by their definition, without the links' code: slow, and what the links are held to
// (fluid_link.h, shared_link.h).
//
// Threading: pure functions.

#ifndef LEEWAY_DEVICE_FAIR_SHARES_H_
#define LEEWAY_DEVICE_FAIR_SHARES_H_

#include <map>

#include "device/shared_link.h"
#include "device/spec.h"

namespace leeway::device {

struct FlowDemand {
  ByteUnits cap = 0;
  SharedLink::Claim claim = {};
};

// By slot.
using FlowDemands = std::map<std::size_t, FlowDemand>;
using FlowRates = std::map<std::size_t, ByteUnits>;

// Returns the rates of all flows, rounded down: rank after rank, all rates of a rank rise in
// proportion to their weights, and whoever reaches its cap stays there. Requires capacity > 0 and
// caps > 0.
FlowRates FairShares(const FlowDemands& demands, ByteUnits capacity);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_FAIR_SHARES_H_
