#include "plan/expr_range.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::plan {
namespace {

using Op = Expr::Op;
using Checked = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);

// Extremes of an operation that is monotone in each operand lie at the operands' ends.
std::optional<Interval> AtEnds(Checked apply, const Interval& a, const Interval& b) {
  const std::array<std::optional<std::int64_t>, 4> ends = {apply(a.lo, b.lo), apply(a.lo, b.hi),
                                                           apply(a.hi, b.lo), apply(a.hi, b.hi)};
  Interval range{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
  for (const std::optional<std::int64_t>& end : ends) {
    if (!end) return std::nullopt;
    range.lo = std::min(range.lo, *end);
    range.hi = std::max(range.hi, *end);
  }
  return range;
}

// The result has the divisor's sign and is smaller than it.
Interval ModRange(const Interval& a, const Interval& b) {
  if (b.hi < 0) return {b.lo + 1, 0};
  if (a.lo >= 0 && a.hi < b.lo) return a;
  return {0, a.lo >= 0 ? std::min(a.hi, b.hi - 1) : b.hi - 1};
}

std::optional<Interval> Apply(Op op, const Interval& a, const Interval& b) {
  switch (op) {
    case Op::kAdd:
      return AtEnds(base::CheckedAdd, a, b);
    case Op::kSub:
      return AtEnds(base::CheckedSub, a, b);
    case Op::kMul:
      return AtEnds(base::CheckedMul, a, b);
    case Op::kFloorDiv:
      return AtEnds(base::CheckedFloorDiv, a, b);
    case Op::kCeilDiv:
      return AtEnds(base::CheckedCeilDiv, a, b);
    case Op::kMod:
      return ModRange(a, b);
    case Op::kMin:
      return Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::kMax:
      return Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    default:
      return std::nullopt;
  }
}

std::string Show(const Interval& range) {
  if (range.lo == range.hi) return std::to_string(range.lo);
  return "[" + std::to_string(range.lo) + ", " + std::to_string(range.hi) + "]";
}

const char* Word(Op op) {
  switch (op) {
    case Op::kAdd:
      return " + ";
    case Op::kSub:
      return " - ";
    case Op::kMul:
      return " * ";
    case Op::kFloorDiv:
      return " floordiv ";
    case Op::kCeilDiv:
      return " ceildiv ";
    default:
      return " mod ";
  }
}

bool Divides(Op op) { return op == Op::kFloorDiv || op == Op::kCeilDiv || op == Op::kMod; }

constexpr std::size_t kMaxValues = 16;

// The values of one dim that corners are made of, without repeats.
std::vector<std::int64_t> CornerValues(const Expr& expr, const Interval& domain) {
  std::vector<std::int64_t> values = {domain.lo, domain.hi};
  values.push_back(domain.lo + static_cast<std::int64_t>((static_cast<std::uint64_t>(domain.hi) -
                                                          static_cast<std::uint64_t>(domain.lo)) /
                                                         2));
  for (const Expr::Instruction& i : expr.program()) {
    if (i.op != Op::kConstant || values.size() + 3 > kMaxValues) continue;
    for (const int step : {-1, 0, 1}) {
      const std::optional<std::int64_t> value = base::CheckedAdd(i.operand, step);
      if (value && domain.Contains(*value)) values.push_back(*value);
    }
  }
  // The ends stay in front: they are tried first where not all mixes can be.
  std::sort(values.begin() + 2, values.end());
  values.erase(std::unique(values.begin() + 2, values.end()), values.end());
  return values;
}

}  // namespace

Result<Interval> RangeOf(const Expr& expr, std::span<const Interval> domains) {
  std::vector<Interval> stack;
  for (const Expr::Instruction& i : expr.program()) {
    if (i.op == Op::kConstant) {
      stack.push_back({i.operand, i.operand});
      continue;
    }
    if (i.op == Op::kSymbol) {
      stack.push_back(domains[static_cast<std::size_t>(i.operand)]);
      continue;
    }
    const Interval b = stack.back();
    stack.pop_back();
    Interval a;
    if (i.op != Op::kNegate) {
      a = stack.back();
      stack.pop_back();
    }
    const Op op = i.op == Op::kNegate ? Op::kSub : i.op;
    if (Divides(op) && b.Contains(std::int64_t{0})) {
      return base::OutOfRange(Show(a) + Word(op) + Show(b) + " may divide by zero");
    }
    const std::optional<Interval> range = Apply(op, a, b);
    if (!range) return base::OutOfRange(Show(a) + Word(op) + Show(b) + " may overflow 64 bits");
    stack.push_back(*range);
  }
  return stack.empty() ? Interval{0, 0} : stack.back();
}

std::size_t CornerCount(const Expr& expr) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < expr.Symbols().size() && count < kMaxCorners; ++i) {
    count *= kMaxValues;
  }
  return std::min(count, kMaxCorners);
}

std::optional<Witness> FindOutside(const Expr& expr, std::span<const Interval> domains,
                                   const Interval& bounds) {
  const std::vector<std::size_t> symbols = expr.Symbols();
  std::vector<std::vector<std::int64_t>> values;
  for (const std::size_t symbol : symbols) values.push_back(CornerValues(expr, domains[symbol]));
  Witness witness;
  for (const Interval& domain : domains) witness.dims.push_back(domain.lo);

  std::vector<std::size_t> digits(symbols.size(), 0);
  for (std::size_t corner = 0; corner < kMaxCorners; ++corner) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      witness.dims[symbols[i]] = values[i][digits[i]];
    }
    const Result<std::int64_t> value = expr.Evaluate(witness.dims);
    if (!value.ok() || !bounds.Contains(*value)) {
      witness.value = value.value_or(0);
      return witness;
    }
    std::size_t i = 0;
    while (i < digits.size() && ++digits[i] == values[i].size()) digits[i++] = 0;
    if (i == digits.size()) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace leeway::plan
