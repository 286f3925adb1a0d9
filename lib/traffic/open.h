// From a path, a shipped name or bytes to a Body: what the public Traffic forwards to.

#ifndef LEEWAY_TRAFFIC_OPEN_H_
#define LEEWAY_TRAFFIC_OPEN_H_

#include <memory>
#include <string>
#include <string_view>

#include "leeway/status.h"
#include "leeway/traffic.h"
#include "traffic/body.h"

namespace leeway::traffic {

// As Traffic::Open.
Result<std::shared_ptr<const Body>> Open(const std::string& path_or_name,
                                         const TrafficOptions& options);

// As Traffic::Parse; `requests` replaces the number that a generator declares, if not 0, and is
// refused for a recording.
Result<std::shared_ptr<const Body>> ParseBody(std::string_view bytes, const std::string& name,
                                              std::uint64_t requests);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_OPEN_H_
