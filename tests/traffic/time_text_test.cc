#include "traffic/time_text.h"

#include <limits>
#include <string>

#include "tests/catch.h"

namespace leeway::traffic {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST_CASE("a decimal number becomes nanoseconds without rounding", "[traffic][time]") {
  CHECK(ParseDecimalNanos("17", TimeUnit::kSeconds) == 17'000'000'000);
  CHECK(ParseDecimalNanos("0.1", TimeUnit::kSeconds) == 100'000'000);
  CHECK(ParseDecimalNanos("1700158546.680590123", TimeUnit::kSeconds) == 1700158546680590123);
  CHECK(ParseDecimalNanos("27482.5", TimeUnit::kMillis) == 27482500000);
  CHECK(ParseDecimalNanos("3", TimeUnit::kMicros) == 3000);
  CHECK(ParseDecimalNanos("42", TimeUnit::kNanos) == 42);
  CHECK(ParseDecimalNanos("-0.25", TimeUnit::kSeconds) == -250'000'000);
  CHECK(ParseDecimalNanos("+5.", TimeUnit::kNanos) == 5);
  CHECK(ParseDecimalNanos(".5", TimeUnit::kMicros) == 500);
  CHECK(ParseDecimalNanos("9223372036854775807", TimeUnit::kNanos) == kMax);
}

TEST_CASE("digits below a nanosecond are dropped", "[traffic][time]") {
  CHECK(ParseDecimalNanos("1.9999999999999", TimeUnit::kSeconds) == 1'999'999'999);
  CHECK(ParseDecimalNanos("0.9", TimeUnit::kNanos) == 0);
  CHECK(ParseDecimalNanos("1234e-12", TimeUnit::kSeconds) == 1);
  CHECK(ParseDecimalNanos("1e-999999999999", TimeUnit::kSeconds) == 0);
}

TEST_CASE("an exponent moves the point", "[traffic][time]") {
  CHECK(ParseDecimalNanos("1.5e3", TimeUnit::kMillis) == 1'500'000'000);
  CHECK(ParseDecimalNanos("1.700158546E9", TimeUnit::kSeconds) == 1700158546000000000);
  CHECK(ParseDecimalNanos("12e-1", TimeUnit::kSeconds) == 1'200'000'000);
  CHECK(ParseDecimalNanos("0e999999999999", TimeUnit::kSeconds) == 0);
  CHECK(ParseDecimalNanos("0.000e+5", TimeUnit::kSeconds) == 0);
}

TEST_CASE("what is no decimal number or too large is refused", "[traffic][time]") {
  const std::string text = GENERATE(as<std::string>(), "", "-", ".", "1x", " 1", "1 ", "0x10", "1e",
                                    "e5", "1e+", "nan", "inf", "--1", "1.2.3", "1,5", "9223372037",
                                    "1e300", "1e999999999999", "-9223372037");
  CAPTURE(text);
  CHECK_FALSE(ParseDecimalNanos(text, TimeUnit::kSeconds));
}

TEST_CASE("a date and time becomes nanoseconds since 1970", "[traffic][time]") {
  CHECK(ParseDateTime("1970-01-01 00:00:00") == 0);
  CHECK(ParseDateTime("1970-01-01T00:01") == 60'000'000'000);
  CHECK(ParseDateTime("2023-11-16 18:15:46.6805900") == 1700158546680590000);
  CHECK(ParseDateTime("2023-11-16T18:15:46.680590001Z") == 1700158546680590001);
  CHECK(ParseDateTime("2023-11-16T19:15:46+01:00") == 1700158546000000000);
  CHECK(ParseDateTime("2023-11-16T12:45:46-0530") == 1700158546000000000);
  CHECK(ParseDateTime("2023-11-16T20:15:46+02") == 1700158546000000000);
  CHECK(ParseDateTime("2024-02-29 00:00:00") == 1709164800000000000);
  CHECK(ParseDateTime("1969-12-31 23:59:59.5") == -500'000'000);
}

TEST_CASE("what is no date and time is refused", "[traffic][time]") {
  const std::string text = GENERATE(
      as<std::string>(), "", "2023-11-16", "2023-11-16 18", "2023-11-16 18:15:", "2023-13-01 00:00",
      "2023-02-29 00:00", "2023-04-31 00:00", "2023-00-10 00:00", "2023-11-16 24:00",
      "2023-11-16 18:60", "2023-11-16 18:15:60", "2023-11-16 18:15:46.", "2023-11-16  18:15:46",
      "2023-11-16 18:15:46.0123456789", "2023-11-16 18:15:46 Z", "2023-11-16 18:15:46+1",
      "2023-11-16 18:15:46+01:0", "2023-11-16 18:15:46+24:00", "23-11-16 18:15:46",
      "1500-01-01 00:00:00", "9999-01-01 00:00:00", "2023/11/16 18:15:46");
  CAPTURE(text);
  CHECK_FALSE(ParseDateTime(text));
}

}  // namespace
}  // namespace leeway::traffic
