#include "traffic/time_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/math.h"

namespace leeway::traffic {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Splits what is digits off the front.
std::string_view TakeDigits(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && IsDigit(text[size])) ++size;
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

bool TakeChar(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Appends up to `count` of `digits` to the number, and zeros where there are fewer.
bool AppendDigits(std::int64_t& value, std::string_view digits, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool present = static_cast<std::size_t>(i) < digits.size();
    // Nothing but zeros can follow.
    if (!present && value == 0) return true;
    const int digit = present ? digits[static_cast<std::size_t>(i)] - '0' : 0;
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return false;
    if (__builtin_add_overflow(value, std::int64_t{digit}, &value)) return false;
  }
  return true;
}

// Reads the exponent after "e"; out-of-range ones are clamped to where the result is 0 or too
// large.
std::optional<std::int64_t> TakeExponent(std::string_view& text) {
  const bool negative = !text.empty() && text.front() == '-';
  TakeChar(text, "+-");
  const std::string_view digits = TakeDigits(text);
  if (digits.empty()) return std::nullopt;
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  std::int64_t value = kLimit;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  value = std::min(value, kLimit);
  return negative ? -value : value;
}

int UnitExponent(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return 9;
    case TimeUnit::kMillis:
      return 6;
    case TimeUnit::kMicros:
      return 3;
    case TimeUnit::kNanos:
      return 0;
  }
  return 0;
}

// Reads exactly `width` digits.
std::optional<int> TakeFixed(std::string_view& text, std::size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    if (!IsDigit(text[i])) return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  text.remove_prefix(width);
  return value;
}

// Reads "YYYY-MM-DD" and returns its days since 1970-01-01.
std::optional<std::int64_t> TakeDate(std::string_view& text) {
  const auto year = TakeFixed(text, 4);
  if (!year || !TakeChar(text, "-")) return std::nullopt;
  const auto month = TakeFixed(text, 2);
  if (!month || !TakeChar(text, "-")) return std::nullopt;
  const auto day = TakeFixed(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// Reads "hh:mm[:ss[.f…]]" and returns its nanoseconds.
std::optional<std::int64_t> TakeClock(std::string_view& text) {
  const auto hour = TakeFixed(text, 2);
  if (!hour || *hour > 23 || !TakeChar(text, ":")) return std::nullopt;
  const auto minute = TakeFixed(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::int64_t seconds = (*hour * 60 + *minute) * 60;
  if (!TakeChar(text, ":")) return seconds * kNanosPerSecond;
  const auto second = TakeFixed(text, 2);
  if (!second || *second > 59) return std::nullopt;
  seconds += *second;
  std::int64_t fraction = 0;
  if (TakeChar(text, ".,")) {
    const std::string_view digits = TakeDigits(text);
    if (digits.empty() || digits.size() > 9) return std::nullopt;
    AppendDigits(fraction, digits, 9);
  }
  return seconds * kNanosPerSecond + fraction;
}

// Reads "", "Z" or an offset from UTC to the end of the text and returns its seconds.
std::optional<std::int64_t> TakeOffset(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const bool west = text.front() == '-';
  if (!TakeChar(text, "+-")) return std::nullopt;
  const auto hours = TakeFixed(text, 2);
  if (!hours || *hours > 23) return std::nullopt;
  std::optional<int> minutes = 0;
  if (!text.empty()) {
    TakeChar(text, ":");
    minutes = TakeFixed(text, 2);
  }
  if (!minutes || *minutes > 59 || !text.empty()) return std::nullopt;
  const std::int64_t seconds = (*hours * 60 + *minutes) * 60;
  return west ? -seconds : seconds;
}

}  // namespace

std::optional<TimeUnit> ParseTimeUnit(std::string_view text) {
  for (const TimeUnit unit :
       {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos}) {
    if (text == TimeUnitName(unit)) return unit;
  }
  return std::nullopt;
}

const char* TimeUnitName(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return "s";
    case TimeUnit::kMillis:
      return "ms";
    case TimeUnit::kMicros:
      return "us";
    case TimeUnit::kNanos:
      return "ns";
  }
  return "";
}

std::optional<std::int64_t> ParseDecimalNanos(std::string_view text, TimeUnit unit) {
  const bool negative = !text.empty() && text.front() == '-';
  TakeChar(text, "+-");
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (TakeChar(text, ".")) fraction = TakeDigits(text);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  std::int64_t exponent = 0;
  if (TakeChar(text, "eE")) {
    const auto read = TakeExponent(text);
    if (!read) return std::nullopt;
    exponent = *read;
  }
  if (!text.empty()) return std::nullopt;
  // The point moves `shift` digits to the right; what is then left of it counts.
  const std::int64_t shift = exponent + UnitExponent(unit);
  const auto whole_digits = static_cast<std::int64_t>(whole.size());
  std::int64_t value = 0;
  if (!AppendDigits(value, whole, whole_digits + std::min<std::int64_t>(shift, 0)) ||
      !AppendDigits(value, fraction, shift)) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> ParseDateTime(std::string_view text) {
  const auto days = TakeDate(text);
  if (!days || !TakeChar(text, "Tt ")) return std::nullopt;
  const auto clock = TakeClock(text);
  if (!clock) return std::nullopt;
  const auto offset = TakeOffset(text);
  if (!offset) return std::nullopt;
  const auto midnight = base::CheckedMul(*days * 86400 - *offset, kNanosPerSecond);
  return midnight ? base::CheckedAdd(*midnight, *clock) : std::nullopt;
}

}  // namespace leeway::traffic
