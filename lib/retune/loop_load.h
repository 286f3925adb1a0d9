// How traffic meets the device in a loop experiment: how many requests each window holds, and when
// in device time they arrive.
//
// Flat: equal offered load in every window, so that only the mix of shapes drifts. A window holds
// requests in proportion to what the frozen plan gets through of its mix, at uniform random times.
// Recorded: as the traffic has it. One factor ties trace time to device time, such that the mean
// offered load is what was asked for.

#ifndef LEEWAY_RETUNE_LOOP_LOAD_H_
#define LEEWAY_RETUNE_LOOP_LOAD_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"
#include "retune/adaptation.h"
#include "retune/loop_traffic.h"

namespace leeway::retune {

// What every arm serves, in device time, which begins where serving does.
struct ServedTraffic {
  std::vector<ServedWindow> windows;     // the first is compiled for and not served
  std::vector<Instant> ends;             // of the windows
  LoopRequests requests;                 // of the windows from 1 on
  std::vector<std::uint32_t> window_of;  // by request
  // By window, 0 for the first: what the frozen plan gets through in requests a nanosecond, and the
  // offered load in shares of it.
  std::vector<double> throughput, load;
  double compression = 1;  // trace time / device time

  Nanos ToDevice(Nanos trace) const;
};

// Returns whole nanoseconds, rounded; 2^61 for what is longer, 0 for what is no duration.
Nanos ToNanos(double ns);

struct LoadOptions {
  enum class Rate { kFlat, kRecorded } rate = Rate::kFlat;
  double load = 0.7;
  std::uint64_t min_requests = 1000;  // of a window, where flat rates merge windows further
  std::uint64_t seed = 0;
};

// Requests whose joint service tells a window's throughput.
inline constexpr std::uint64_t kThroughputRequests = 500;

// Compiles for the first window's requests, before anything is measured.
using CompileFirst = std::function<Status(const LoopRequests&)>;
// Returns by window (0 for the first) what the plan so compiled gets through of a sample of
// kThroughputRequests that are due at once.
using MeasureThroughput =
    std::function<Result<std::vector<double>>(const std::vector<LoopRequests>& samples)>;

// Loads the source's windows; may merge them. The source's and the callables' errors.
Result<ServedTraffic> LoadTraffic(LoopSource& source, const LoadOptions& options,
                                  const CompileFirst& compile, const MeasureThroughput& measure);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_LOAD_H_
