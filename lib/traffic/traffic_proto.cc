#include "traffic/traffic_proto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/math.h"
#include "base/status_macros.h"
#include "leeway/types.h"
#include "leeway_internal/traffic/v1alpha/traffic.pb.h"
#include "traffic/draw.h"
#include "traffic/quoted.h"
#include "traffic/table_body.h"

namespace leeway::traffic {
namespace {

namespace pb = leeway_internal::traffic::v1alpha;

constexpr std::uint32_t kReaderVersion = 1;
// Far above any length, far below what interpolation could overflow at.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 52;
constexpr double kMaxRate = 1e280;

// "name: field: problem", in three parts so that no message is built for what is right.
class Checker {
 public:
  explicit Checker(const std::string& name) : name_(name) {}

  Status Error(const std::string& field, const std::string& problem) const {
    return base::InvalidArgument(name_ + ": " + field + ": " + problem);
  }
  Status Error(const std::string& field, int index, const std::string& problem) const {
    return Error(field + "[" + std::to_string(index) + "]", problem);
  }
  // A column that is absent or has one element a request.
  Status CheckColumn(const std::string& field, int size, int requests) const {
    if (size == 0 || size == requests) return Status();
    return Error(field,
                 std::to_string(size) + " values for " + std::to_string(requests) + " requests");
  }
  const std::string& name() const { return name_; }

 private:
  const std::string& name_;
};

Result<std::vector<StreamInfo>> ReadStreams(const pb::Traffic& message, const Checker& check) {
  const auto count = static_cast<std::size_t>(message.streams_size());
  if (count == 0) return std::vector<StreamInfo>{{"default"}};
  if (count > kMaxStreams) {
    return check.Error("streams", std::to_string(count) + " streams; at most " +
                                      std::to_string(kMaxStreams) + " are supported");
  }
  std::vector<StreamInfo> streams;
  std::set<std::string_view> names;
  for (int i = 0; i < message.streams_size(); ++i) {
    const pb::StreamInfo& stream = message.streams(i);
    if (stream.name().empty()) return check.Error("streams", i, "no name");
    if (!names.insert(stream.name()).second) {
      return check.Error("streams", i, "a second stream " + Quoted(stream.name()));
    }
    if (stream.priority_level() > static_cast<std::uint32_t>(Priority::kLeastUrgent)) {
      return check.Error("streams", i,
                         "priority_level " + std::to_string(stream.priority_level()) +
                             " is outside [1, " + std::to_string(Priority::kLeastUrgent) + "]");
    }
    StreamInfo& info = streams.emplace_back(StreamInfo{stream.name()});
    if (stream.priority_level() > 0) {
      info.priority_level = static_cast<int>(stream.priority_level());
    }
  }
  return streams;
}

Status CheckDimName(const std::string& field, const std::string& dim, const Checker& check) {
  return dim.empty() ? check.Error(field, "no name") : Status();
}

// Sums the deltas after the first: arrivals count from the first one.
Status ReadArrivals(const pb::Recorded& recorded, const Checker& check, RecordedArrivals& out) {
  std::int64_t at = 0;
  out.at_ns.reserve(static_cast<std::size_t>(recorded.arrival_delta_ns_size()));
  for (int i = 0; i < recorded.arrival_delta_ns_size(); ++i) {
    const std::int64_t delta = recorded.arrival_delta_ns(i);
    if (delta < 0) {
      return check.Error("recorded.arrival_delta_ns", i, std::to_string(delta) + " is negative");
    }
    const auto next = base::CheckedAdd(at, i == 0 ? 0 : delta);
    if (!next) {
      return check.Error("recorded.arrival_delta_ns", i, "the arrival is beyond 2^63 ns");
    }
    out.at_ns.push_back(at = *next);
  }
  return Status();
}

Status ReadRecordedDims(const pb::Recorded& recorded, const Checker& check, RecordedArrivals& out) {
  const auto requests = static_cast<std::uint64_t>(recorded.arrival_delta_ns_size());
  const auto dims = static_cast<std::uint64_t>(recorded.dim_names_size());
  if (dims > kMaxDims) {
    return check.Error("recorded.dim_names", std::to_string(dims) + " dims; at most " +
                                                 std::to_string(kMaxDims) + " are supported");
  }
  out.dim_names.assign(recorded.dim_names().begin(), recorded.dim_names().end());
  std::set<std::string_view> names;
  for (const std::string& dim : out.dim_names) {
    LEEWAY_RETURN_IF_ERROR(CheckDimName("recorded.dim_names", dim, check));
    if (!names.insert(dim).second) {
      return check.Error("recorded.dim_names", "a second dim " + Quoted(dim));
    }
  }
  const auto values = static_cast<std::uint64_t>(recorded.dims_size());
  if (values != requests * dims) {
    return check.Error("recorded.dims", std::to_string(values) + " values for " +
                                            std::to_string(requests) + " requests of " +
                                            std::to_string(dims) + " dims");
  }
  for (int i = 0; i < recorded.dims_size(); ++i) {
    if (recorded.dims(i) >= 1) continue;
    return check.Error("recorded.dims", i, std::to_string(recorded.dims(i)) + " is below 1");
  }
  out.dims.assign(recorded.dims().begin(), recorded.dims().end());
  return Status();
}

Status ReadRecordedStreams(const pb::Recorded& recorded, std::size_t streams, const Checker& check,
                           RecordedArrivals& out) {
  const int requests = recorded.arrival_delta_ns_size();
  LEEWAY_RETURN_IF_ERROR(check.CheckColumn("recorded.stream", recorded.stream_size(), requests));
  for (int i = 0; i < recorded.stream_size(); ++i) {
    if (recorded.stream(i) < streams) continue;
    return check.Error(
        "recorded.stream", i,
        std::to_string(recorded.stream(i)) + " of " + std::to_string(streams) + " streams");
  }
  out.streams.assign(recorded.stream().begin(), recorded.stream().end());
  return Status();
}

// Reads durations of which 0 means none.
template <typename Column>
Status ReadDurations(const Column& column, const char* field, const Checker& check, int requests,
                     std::vector<std::int64_t>& out) {
  LEEWAY_RETURN_IF_ERROR(check.CheckColumn(field, column.size(), requests));
  out.reserve(static_cast<std::size_t>(column.size()));
  for (int i = 0; i < column.size(); ++i) {
    const std::int64_t value = column.Get(i);
    if (value < 0) return check.Error(field, i, std::to_string(value) + " is negative");
    out.push_back(value == 0 ? std::numeric_limits<std::int64_t>::max() : value);
  }
  return Status();
}

// An arrival has no entry yet, so that a recording of several cannot be replayed truly.
Status CheckEntries(const pb::Recorded& recorded, const Checker& check) {
  LEEWAY_RETURN_IF_ERROR(
      check.CheckColumn("recorded.entry", recorded.entry_size(), recorded.arrival_delta_ns_size()));
  for (int i = 0; i < recorded.entry_size(); ++i) {
    const std::uint32_t entry = recorded.entry(i);
    if (entry != 0 && entry >= static_cast<std::uint32_t>(recorded.entry_names_size())) {
      return check.Error("recorded.entry", i,
                         std::to_string(entry) + " of " +
                             std::to_string(recorded.entry_names_size()) + " entries");
    }
    if (entry != recorded.entry(0)) {
      return base::Unimplemented(check.name() + ": recorded.entry[" + std::to_string(i) +
                                 "]: traffic that calls several entries");
    }
  }
  return Status();
}

Result<RecordedArrivals> ReadRecorded(const pb::Recorded& recorded, std::size_t streams,
                                      const Checker& check) {
  const int requests = recorded.arrival_delta_ns_size();
  RecordedArrivals out;
  LEEWAY_RETURN_IF_ERROR(ReadArrivals(recorded, check, out));
  LEEWAY_RETURN_IF_ERROR(ReadRecordedDims(recorded, check, out));
  LEEWAY_RETURN_IF_ERROR(ReadRecordedStreams(recorded, streams, check, out));
  LEEWAY_RETURN_IF_ERROR(ReadDurations(recorded.deadline_ns(), "recorded.deadline_ns", check,
                                       requests, out.deadlines_ns));
  LEEWAY_RETURN_IF_ERROR(ReadDurations(recorded.cancel_after_ns(), "recorded.cancel_after_ns",
                                       check, requests, out.cancels_ns));
  LEEWAY_RETURN_IF_ERROR(check.CheckColumn("recorded.outcome", recorded.outcome_size(), requests));
  LEEWAY_RETURN_IF_ERROR(
      check.CheckColumn("recorded.latency_ns", recorded.latency_ns_size(), requests));
  LEEWAY_RETURN_IF_ERROR(CheckEntries(recorded, check));
  return out;
}

Status CheckPositions(const pb::Generated& generated, const Checker& check) {
  const int count = generated.quantile_positions_size();
  if (count < 2 || generated.quantile_positions(0) != 0 ||
      generated.quantile_positions(count - 1) != 1) {
    return check.Error("generated.quantile_positions", "must run from 0 to 1");
  }
  for (int i = 1; i < count; ++i) {
    // False for a NaN.
    if (generated.quantile_positions(i) > generated.quantile_positions(i - 1)) continue;
    return check.Error("generated.quantile_positions", i, "does not rise");
  }
  return Status();
}

// Returns what is wrong with the share, or "".
std::string ShareProblem(const pb::StreamShare& share, std::size_t streams, int positions) {
  if (share.stream() >= streams) {
    return "stream " + std::to_string(share.stream()) + " of " + std::to_string(streams);
  }
  if (!(share.rate() >= 0) || share.rate() > kMaxRate) {
    return "rate is not a finite number of at least 0";
  }
  if (share.quantiles_size() != positions) {
    return std::to_string(share.quantiles_size()) + " quantiles for " + std::to_string(positions) +
           " positions";
  }
  std::int64_t least = 1;
  for (const std::int64_t quantile : share.quantiles()) {
    if (quantile < least || quantile > kMaxLength) {
      return "quantiles must rise from at least 1 to at most 2^52";
    }
    least = quantile;
  }
  return "";
}

Result<std::vector<DrawnCell>> ReadCells(const pb::Generated& generated, std::size_t streams,
                                         const Checker& check) {
  std::vector<DrawnCell> cells;
  double sum = 0;
  for (int w = 0; w < generated.windows_size(); ++w) {
    const pb::Window& window = generated.windows(w);
    std::set<std::uint32_t> seen;
    for (int s = 0; s < window.streams_size(); ++s) {
      const pb::StreamShare& share = window.streams(s);
      std::string problem = ShareProblem(share, streams, generated.quantile_positions_size());
      if (problem.empty() && !seen.insert(share.stream()).second) {
        problem = "a second share of stream " + std::to_string(share.stream());
      }
      if (!problem.empty()) {
        return check.Error("generated.windows[" + std::to_string(w) + "].streams", s, problem);
      }
      sum += share.rate();
      cells.push_back({static_cast<std::uint32_t>(w),
                       share.stream(),
                       share.rate(),
                       {share.quantiles().begin(), share.quantiles().end()}});
    }
  }
  if (!(sum > 0)) return check.Error("generated.windows", "no rate is above 0");
  return cells;
}

Result<GeneratedTraffic> ReadGenerated(const pb::Generated& generated, std::size_t streams,
                                       const Checker& check) {
  GeneratedTraffic out;
  out.requests = generated.requests();
  out.window = Nanos(generated.window_ns());
  out.windows = static_cast<std::size_t>(generated.windows_size());
  out.dim = generated.dim();
  LEEWAY_RETURN_IF_ERROR(CheckDimName("generated.dim", out.dim, check));
  if (out.requests == 0 || out.requests > kMaxRequests) {
    return check.Error("generated.requests", std::to_string(out.requests) + " is outside [1, " +
                                                 std::to_string(kMaxRequests) + "]");
  }
  if (out.window <= Nanos(0) || !base::CheckedMul(out.window.count(), generated.windows_size())) {
    return check.Error("generated.window_ns", std::to_string(out.window.count()) +
                                                  " is not positive, or all windows together "
                                                  "last longer than 2^63 ns");
  }
  LEEWAY_RETURN_IF_ERROR(CheckPositions(generated, check));
  out.positions.assign(generated.quantile_positions().begin(),
                       generated.quantile_positions().end());
  LEEWAY_ASSIGN_OR_RETURN(out.cells, ReadCells(generated, streams, check));
  return out;
}

}  // namespace

Result<TrafficMessage> ParseTrafficMessage(std::string_view bytes, const std::string& name) {
  const Checker check(name);
  pb::Traffic message;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::DataLoss(name + ": not a leeway.traffic message, or cut short");
  }
  if (message.min_reader_version() > kReaderVersion) {
    return base::Unimplemented(name + ": needs a reader of version " +
                               std::to_string(message.min_reader_version()) + "; this one is " +
                               std::to_string(kReaderVersion));
  }
  TrafficMessage out;
  LEEWAY_ASSIGN_OR_RETURN(out.streams, ReadStreams(message, check));
  switch (message.arrivals_case()) {
    case pb::Traffic::kRecorded: {
      LEEWAY_ASSIGN_OR_RETURN(out.arrivals,
                              ReadRecorded(message.recorded(), out.streams.size(), check));
      return out;
    }
    case pb::Traffic::kGenerated: {
      LEEWAY_ASSIGN_OR_RETURN(out.arrivals,
                              ReadGenerated(message.generated(), out.streams.size(), check));
      return out;
    }
    case pb::Traffic::ARRIVALS_NOT_SET:
      break;
  }
  return check.Error("arrivals", "neither recorded nor generated");
}

}  // namespace leeway::traffic
