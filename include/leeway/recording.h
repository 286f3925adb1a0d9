// What a replay needs: where the requests of a run came from and how they bound to its plan.
//
// A simulation's arrivals follow from traffic, seed and binding, so a recording refers to them and
// holds no copy: it costs no memory, and replaying reads the traffic again. A plan whose dims have
// the same names serves the same requests from it.
//
// Threading: immutable; any thread may read. Copies share the traffic's body.
// Lifetime:  keeps the traffic alive; a file it was opened from must still be there for a replay.

#ifndef LEEWAY_RECORDING_H_
#define LEEWAY_RECORDING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leeway/simulate.h"
#include "leeway/traffic.h"

namespace leeway {
inline namespace v0 {

// What Simulate() takes to draw and bind requests: as SimulateOptions of the same names.
struct RecordingOptions {
  std::uint64_t seed = 0;
  std::string entry = {};
  std::vector<std::pair<std::string, std::string>> bind = {};
  SimulateOptions::AboveDomain above_domain = SimulateOptions::AboveDomain::kClamp;
};

class Recording {
 public:
  // Nothing is read or checked until it is replayed.
  explicit Recording(Traffic traffic, RecordingOptions options = {})
      : traffic_(std::move(traffic)), options_(std::move(options)) {}

  // The part of the traffic that was served.
  const Traffic& traffic() const { return traffic_; }
  std::uint64_t seed() const { return options_.seed; }
  // Empty: the plan's only entry that is not internal.
  const std::string& entry() const { return options_.entry; }
  // Dims of the traffic tied to dims of the plan, beside those of equal name.
  const std::vector<std::pair<std::string, std::string>>& bind() const { return options_.bind; }
  SimulateOptions::AboveDomain above_domain() const { return options_.above_domain; }

 private:
  Traffic traffic_;
  RecordingOptions options_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_RECORDING_H_
