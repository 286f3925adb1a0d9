// Turns the arrival column of a table into times since the first arrival.

#ifndef LEEWAY_TRAFFIC_ARRIVAL_CLOCK_H_
#define LEEWAY_TRAFFIC_ARRIVAL_CLOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leeway/time.h"
#include "traffic/time_text.h"

namespace leeway::traffic {

class ArrivalClock {
 public:
  // Without a unit the first arrival decides: a date and time, or a number of seconds.
  explicit ArrivalClock(std::optional<TimeUnit> unit) : unit_(unit) {}

  // Returns the time since the first arrival, or nothing; problem() then says why: no time, a
  // negative one, one before the arrival before it, or more than 292 years after the first.
  std::optional<Instant> Read(std::string_view text);
  const std::string& problem() const { return problem_; }

 private:
  std::optional<std::int64_t> Parse(std::string_view text);
  std::nullopt_t Fail(std::string_view text, std::string_view problem);

  std::optional<TimeUnit> unit_;
  bool dates_ = false;
  bool started_ = false;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::string problem_;
};

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_ARRIVAL_CLOCK_H_
