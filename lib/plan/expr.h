// Dimension expressions: every size in a plan, as a function of its symbolic dims.
//
// Grammar (docs/expressions.md has it with the semantics and the canonical form):
//   sum  := term (('+' | '-') term)*
//   term := atom (('*' | 'floordiv' | 'ceildiv' | 'mod') atom)*
//   atom := integer | name | '(' sum ')' | '-' atom | ('min' | 'max') '(' sum ',' sum ')'
// Integers are exact 64-bit; an overflow or a division by zero is an error, never a wrapped value.
// A minus sign before a number belongs to the number.
//
// Threading: immutable; copies share memory and may be used by distinct threads.

#ifndef LEEWAY_PLAN_EXPR_H_
#define LEEWAY_PLAN_EXPR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"

namespace leeway::plan {

struct Canonicalized;

class Expr {
 public:
  // Nesting and length bounds: a hostile expression costs bounded time and stack.
  static constexpr int kMaxDepth = 64;
  static constexpr std::size_t kMaxLength = 4096;
  // Values that Evaluate holds at once. A nesting level leaves at most three: the left side of a
  // sum, of a product and of a min. Product() adds one.
  static constexpr std::size_t kMaxStack = 3 * (kMaxDepth + 1) + 2;

  // The constant 0.
  Expr() = default;
  static Expr Constant(std::int64_t value);
  static Expr Symbol(std::size_t dim);
  // The product of `factors`, 1 where there are none.
  static Expr Product(std::span<const Expr> factors);

  // Parses `text`; `find` gives the index of a dim by name, or nothing.
  // kInvalidArgument names the column and what was expected there; kResourceExhausted the bound.
  static Result<Expr> Parse(
      std::string_view text,
      const std::function<std::optional<std::size_t>(std::string_view)>& find);

  // Returns the value with dims[i] for symbol i. kOutOfRange on overflow or division by zero,
  // naming the operation and its operands. Requires every symbol < dims.size().
  Result<std::int64_t> Evaluate(std::span<const std::int64_t> dims) const;

  // As Evaluate where validation has shown that it cannot fail. Requires dims within the domain.
  std::int64_t operator()(std::span<const std::int64_t> dims) const;

  // Prints so that Parse gives the same program back; `name` gives a dim's name.
  std::string Print(const std::function<std::string_view(std::size_t)>& name) const;

  // Returns the canonical form: the same for expressions that the laws of integer arithmetic make
  // equal, as far as docs/expressions.md says. Where both evaluate, they have the same value.
  Expr Canonical() const;

  bool is_constant() const;
  // Symbols that occur, rising.
  std::vector<std::size_t> Symbols() const;

  enum class Op : std::uint8_t {
    kConstant,
    kSymbol,
    kAdd,
    kSub,
    kMul,
    kFloorDiv,
    kCeilDiv,
    kMod,
    kMin,
    kMax,
    kNegate
  };
  struct Instruction {
    Op op;
    std::int64_t operand = 0;  // a constant's value or a symbol's index
    friend bool operator==(const Instruction&, const Instruction&) = default;
  };
  // Postfix.
  const std::vector<Instruction>& program() const;

 private:
  friend Canonicalized Canonicalize(const Expr& expr);

  explicit Expr(std::vector<Instruction> program);

  // Shared by copies: the sizes of a plan are a few expressions many times over. Null: no
  // instruction.
  std::shared_ptr<const std::vector<Instruction>> program_;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_EXPR_H_
