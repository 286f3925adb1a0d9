// Which values a dimension expression can take over the dims' domains.
//
// Interval arithmetic proves for a whole domain, in one pass, that nothing overflows and nothing
// is divided by zero. It may overestimate: where it cannot show that a value stays within bounds
// ("seq - min(seq, 512)" is never negative), corners of the domain decide.
//
// Threading: pure functions.

#ifndef LEEWAY_PLAN_EXPR_RANGE_H_
#define LEEWAY_PLAN_EXPR_RANGE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "leeway/status.h"
#include "plan/expr.h"

namespace leeway::plan {

struct Interval {
  std::int64_t lo = 0, hi = 0;

  bool Contains(const Interval& other) const { return lo <= other.lo && other.hi <= hi; }
  bool Contains(std::int64_t value) const { return lo <= value && value <= hi; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

inline constexpr Interval kNonNegative{0, std::numeric_limits<std::int64_t>::max()};

// Returns an interval that holds every value of `expr` for dims[i] in domains[i].
// kOutOfRange if it may overflow or divide by zero somewhere, naming the operation.
Result<Interval> RangeOf(const Expr& expr, std::span<const Interval> domains);

// A choice of dims for which an expression leaves its bounds.
struct Witness {
  std::vector<std::int64_t> dims;
  std::int64_t value = 0;
};

// At most this many corners are tried for one expression.
inline constexpr std::size_t kMaxCorners = std::size_t{1} << 12;

// Returns an upper bound of the corners that FindOutside tries.
std::size_t CornerCount(const Expr& expr);

// Returns the first corner at which `expr` is outside `bounds`: every mix of each dim's min, max,
// middle, and the expression's own constants where they lie in the domain. Requires that
// RangeOf(expr, domains) succeeds.
std::optional<Witness> FindOutside(const Expr& expr, std::span<const Interval> domains,
                                   const Interval& bounds);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_EXPR_RANGE_H_
