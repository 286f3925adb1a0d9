// Arrivals: when requests come, of which shape, on which stream.
//
// A Traffic describes where arrivals come from and which part of them is wanted; reading is
// streamed, so that memory does not depend on the trace's length.
//
// Threading: immutable; any thread may read. Copies share one body.
// Time:      arrivals count from the trace's first arrival (recorded) or its start (generated).
// Errors:    Open checks what can be checked without reading the whole file; a bad row is found
// when
//            it is read and names the file and the line.

#ifndef LEEWAY_TRAFFIC_H_
#define LEEWAY_TRAFFIC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway {

namespace traffic {
class Body;
}  // namespace traffic

inline namespace v0 {

struct TrafficOptions {
  // "auto" (by the file's name and first line), "csv", "jsonl", "leeway" (a serialized
  // leeway.traffic), "length-histogram" (rows window_start_s,seq,count), or a preset map:
  // "azure-llm", "mooncake".
  std::string format = "auto";
  // Columns of a CSV or JSON Lines file: "arrival=TIMESTAMP,seq=ContextTokens[,stream=…]". A unit
  // may follow the arrival column: "arrival=timestamp:ms" (s, ms, us, ns; ISO dates need none).
  std::string map = {};
  // Requests to draw from a length histogram or a generator; 0 means as many as it declares.
  std::uint64_t requests = 0;
  // Stop after this many requests; 0 means no limit.
  std::uint64_t limit = 0;
};

class Traffic {
 public:
  // Opens a file (.gz is read directly) or, where no file of that name exists, the traffic that
  // ships under that name ("chat_14d"). kNotFound and other I/O codes name the path;
  // kInvalidArgument a format, map or column that does not fit, with file and line; kDataLoss a
  // truncated file.
  static Result<Traffic> Open(const std::string& path_or_name, const TrafficOptions& options = {});
  // As Open, from a serialized leeway.traffic message in memory.
  static Result<Traffic> Parse(std::string_view bytes, std::string_view name);
  // Requests with exponential gaps of the given mean rate on one stream, for one dimension whose
  // values are `lengths`, drawn with equal probability. kInvalidArgument if rate or a length is not
  // positive or `lengths` is empty.
  static Result<Traffic> Poisson(double requests_per_second, Nanos span, std::string_view dim,
                                 std::vector<std::int64_t> lengths);

  // The arrivals of the first `span` of the trace, and of its last. Last reads a recorded trace
  // once to find its end, when it is first used; its times begin anew, as those of a trace of its
  // own.
  Traffic First(Nanos span) const;
  Traffic Last(Nanos span) const;
  Traffic Limit(std::uint64_t requests) const;

  std::string_view name() const;
  // SHA-256 of the source bytes and the selection, in hexadecimal: the path is not in it. Reads the
  // file when it is first called; all zeros if that fails.
  const std::string& digest() const;
  // Names of the dims that the traffic carries, and of its streams.
  const std::vector<std::string>& dims() const;
  std::vector<std::string> streams() const;

  // For the library's own modules.
  explicit Traffic(std::shared_ptr<const traffic::Body> body) : body_(std::move(body)) {}
  const std::shared_ptr<const traffic::Body>& body() const { return body_; }

 private:
  std::shared_ptr<const traffic::Body> body_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_TRAFFIC_H_
