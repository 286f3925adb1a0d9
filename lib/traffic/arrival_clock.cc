#include "traffic/arrival_clock.h"

#include "base/math.h"
#include "traffic/quoted.h"

namespace leeway::traffic {

std::nullopt_t ArrivalClock::Fail(std::string_view text, std::string_view problem) {
  problem_ = "arrival " + Quoted(text) + " " + std::string(problem);
  return std::nullopt;
}

std::optional<std::int64_t> ArrivalClock::Parse(std::string_view text) {
  if (!started_ && !unit_) dates_ = ParseDateTime(text).has_value();
  if (dates_) {
    const auto date = ParseDateTime(text);
    return date ? date : Fail(text, "is not a date and time");
  }
  const TimeUnit unit = unit_.value_or(TimeUnit::kSeconds);
  const auto number = ParseDecimalNanos(text, unit);
  if (!number && !started_ && !unit_) {
    return Fail(text, "is neither a number of seconds nor a date and time");
  }
  if (!number) {
    return Fail(text, std::string("is not a number of ") + TimeUnitName(unit) + " below 2^63 ns");
  }
  // "-0.0000000001" has no nanosecond left, but its sign is still wrong.
  if (text.front() == '-') return Fail(text, "is negative");
  return number;
}

std::optional<Instant> ArrivalClock::Read(std::string_view text) {
  const auto time = Parse(text);
  if (!time) return std::nullopt;
  if (!started_) first_ = last_ = *time;
  started_ = true;
  if (*time < last_) return Fail(text, "is before the arrival of the row before");
  const auto since_first = base::CheckedSub(*time, first_);
  if (!since_first) return Fail(text, "is more than 292 years after the first");
  last_ = *time;
  return Instant(Nanos(*since_first));
}

}  // namespace leeway::traffic
