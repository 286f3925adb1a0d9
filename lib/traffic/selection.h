// A part of a trace, itself a trace.
//
// Time: the arrivals of Last count from the start of what it keeps, so that it reads as a trace of
//       its own; First and Limit keep times as they are.

#ifndef LEEWAY_TRAFFIC_SELECTION_H_
#define LEEWAY_TRAFFIC_SELECTION_H_

#include <cstdint>
#include <memory>

#include "leeway/time.h"
#include "traffic/body.h"

namespace leeway::traffic {

// Arrivals before `span`; none if it is not positive.
std::shared_ptr<const Body> First(std::shared_ptr<const Body> body, Nanos span);

// Arrivals of the last `span`. It ends where the trace declares to end, else with the last arrival,
// for which the trace is read once, at the first use. Times count from the span's start where the
// trace declares its span, else from the first arrival kept.
std::shared_ptr<const Body> Last(std::shared_ptr<const Body> body, Nanos span);

// The first `requests` arrivals.
std::shared_ptr<const Body> Limit(std::shared_ptr<const Body> body, std::uint64_t requests);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_SELECTION_H_
