#include "report/figures.h"

#include <clocale>
#include <cmath>
#include <limits>

#include "tests/catch.h"

namespace leeway::report {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("durations have four digits and the largest unit that they fill", "[report]") {
  CHECK(Duration(0ns) == "0 ns");
  CHECK(Duration(999ns) == "999 ns");
  CHECK(Duration(-250ns) == "−250 ns");
  CHECK(Duration(1234us) == "1.234 ms");
  CHECK(Duration(-1234us) == "−1.234 ms");
  CHECK(Duration(999960us) == "1.000 s");
  CHECK(Duration(Nanos::max()) == "–");
  CHECK(SignedDuration(5ms) == "+5.000 ms");
  CHECK(SignedDuration(0ns) == "0 ns");
  CHECK(Span(1h) == "1 h");
  CHECK(Span(90min) == "90 min");
  CHECK(Span(14 * Nanos(24h)) == "14 d");
}

TEST_CASE("counts are grouped by thousands", "[report]") {
  CHECK(Count(0) == "0");
  CHECK(Count(999) == "999");
  CHECK(Count(1000) == "1,000");
  CHECK(Count(18446744073709551615u) == "18,446,744,073,709,551,615");
  CHECK(Length(-1234) == "−1,234");
  CHECK(Counted(1, "run", "runs") == "1 run");
  CHECK(Counted(2000, "run", "runs") == "2,000 runs");
}

TEST_CASE("a percentage that rounds to zero has no sign", "[report]") {
  CHECK(SignedPercent(0.1234) == "+12.34 %");
  CHECK(SignedPercent(-0.1234) == "−12.34 %");
  CHECK(SignedPercent(0.00001) == "0.00 %");
  CHECK(SignedPercent(-0.00001) == "0.00 %");
  CHECK(Interval(std::pair(-0.01, 0.02)) == "[−1.00 %, +2.00 %]");
  CHECK(Gain({0.05, std::pair(-0.01, 0.12)}) == "+5.00 %, 95 % CI [−1.00 %, +12.00 %]");
  CHECK(Gain({0.05, std::nullopt}) == "+5.00 %");
}

TEST_CASE("what is not finite is a dash", "[report]") {
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  CHECK(Percent(bad) == "–");
  CHECK(SignedPercent(bad) == "–");
  CHECK(Number(bad) == "–");
  CHECK(Shortest(bad) == "–");
  CHECK(Energy(bad) == "–");
}

TEST_CASE("a host's locale does not reach the figures", "[report]") {
  // Where none of these is installed there is nothing to be changed by.
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  CHECK(Duration(1500us) == "1.500 ms");
  CHECK(Number(1234.5) == "1,234");
  CHECK(Number(0.25) == "0.250");
  CHECK(Shortest(0.7) == "0.7");
  CHECK(Shortest(2) == "2");
  CHECK(Energy(1500) == "1.500 kJ");
  std::setlocale(LC_ALL, "C");
}

TEST_CASE("apportioned percentages add up as printed", "[report]") {
  CHECK(Apportioned({1.0 / 3, 1.0 / 3, 1.0 / 3}) == Words{"33.33 %", "33.34 %", "33.33 %"});
  CHECK(Apportioned({0.685349, 0.028712, 0.285939}) == Words{"68.53 %", "2.87 %", "28.60 %"});
  CHECK(Apportioned({0.66666, 0.16667, 0.16667}) == Words{"66.67 %", "16.67 %", "16.66 %"});
  CHECK(Apportioned({1, 0, 0}) == Words{"100.00 %", "0.00 %", "0.00 %"});
  CHECK(Apportioned({0.999999, 0.000001}) == Words{"100.00 %", "0.00 %"});
  CHECK(Apportioned({0.25, 0.25}) == Words{"25.00 %", "25.00 %"});
  CHECK(Apportioned({std::nan(""), 1}) == Words{"–", "100.00 %"});
  CHECK(Apportioned({}).empty());
}

}  // namespace
}  // namespace leeway::report
