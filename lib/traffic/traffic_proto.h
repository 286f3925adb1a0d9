// The leeway.traffic message as plain values: checked once, after which nothing in it can fail.
//
// traffic_proto.cc alone sees generated protobuf code.

#ifndef LEEWAY_TRAFFIC_TRAFFIC_PROTO_H_
#define LEEWAY_TRAFFIC_TRAFFIC_PROTO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"
#include "traffic/body.h"

namespace leeway::traffic {

// Columns of equal length, one element a request.
struct RecordedArrivals {
  // Since the first.
  std::vector<std::int64_t> at_ns;
  std::vector<std::uint32_t> streams;
  std::vector<std::string> dim_names;
  // Row-major.
  std::vector<std::int64_t> dims;
  // Empty, or one each; Nanos::max() for none.
  std::vector<std::int64_t> deadlines_ns;
  std::vector<std::int64_t> cancels_ns;
};

// What one stream sends in one window.
struct DrawnCell {
  std::uint32_t window = 0;
  std::uint32_t stream = 0;
  double rate = 0;
  std::vector<std::int64_t> quantiles;
};

struct GeneratedTraffic {
  std::uint64_t requests = 0;
  Nanos window{0};
  std::size_t windows = 0;
  std::string dim;
  std::vector<double> positions;
  // By window, then in the order of the message.
  std::vector<DrawnCell> cells;
};

struct TrafficMessage {
  std::vector<StreamInfo> streams;
  std::variant<RecordedArrivals, GeneratedTraffic> arrivals;
};

// Checks everything. kInvalidArgument names the field ("chat.pb: recorded.stream[3]: …"); kDataLoss
// bytes that are no message; kUnimplemented a message that needs a newer reader, or that calls
// several entries.
Result<TrafficMessage> ParseTrafficMessage(std::string_view bytes, const std::string& name);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_TRAFFIC_PROTO_H_
