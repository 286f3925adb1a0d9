#include "base/math.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::base {
namespace {

__extension__ typedef __int128 Int128;  // NOLINT: __extension__ takes no alias

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kNormal = std::numeric_limits<double>::min();
// The bound that math.h states.
constexpr long double kBound = 4e-15L;

static_assert(std::numeric_limits<long double>::digits >= 64,
              "the oracle needs a long double wider than a double");

// Relative in the normal range; below it two doubles may be one step apart at most.
bool WithinBound(double got, long double want) {
  const long double size = std::fabs(want);
  const long double slack = size < kNormal ? static_cast<long double>(kSmallest) : kBound * size;
  return std::fabs(got - want) <= slack;
}

// Positive doubles of every exponent, subnormal ones included, and the neighbours of 1.
std::vector<double> Positives() {
  std::vector<double> points = {kSmallest, 3 * kSmallest, kNormal, kLargest, 1, 2, 0.5, 10, M_E};
  Prng prng(1);
  for (int exponent = -1073; exponent <= 1023; ++exponent) {
    for (int i = 0; i < 20; ++i) points.push_back(std::ldexp(1 + prng.Unit(), exponent));
  }
  for (int i = 0; i < 20'000; ++i) points.push_back(0.5 + 1.5 * prng.Unit());
  double above = 1;
  double below = 1;
  for (int i = 0; i < 50; ++i) {
    points.push_back(above = std::nextafter(above, 2));
    points.push_back(below = std::nextafter(below, 0));
    points.push_back(1 + std::ldexp(1.0, -i));
    points.push_back(1 - std::ldexp(1.0, -i - 1));
  }
  // The border between two exponents of the reduced argument.
  points.push_back(M_SQRT1_2);
  points.push_back(std::nextafter(M_SQRT1_2, 0));
  points.push_back(std::nextafter(M_SQRT1_2, 1));
  return points;
}

TEST_CASE("logarithms stay within the stated bound of the long double ones", "[base][oracle]") {
  for (const double x : Positives()) {
    CAPTURE(x);
    CHECK(WithinBound(Log2(x), std::log2(static_cast<long double>(x))));
    CHECK(WithinBound(Log(x), std::log(static_cast<long double>(x))));
  }
}

// Exponents over the range that does not overflow, halves (where rounding turns) and tiny ones.
std::vector<double> Exponents(double lowest, double highest) {
  std::vector<double> points = {0.0, -0.0, kSmallest, -kSmallest, 1, -1, lowest, highest};
  Prng prng(2);
  for (int i = 0; i < 60'000; ++i) points.push_back(lowest + (highest - lowest) * prng.Unit());
  for (int i = 0; i < 20'000; ++i) points.push_back(2 * prng.Unit() - 1);
  for (int i = 0; i < 1000; ++i) points.push_back(std::ldexp(2 * prng.Unit() - 1, -i));
  for (double half = -700.5; half <= 700; half += 1) {
    for (const double x : {half, std::nextafter(half, 0), std::nextafter(half, 2 * half)}) {
      points.push_back(x);
    }
  }
  return points;
}

TEST_CASE("exponentials stay within the stated bound of the long double ones", "[base][oracle]") {
  for (const double x : Exponents(-1080, std::nextafter(1024, 0))) {
    CAPTURE(x);
    CHECK(WithinBound(Exp2(x), std::exp2(static_cast<long double>(x))));
  }
  for (const double x : Exponents(-750, 709.78)) {
    CAPTURE(x);
    CHECK(WithinBound(Exp(x), std::exp(static_cast<long double>(x))));
  }
}

TEST_CASE("powers of two go through Exp2 and Log2 exactly", "[base][property]") {
  for (int k = -1074; k <= 1023; ++k) {
    CAPTURE(k);
    CHECK(Exp2(k) == std::ldexp(1.0, k));
    CHECK(Log2(std::ldexp(1.0, k)) == k);
  }
  CHECK(Exp(0) == 1);
  CHECK(Log(1) == 0);
  CHECK_FALSE(std::signbit(Log(1)));
}

TEST_CASE("logarithms of zero, negative and non-finite numbers are as stated", "[base][unit]") {
  for (const auto log : {Log, Log2}) {
    CHECK(log(0.0) == -kInf);
    CHECK(log(-0.0) == -kInf);
    CHECK(log(kInf) == kInf);
    CHECK(std::isnan(log(-1)));
    CHECK(std::isnan(log(-kSmallest)));
    CHECK(std::isnan(log(-kInf)));
    CHECK(std::isnan(log(kNaN)));
  }
}

TEST_CASE("exponentials overflow to infinity and underflow to zero at the last double",
          "[base][unit]") {
  for (const auto exponential : {Exp, Exp2}) {
    CHECK(exponential(kInf) == kInf);
    CHECK(exponential(kLargest) == kInf);
    CHECK(exponential(-kInf) == 0);
    CHECK(exponential(-kLargest) == 0);
    CHECK(std::isnan(exponential(kNaN)));
  }
  CHECK(Exp2(1024) == kInf);
  CHECK(Exp2(std::nextafter(1024, 0)) < kInf);
  CHECK(Exp2(-1074) == kSmallest);
  CHECK(Exp2(-1076) == 0);
  // ln(largest) = 709.7827128933840…, ln(smallest / 2) = −745.1332191019411…
  CHECK(Exp(709.782712893384) < kInf);
  CHECK(Exp(709.782712893385) == kInf);
  CHECK(Exp(-745.1332191019411) == kSmallest);
  CHECK(Exp(-745.1332191019413) == 0);
}

TEST_CASE("rounding goes to the nearest integer, halves away from zero", "[base][oracle]") {
  for (const double x : {0.0, 0.5, 1.5, 2.5, 0.49999999999999994, 0.50000000000000011, 1e15 + 0.5,
                         0x1p52 - 0.5, 0x1p52 + 1, 0x1p53, 0x1p62, 0x1.fffffffffffffp62}) {
    CAPTURE(x);
    CHECK(RoundToInt64(x) == std::llround(x));
    CHECK(RoundToInt64(-x) == std::llround(-x));
  }
  Prng prng(3);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(2 * prng.Unit() - 1, static_cast<int>(prng.Below(64)));
    CAPTURE(x);
    CHECK(RoundToInt64(x) == std::llround(x));
  }
}

TEST_CASE("rounding gives nothing outside the range of the integers", "[base][unit]") {
  CHECK(RoundToInt64(-0x1p63) == std::numeric_limits<std::int64_t>::min());
  for (const double x : {0x1p63, -0x1.0000000000001p63, 1e300, -1e300, kInf, -kInf, kNaN}) {
    CHECK_FALSE(RoundToInt64(x).has_value());
  }
}

std::vector<std::int64_t> Operands() {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> operands;
  for (std::int64_t i = -12; i <= 12; ++i) operands.push_back(i);
  for (std::int64_t i = 0; i < 4; ++i) {
    operands.push_back(kMin + i);
    operands.push_back(kMax - i);
    operands.push_back(kMin / 2 + i - 1);
    operands.push_back(kMax / 2 + i - 1);
    operands.push_back(3'037'000'499 + i);  // ⌊√(2^63)⌋
    operands.push_back(-3'037'000'499 - i);
  }
  Prng prng(4);
  for (int i = 0; i < 40; ++i) {
    operands.push_back(static_cast<std::int64_t>(prng.Next()) >> prng.Below(63));
  }
  return operands;
}

std::optional<std::int64_t> Narrow(Int128 x) {
  const auto narrow = static_cast<std::int64_t>(x);
  return narrow == x ? std::optional(narrow) : std::nullopt;
}

// By definition, in wide integers: the greatest q with q·b <= a (for b < 0 after a change of sign).
Int128 WideFloor(Int128 a, Int128 b) {
  if (b < 0) return WideFloor(-a, -b);
  Int128 q = a / b;
  while (q * b > a) --q;
  while ((q + 1) * b <= a) ++q;
  return q;
}

TEST_CASE("checked arithmetic agrees with 128-bit arithmetic", "[base][oracle]") {
  for (const std::int64_t a : Operands()) {
    for (const std::int64_t b : Operands()) {
      CAPTURE(a, b);
      const Int128 wide_a = a;
      CHECK(CheckedAdd(a, b) == Narrow(wide_a + b));
      CHECK(CheckedSub(a, b) == Narrow(wide_a - b));
      CHECK(CheckedMul(a, b) == Narrow(wide_a * b));
      if (b == 0) continue;
      const Int128 floor = WideFloor(a, b);
      CHECK(CheckedFloorDiv(a, b) == Narrow(floor));
      CHECK(CheckedCeilDiv(a, b) == Narrow(-WideFloor(-wide_a, b)));
      CHECK(CheckedMod(a, b) == Narrow(wide_a - b * floor));
    }
  }
}

TEST_CASE("division by zero gives nothing", "[base][unit]") {
  for (const std::int64_t a : Operands()) {
    CHECK_FALSE(CheckedFloorDiv(a, 0).has_value());
    CHECK_FALSE(CheckedCeilDiv(a, 0).has_value());
    CHECK_FALSE(CheckedMod(a, 0).has_value());
  }
}

TEST_CASE("a product divided by a number is exact through 128 bits", "[base][oracle]") {
  int checked = 0;
  for (const std::int64_t a : Operands()) {
    for (const std::int64_t b : Operands()) {
      for (const std::int64_t c : Operands()) {
        if (a < 0 || b < 0 || c <= 0) continue;
        const Int128 floor = static_cast<Int128>(a) * b / c;
        const Int128 ceiling = floor * c == static_cast<Int128>(a) * b ? floor : floor + 1;
        if (!Narrow(ceiling)) continue;
        ++checked;
        if (MulDivFloor(a, b, c) == floor && MulDivCeil(a, b, c) == ceiling) continue;
        CAPTURE(a, b, c);
        CHECK(MulDivFloor(a, b, c) == Narrow(floor));
        CHECK(MulDivCeil(a, b, c) == Narrow(ceiling));
      }
    }
  }
  CHECK(checked > 10'000);
}

TEST_CASE("ceiling division rounds up, also next to the largest integer", "[base][unit]") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  STATIC_REQUIRE(CeilDiv(0, 3) == 0);
  STATIC_REQUIRE(CeilDiv(6, 3) == 2);
  STATIC_REQUIRE(CeilDiv(7, 3) == 3);
  STATIC_REQUIRE(CeilDiv(kMax, 1) == kMax);
  STATIC_REQUIRE(CeilDiv(kMax, 2) == kMax / 2 + 1);
}

TEST_CASE("a rank is rounded up, but not by a product's rounding error", "[base][unit]") {
  CHECK(NearestRank(0.07, 100) == 7);  // 0.07 · 100 is 7.000000000000001
  CHECK(NearestRank(0.071, 100) == 8);
  CHECK(NearestRank(0.99, 1'000'000) == 990'000);
  CHECK(NearestRank(0, 5) == 1);
  CHECK(NearestRank(1, 5) == 5);
  CHECK(NearestRank(0.5, 1) == 1);
}

}  // namespace
}  // namespace leeway::base
