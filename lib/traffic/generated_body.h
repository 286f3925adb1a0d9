// Arrivals drawn from rates and length distributions: a leeway.traffic message's, or a Poisson
// process.

#ifndef LEEWAY_TRAFFIC_GENERATED_BODY_H_
#define LEEWAY_TRAFFIC_GENERATED_BODY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "leeway/status.h"
#include "traffic/body.h"
#include "traffic/traffic_proto.h"

namespace leeway::traffic {

// `content` is the digest of the message's bytes; `requests` replaces the number it declares, if
// not 0. Requests go to windows and streams by Apportion(); times within a window are uniform.
std::shared_ptr<const Body> MakeGenerated(std::string name, const base::Digest& content,
                                          std::vector<StreamInfo> streams, GeneratedTraffic traffic,
                                          std::uint64_t requests);

// As Traffic::Poisson.
Result<std::shared_ptr<const Body>> MakePoisson(double requests_per_second, Nanos span,
                                                std::string_view dim,
                                                std::vector<std::int64_t> lengths);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_GENERATED_BODY_H_
