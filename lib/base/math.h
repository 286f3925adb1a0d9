// Elementary functions from + − × ÷, frexp and ldexp only: glibc picks variants of exp and log by
// CPU, so that its results may differ between machines in the last place. Ours are the same
// everywhere (IEEE-754 doubles, round to nearest, no contraction).
//
// Errors: relative error below 4e-15 over the normal range. Log2 of 0 is −∞, of a negative or NaN
// number NaN; Exp2 overflows to +∞ and underflows to 0.

#ifndef LEEWAY_BASE_MATH_H_
#define LEEWAY_BASE_MATH_H_

#include <cstdint>
#include <optional>

namespace leeway::base {

double Exp2(double x);
double Log2(double x);
double Exp(double x);
double Log(double x);

// Returns x rounded half away from zero, or nothing if x is not finite or outside int64.
std::optional<std::int64_t> RoundToInt64(double x);

// Checked integer arithmetic; nothing on overflow. Floor and ceiling division by 0 give nothing.
std::optional<std::int64_t> CheckedAdd(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> CheckedSub(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> CheckedMul(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> CheckedFloorDiv(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> CheckedCeilDiv(std::int64_t a, std::int64_t b);
// Result has the sign of b: a − b·⌊a/b⌋.
std::optional<std::int64_t> CheckedMod(std::int64_t a, std::int64_t b);

// Requires b > 0 and a ≥ 0.
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// Returns ⌈a·b/c⌉ and ⌊a·b/c⌋ through 128 bits. Requires a, b ≥ 0, c > 0 and a result within int64.
std::int64_t MulDivCeil(std::int64_t a, std::int64_t b, std::int64_t c);
std::int64_t MulDivFloor(std::int64_t a, std::int64_t b, std::int64_t c);

// Returns the rank of the q-quantile among `count` values: ⌈q·count⌉, within [1, count]. A product
// that misses an integer by rounding alone counts as that integer: 0.07 of 100 values are 7, not 8.
// Requires count >= 1.
std::uint64_t NearestRank(double q, std::uint64_t count);

}  // namespace leeway::base

#endif  // LEEWAY_BASE_MATH_H_
