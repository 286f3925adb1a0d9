// Random dimension expressions with their value in arithmetic that does not overflow.
#ifndef LEEWAY_TESTS_PLAN_RANDOM_EXPR_H_
#define LEEWAY_TESTS_PLAN_RANDOM_EXPR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "plan/expr.h"

namespace leeway::plan {

// The names that expressions in tests use, by index.
inline const std::vector<std::string> kExprNames = {"seq", "n", "past_len", "d.0"};

Result<Expr> ParseExpr(std::string_view text);
std::string PrintExpr(const Expr& expr);

// Arithmetic without bounds that matter, as the oracle for 64 bits with bounds.
__extension__ typedef __int128 Wide;

struct Tree {
  Expr::Op op = Expr::Op::kConstant;
  std::int64_t operand = 0;  // a constant's value or a symbol's index
  std::vector<Tree> parts;   // kNegate has one, other operations two

  // Fully in parentheses.
  std::string Text() const;
  // The value at `dims`; nothing if an operation leaves 64 bits or divides by zero.
  std::optional<Wide> Value(std::span<const std::int64_t> dims) const;
};

enum class Numbers { kAny, kSmall };

// Of `depth` nested operations at most.
Tree RandomTree(base::Prng& prng, int depth, Numbers numbers);

// Returns a tree of the same value, by `laws` random uses of the laws of integer arithmetic that
// the canonical form sees through.
Tree Rewritten(Tree tree, base::Prng& prng, int laws);

}  // namespace leeway::plan

#endif  // LEEWAY_TESTS_PLAN_RANDOM_EXPR_H_
