// Length histograms by (entry, dim, stream) and time window, as they are recorded: what drift
// detection and bucketing read.
//
// Threading: one thread at a time.
// Memory:    bounded. Of each series the newest `max_windows` windows are kept; what older ones
//            held is counted as dropped.

#ifndef LEEWAY_TELEMETRY_LENGTH_RECORDER_H_
#define LEEWAY_TELEMETRY_LENGTH_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/ids.h"
#include "leeway/time.h"
#include "telemetry/length_counts.h"

namespace leeway::telemetry {

struct LengthWindow {
  std::string entry;
  std::string dim;
  std::string stream;
  // Half open.
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  AlignedCounts counts;

  friend bool operator==(const LengthWindow&, const LengthWindow&) = default;
};

class LengthRecorder {
 public:
  using Series = base::Id<struct LengthSeriesTag>;

  struct Options {
    // Windows start at multiples of it, so that those of different replicas coincide.
    Nanos window = 1h;
    // Added to every instant: the origin's Unix time, or 0 for virtual time.
    std::int64_t origin_ns = 0;
    std::size_t max_windows = 1024;
    LengthCounts::Options counts;
  };

  LengthRecorder() : LengthRecorder(Options()) {}
  explicit LengthRecorder(Options options);

  // A series lives as long as the recorder.
  Series AddSeries(std::string entry, std::string dim, std::string stream);
  // Requires length >= 0. An instant before the newest window goes to its own window while that is
  // kept, else it is dropped.
  void Record(Series series, Instant at, std::int64_t length);

  // Everything kept, the open windows too, by series and then by time.
  std::vector<LengthWindow> Windows() const;
  // Lengths recorded but no longer kept.
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Closed {
    std::int64_t start_ns = 0;
    AlignedCounts counts;
  };

  struct State {
    std::string entry, dim, stream;
    // Bounds of the open window; empty before the first record.
    std::int64_t start_ns = 0, end_ns = 0;
    LengthCounts open;
    std::deque<Closed> closed;  // ascending
  };

  void OpenWindow(State& state, std::int64_t at_ns);
  void RecordLate(State& state, std::int64_t at_ns, std::int64_t length);
  std::int64_t WindowStart(std::int64_t at_ns) const;
  LengthWindow WindowOf(const State& state, std::int64_t start_ns, AlignedCounts counts) const;

  Options options_;
  std::vector<State> series_;
  std::uint64_t dropped_ = 0;
};

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_LENGTH_RECORDER_H_
