// Traffic known only by how many requests of each length came in each window. Arrivals are drawn;
// windows are given exactly.

#ifndef LEEWAY_TRAFFIC_HISTOGRAM_BODY_H_
#define LEEWAY_TRAFFIC_HISTOGRAM_BODY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "leeway/status.h"
#include "traffic/body.h"

namespace leeway::traffic {

// Opens a length histogram that draws `requests` arrivals, kDefaultRequests for 0. Its windows are
// read when they are first needed; then their starts and totals are kept, 16 bytes a window. A
// window lasts as long as the smallest gap between two starts, one hour if there is one window.
Result<std::shared_ptr<const Body>> OpenHistogram(const std::string& path, std::uint64_t requests);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_HISTOGRAM_BODY_H_
