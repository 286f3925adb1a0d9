// Times written as text, read exactly: no double is involved.

#ifndef LEEWAY_TRAFFIC_TIME_TEXT_H_
#define LEEWAY_TRAFFIC_TIME_TEXT_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace leeway::traffic {

enum class TimeUnit { kSeconds, kMillis, kMicros, kNanos };

// "s", "ms", "us", "ns", or nothing.
std::optional<TimeUnit> ParseTimeUnit(std::string_view text);
const char* TimeUnitName(TimeUnit unit);

// Returns the nanoseconds of a decimal number of `unit`, with or without fraction and exponent
// ("17", "-0.25", "1.7e9"). Digits below a nanosecond are dropped. Nothing if the text is no number
// or does not fit.
std::optional<std::int64_t> ParseDecimalNanos(std::string_view text, TimeUnit unit);

// Returns the nanoseconds since 1970-01-01 00:00 UTC of an ISO 8601 date and time:
// "2023-11-16 18:15[:46[.6805900]][Z|+01:00|-0530|+02]", with "T" or one space between, at most 9
// digits of fraction, UTC where no offset is given. Nothing if it is none or beyond the years
// 1678 to 2261.
std::optional<std::int64_t> ParseDateTime(std::string_view text);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_TIME_TEXT_H_
