// One form for all expressions that are equal by the laws of integer arithmetic: sums of products
// in a fixed order, over atoms that are symbols, floored quotients and minima. Content digests and
// comparisons of plans go by it. docs/expressions.md has the rules, for other languages too.
//
// Threading: pure function.

#ifndef LEEWAY_PLAN_EXPR_CANONICAL_H_
#define LEEWAY_PLAN_EXPR_CANONICAL_H_

#include <cstddef>

#include "plan/expr.h"

namespace leeway::plan {

// An operation other than + and - is carried out only on operands of together at most this many
// terms (of which a product multiplies the numbers), and only if its result has at most this many
// instructions or no more than the operation as it stands.
inline constexpr std::size_t kMaxExpansion = 256;

struct Canonicalized {
  Expr expr;
  // Comparisons of atoms and terms that were made: what the work is in proportion to.
  std::size_t steps = 0;
};

Canonicalized Canonicalize(const Expr& expr);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_EXPR_CANONICAL_H_
