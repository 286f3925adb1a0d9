// Arrivals recorded one by one in a leeway.traffic message.

#ifndef LEEWAY_TRAFFIC_RECORDED_BODY_H_
#define LEEWAY_TRAFFIC_RECORDED_BODY_H_

#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "traffic/body.h"
#include "traffic/traffic_proto.h"

namespace leeway::traffic {

// `content` is the digest of the message's bytes. The arrivals are in memory.
std::shared_ptr<const Body> MakeRecorded(std::string name, const base::Digest& content,
                                         std::vector<StreamInfo> streams,
                                         RecordedArrivals arrivals);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_RECORDED_BODY_H_
