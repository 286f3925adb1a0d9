// The traffic of a loop experiment: windows of trace time, and what comes in them.
//
// Drawn traffic (histograms, generators) gives as many requests to a window as it is asked for.
// Recorded traffic gives its own, or draws from them with replacement.
//
// Threading: one thread at a time.
// Memory:    24 bytes a request; recorded traffic is kept whole.

#ifndef LEEWAY_RETUNE_LOOP_TRAFFIC_H_
#define LEEWAY_RETUNE_LOOP_TRAFFIC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"
#include "retune/regret.h"
#include "traffic/body.h"

namespace leeway::retune {

struct LoopRequest {
  Instant at;
  std::uint32_t stream = 0;
  std::uint32_t position = 0;  // among what was read or drawn
  std::int64_t length = 0;
};
using LoopRequests = std::vector<LoopRequest>;

// More would not fit the memory of a small machine.
inline constexpr std::uint64_t kMaxLoopRequests = std::uint64_t{1} << 24;

// Returns the histogram of the requests' lengths, and of those at even and odd positions: a request
// that was drawn twice is in one half.
TrafficWindow LengthsOf(const LoopRequests& requests);

class LoopSource {
 public:
  struct Options {
    std::size_t dim = 0;            // of the traffic
    std::string name;               // of the plan's dim that it feeds
    std::int64_t min = 1, max = 1;  // its domain
    enum class Outside { kClamp, kRefuse } outside = Outside::kClamp;
    // 0: the smaller of one hour and a sixth of the span, for drawn traffic in whole windows of its
    // own.
    Nanos window{0};
    std::uint64_t seed = 0;
    std::function<bool()> polled = {};  // false ends reading with kCancelled
  };
  struct Window {
    Instant from, to;
    double expected = 0;  // requests at the source's own rates
    Nanos length() const { return to - from; }
  };

  // Reads recorded traffic, or the windows of drawn traffic; empty windows are left out.
  // kFailedPrecondition for fewer than two, kOutOfRange for a length outside the domain (kRefuse),
  // kResourceExhausted for more than kMaxLoopRequests, kCancelled, or the traffic's own errors.
  static Result<LoopSource> Open(std::shared_ptr<const traffic::Body> body, const Options& options);

  const std::vector<Window>& windows() const { return windows_; }
  bool drawn() const { return drawn_; }
  std::uint64_t requests() const { return requests_; }
  Nanos window() const { return window_; }

  // Merges neighbours, from window `from` on, until each expects at least `least` of the requests
  // that `expected` gives per window; a last one that does not joins the one before.
  void Merge(std::size_t from, double least, const std::vector<double>& expected);

  // Returns the requests at the source's own rates by window, at trace times.
  Result<std::vector<LoopRequests>> AtOwnRates();
  // Returns counts[w] requests of window w, at time 0, in the source's order. Equal seeds draw
  // equal requests; those of a window depend on no other's.
  Result<std::vector<LoopRequests>> Draw(const std::vector<std::uint64_t>& counts,
                                         std::uint64_t seed);

  // As Draw, of requests that are measured and not kept: they count neither as seen nor as clamped.
  Result<std::vector<LoopRequests>> Sampled(const std::vector<std::uint64_t>& counts,
                                            std::uint64_t seed);

  // Requests read or drawn to be kept so far, and those of them whose length was clamped.
  std::uint64_t seen() const { return seen_; }
  std::uint64_t clamped() const { return clamped_; }

 private:
  LoopSource(std::shared_ptr<const traffic::Body> body, const Options& options)
      : body_(std::move(body)), options_(options) {}

  Status FindWindow();
  Status Poll();
  Status ReadThrough();
  Status ReadRecorded();
  Status ReadWindows();
  void CutLast();
  Result<LoopRequest> Bound(const traffic::Arrival& arrival);
  std::size_t WindowOf(Instant at) const;
  Result<std::vector<LoopRequests>> Sorted(traffic::Reader& reader);

  std::shared_ptr<const traffic::Body> body_;
  Options options_;
  std::vector<Window> windows_;
  bool drawn_ = false;
  std::uint64_t requests_ = 0, read_ = 0, seen_ = 0, clamped_ = 0;
  Nanos window_{0};
  LoopRequests recorded_;  // in order of time
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_TRAFFIC_H_
