// Windows by counting arrivals one by one.

#ifndef LEEWAY_TRAFFIC_WINDOWS_H_
#define LEEWAY_TRAFFIC_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "leeway/status.h"
#include "leeway/time.h"
#include "traffic/body.h"

namespace leeway::traffic {

// Reads `body` from its start and counts. kInvalidArgument if `window` is not positive or `dim` is
// not one of the body's. Memory: the lengths of one window.
Result<std::unique_ptr<WindowReader>> CountWindows(const Body& body, Nanos window, std::size_t dim,
                                                   std::uint64_t seed);

// kInvalidArgument unless `window` is positive and `dim` one of the body's.
Status CheckWindows(const Body& body, Nanos window, std::size_t dim);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_WINDOWS_H_
