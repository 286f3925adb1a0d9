#include "base/math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace leeway::base {
namespace {

using Int64 = std::int64_t;
__extension__ typedef unsigned __int128 Uint128;  // NOLINT: __extension__ takes no alias

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
// ln 2 in two parts. The high one has 42 bits, so that its product with any exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa38p-1;
constexpr double kLn2Low = 0x1.ef35793c7673p-45;

// 1/n!; each n! is exact in a double, so each entry is rounded once. The first term left out of
// the series is below 5e-18 for |r| <= ln(2)/2.
constexpr auto kInverseFactorial = [] {
  std::array<double, 14> terms{};
  double factorial = 1;
  for (std::size_t n = 0; n < terms.size(); ++n) {
    if (n > 0) factorial *= static_cast<double>(n);
    terms[n] = 1 / factorial;
  }
  return terms;
}();

// Returns e^r − 1 for |r| <= ln(2)/2, relative error about 2 ulp.
double ExpMinusOne(double r) {
  double sum = 0;
  for (std::size_t n = kInverseFactorial.size() - 1; n >= 2; --n) {
    sum = sum * r + kInverseFactorial[n];
  }
  return r + r * r * sum;
}

// 1/(2k+1). The first term left out of the series is below 1e-18 for |s| <= 3 − 2·√2.
constexpr auto kInverseOdd = [] {
  std::array<double, 11> terms{};
  for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = 1 / static_cast<double>(2 * k + 1);
  return terms;
}();

// Returns ln(m) for m in [√½, √2]: twice the artanh of (m−1)/(m+1).
double LogNearOne(double m) {
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (std::size_t k = kInverseOdd.size() - 1; k >= 1; --k) sum = (sum + kInverseOdd[k]) * square;
  return 2 * (s + s * sum);
}

struct Split {
  double mantissa;  // in [√½, √2)
  int exponent;
};

// Requires x finite and > 0. Centred on 1, so that no digits cancel between the two parts.
Split SplitNearOne(double x) {
  Split split{};
  split.mantissa = std::frexp(x, &split.exponent);
  if (split.mantissa < kSqrtHalf) {
    split.mantissa *= 2;
    --split.exponent;
  }
  return split;
}

// The values of Log and Log2 outside (0, ∞), and ∞ itself.
double LogOfSpecial(double x) {
  if (x == 0) return -kInf;
  return x == kInf ? kInf : kNaN;
}

// Requires |x| < 2^30. Round to nearest without libm.
int Nearest(double x) { return static_cast<int>(x < 0 ? x - 0.5 : x + 0.5); }

}  // namespace

double Exp2(double x) {
  if (!(x > -1076)) return x != x ? x : 0;
  if (x >= 1024) return kInf;
  const int whole = Nearest(x);
  return std::ldexp(1 + ExpMinusOne((x - whole) * kLn2), whole);
}

double Exp(double x) {
  if (!(x > -746)) return x != x ? x : 0;
  if (x >= 710) return kInf;
  const int whole = Nearest(x * kLog2E);
  const double rest = (x - whole * kLn2High) - whole * kLn2Low;
  return std::ldexp(1 + ExpMinusOne(rest), whole);
}

double Log2(double x) {
  if (!(x > 0 && x < kInf)) return LogOfSpecial(x);
  const auto [mantissa, exponent] = SplitNearOne(x);
  return exponent + LogNearOne(mantissa) * kLog2E;
}

double Log(double x) {
  if (!(x > 0 && x < kInf)) return LogOfSpecial(x);
  const auto [mantissa, exponent] = SplitNearOne(x);
  return exponent * kLn2High + (exponent * kLn2Low + LogNearOne(mantissa));
}

std::optional<Int64> RoundToInt64(double x) {
  if (!(x >= -0x1p63 && x < 0x1p63)) return std::nullopt;
  const auto whole = static_cast<Int64>(x);
  // Exact: a double with a fraction is below 2^52, where whole is exact too.
  const double fraction = x - static_cast<double>(whole);
  if (fraction >= 0.5) return whole + 1;
  if (fraction <= -0.5) return whole - 1;
  return whole;
}

std::optional<Int64> CheckedAdd(Int64 a, Int64 b) {
  Int64 sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<Int64> CheckedSub(Int64 a, Int64 b) {
  Int64 difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

std::optional<Int64> CheckedMul(Int64 a, Int64 b) {
  Int64 product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<Int64> CheckedFloorDiv(Int64 a, Int64 b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return CheckedSub(0, a);
  const bool toward_zero_is_above = a % b != 0 && (a < 0) != (b < 0);
  return a / b - (toward_zero_is_above ? 1 : 0);
}

std::optional<Int64> CheckedCeilDiv(Int64 a, Int64 b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return CheckedSub(0, a);
  const bool toward_zero_is_below = a % b != 0 && (a < 0) == (b < 0);
  return a / b + (toward_zero_is_below ? 1 : 0);
}

std::optional<Int64> CheckedMod(Int64 a, Int64 b) {
  if (b == 0) return std::nullopt;
  // The quotient of the smallest integer by −1 overflows though the remainder does not.
  if (b == -1) return 0;
  const Int64 remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

namespace {

Int64 MulDiv(Int64 a, Int64 b, Int64 c, Int64 round_up) {
  LEEWAY_CHECK(a >= 0 && b >= 0 && c > 0);
  const Uint128 product = static_cast<Uint128>(a) * static_cast<Uint128>(b);
  const auto divisor = static_cast<Uint128>(c);
  const Uint128 quotient = (product + static_cast<Uint128>(round_up)) / divisor;
  LEEWAY_CHECK(quotient <= static_cast<Uint128>(std::numeric_limits<Int64>::max()));
  return static_cast<Int64>(quotient);
}

}  // namespace

Int64 MulDivCeil(Int64 a, Int64 b, Int64 c) { return MulDiv(a, b, c, c - 1); }
Int64 MulDivFloor(Int64 a, Int64 b, Int64 c) { return MulDiv(a, b, c, 0); }

std::uint64_t NearestRank(double q, std::uint64_t count) {
  if (!(q > 0)) return 1;
  if (q >= 1) return count;
  const double exact = q * static_cast<double>(count);
  const auto whole = static_cast<std::uint64_t>(exact);
  const bool above = exact - static_cast<double>(whole) > exact * 0x1p-50;
  return std::clamp<std::uint64_t>(whole + (above ? 1 : 0), 1, count);
}

}  // namespace leeway::base
