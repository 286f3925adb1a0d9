// Facts about published traces, where they are at hand.

#include <string>

#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

#ifdef LEEWAY_SHARED_DATA_DIR

const std::string kFolder = LEEWAY_SHARED_DATA_DIR "/traffic/";

TEST_CASE("the Azure conversation trace has 19,366 requests in 6 windows of 10 minutes",
          "[traffic][data]") {
  const auto traffic = Traffic::Open(kFolder + "AzureLLMInferenceTrace_conv.csv");
  REQUIRE(traffic.ok());
  const WindowsReading reading = ReadWindows(*traffic, 10min);
  REQUIRE(reading.status.ok());
  CHECK(reading.windows.size() == 6);
  double total = 0;
  double halves = 0;
  for (const LengthWindow& window : reading.windows) {
    for (const auto& [length, count] : window.lengths) total += count;
    for (const auto& [length, count] : window.even) halves += count;
    for (const auto& [length, count] : window.odd) halves += count;
  }
  CHECK(total == 19'366);
  CHECK(halves == 19'366);
  const std::vector<Arrival> arrivals = ReadAll(*traffic).arrivals;
  REQUIRE(arrivals.size() == 19'366);
  // 19:14:08.4025270 − 18:15:46.6805900.
  CHECK(arrivals.back().at == Instant(Nanos(3'501'721'937'000)));
  CHECK(arrivals[0].dims[0] == 374);
}

TEST_CASE("the ServeGen histogram has 336 hours and lengths to 30,712", "[traffic][data]") {
  const auto traffic = Traffic::Open(kFolder + "servegen_m_large_hourly.csv.gz");
  REQUIRE(traffic.ok());
  const auto windows = traffic->body()->NewWindows(1h, 0, 1);
  REQUIRE(windows.ok());
  int count = 0;
  std::size_t rows = 0;
  std::int64_t longest = 0;
  for (;;) {
    const auto window = (*windows)->Next();
    REQUIRE(window.ok());
    if (!*window) break;
    ++count;
    rows += (*window)->lengths.size();
    longest = std::max(longest, (*window)->lengths.back().first);
  }
  CHECK(count == 336);
  CHECK(longest == 30'712);
  CHECK(rows > 2'300'000);
  CHECK(traffic->body()->declared_span() == Nanos(336h));
}

TEST_CASE("days of ServeGen merge into the same totals", "[traffic][data]") {
  const auto traffic = Traffic::Open(kFolder + "servegen_m_large_hourly.csv.gz");
  REQUIRE(traffic.ok());
  const WindowsReading days = ReadWindows(*traffic, 24h);
  REQUIRE(days.windows.size() == 14);
  double total = 0;
  for (const LengthWindow& window : days.windows) {
    for (const auto& [length, count] : window.lengths) total += count;
  }
  CHECK(total == Approx(148'588'303.12).epsilon(1e-9));
}

#else

TEST_CASE("facts about published traces need them at hand", "[traffic][data]") {
  WARN("LEEWAY_SHARED_DATA_DIR names no folder with traffic/: nothing was checked");
}

#endif

}  // namespace
}  // namespace leeway::traffic::testing
