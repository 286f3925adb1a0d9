#include "tests/plan/random_expr.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace leeway::plan {
namespace {

using Op = Expr::Op;

std::optional<Wide> Narrow(Wide value) {
  if (value > std::numeric_limits<std::int64_t>::max() ||
      value < std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  return value;
}

Wide Floor(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

std::optional<Wide> Oracle(Op op, Wide a, Wide b) {
  const bool divides = op == Op::kFloorDiv || op == Op::kCeilDiv || op == Op::kMod;
  if (divides && b == 0) return std::nullopt;
  switch (op) {
    case Op::kAdd:
      return Narrow(a + b);
    case Op::kSub:
      return Narrow(a - b);
    case Op::kMul:
      return Narrow(a * b);
    case Op::kFloorDiv:
      return Narrow(Floor(a, b));
    case Op::kCeilDiv:
      return Narrow(-Floor(-a, b));
    case Op::kMod:
      return a - b * Floor(a, b);
    case Op::kMin:
      return a < b ? a : b;
    case Op::kMax:
      return a > b ? a : b;
    default:
      return std::nullopt;
  }
}

constexpr std::pair<Op, const char*> kBinary[] = {
    {Op::kAdd, "+"},           {Op::kSub, "-"},   {Op::kMul, "*"},   {Op::kFloorDiv, "floordiv"},
    {Op::kCeilDiv, "ceildiv"}, {Op::kMod, "mod"}, {Op::kMin, "min"}, {Op::kMax, "max"}};

Tree Number(std::int64_t value) { return {Op::kConstant, value, {}}; }
Tree Negated(Tree tree) { return {Op::kNegate, 0, {std::move(tree)}}; }
Tree Both(Op op, Tree a, Tree b) { return {op, 0, {std::move(a), std::move(b)}}; }

bool Commutes(Op op) {
  return op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax;
}

Tree* RandomPart(Tree& tree, base::Prng& prng) {
  Tree* at = &tree;
  while (!at->parts.empty() && prng.Below(3) != 0) at = &at->parts[prng.Below(at->parts.size())];
  return at;
}

// What any expression equals.
Tree Padded(Tree tree, base::Prng& prng) {
  const auto c = static_cast<std::int64_t>(2 + prng.Below(6));
  Tree copy = tree;
  switch (prng.Below(8)) {
    case 0:
      return Both(Op::kAdd, std::move(tree), Number(0));
    case 1:
      return Both(Op::kMul, Number(1), std::move(tree));
    case 2:
      return Both(Op::kFloorDiv, std::move(tree), Number(1));
    case 3:
      return Both(Op::kCeilDiv, std::move(tree), Number(1));
    case 4:
      return Negated(Negated(std::move(tree)));
    case 5:
      return Both(prng.Below(2) == 0 ? Op::kMin : Op::kMax, std::move(tree), std::move(copy));
    case 6:
      return Both(Op::kAdd, std::move(tree), Both(Op::kMod, std::move(copy), Number(1)));
    default:
      return Both(Op::kFloorDiv, Both(Op::kMul, std::move(tree), Number(c)), Number(c));
  }
}

// The definitions of operations by others.
Tree Spelt(Tree tree) {
  Tree& a = tree.parts[0];
  if (tree.op == Op::kNegate) return Both(Op::kSub, Number(0), std::move(a));
  Tree& b = tree.parts[1];
  switch (tree.op) {
    case Op::kSub:
      return Both(Op::kAdd, std::move(a), Negated(std::move(b)));
    case Op::kMod: {
      Tree quotient = Both(Op::kFloorDiv, a, b);
      return Both(Op::kSub, std::move(a), Both(Op::kMul, std::move(b), std::move(quotient)));
    }
    case Op::kCeilDiv:
      return Negated(Both(Op::kFloorDiv, Negated(std::move(a)), std::move(b)));
    case Op::kFloorDiv:
      return Both(Op::kFloorDiv, Negated(std::move(a)), Negated(std::move(b)));
    case Op::kMax:
      return Negated(Both(Op::kMin, Negated(std::move(a)), Negated(std::move(b))));
    default:
      return tree;
  }
}

// Associates, distributes or splits, where the tree has the form for it.
Tree Regrouped(Tree tree, base::Prng& prng) {
  if (tree.op == Op::kConstant) {
    const auto part = static_cast<std::int64_t>(prng.Below(10));
    return Both(Op::kAdd, Number(tree.operand - part), Number(part));
  }
  if (tree.parts.size() != 2) return tree;
  Tree &a = tree.parts[0], &b = tree.parts[1];
  const bool sum = b.op == Op::kAdd || b.op == Op::kSub;
  if (tree.op == Op::kMul && sum) {
    return Both(b.op, Both(Op::kMul, a, std::move(b.parts[0])),
                Both(Op::kMul, a, std::move(b.parts[1])));
  }
  if (Commutes(tree.op) && b.op == tree.op) {
    return Both(tree.op, Both(tree.op, std::move(a), std::move(b.parts[0])), std::move(b.parts[1]));
  }
  if (Commutes(tree.op)) std::swap(a, b);
  return tree;
}

}  // namespace

Result<Expr> ParseExpr(std::string_view text) {
  return Expr::Parse(text, [](std::string_view name) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < kExprNames.size(); ++i) {
      if (kExprNames[i] == name) return i;
    }
    return std::nullopt;
  });
}

std::string PrintExpr(const Expr& expr) {
  return expr.Print([](std::size_t i) -> std::string_view { return kExprNames[i]; });
}

std::string Tree::Text() const {
  if (op == Op::kConstant) return std::to_string(operand);
  if (op == Op::kSymbol) return kExprNames[static_cast<std::size_t>(operand)];
  if (op == Op::kNegate) return "-(" + parts[0].Text() + ")";
  const auto* word = std::find_if(std::begin(kBinary), std::end(kBinary),
                                  [this](const auto& binary) { return binary.first == op; });
  const std::string a = parts[0].Text(), b = parts[1].Text();
  if (op == Op::kMin || op == Op::kMax) return std::string(word->second) + "(" + a + "," + b + ")";
  return "(" + a + ") " + word->second + " (" + b + ")";
}

std::optional<Wide> Tree::Value(std::span<const std::int64_t> dims) const {
  if (op == Op::kConstant) return operand;
  if (op == Op::kSymbol) return dims[static_cast<std::size_t>(operand)];
  const std::optional<Wide> last = parts.back().Value(dims);
  if (!last) return std::nullopt;
  if (op == Op::kNegate) return Narrow(-*last);
  const std::optional<Wide> first = parts[0].Value(dims);
  return first ? Oracle(op, *first, *last) : std::nullopt;
}

Tree RandomTree(base::Prng& prng, int depth, Numbers numbers) {
  const std::uint64_t kind = depth == 0 ? prng.Below(2) : prng.Below(5);
  if (kind == 0 && numbers == Numbers::kSmall) {
    return Number(static_cast<std::int64_t>(prng.Below(12)));
  }
  if (kind == 0) return Number(static_cast<std::int64_t>(prng.Next() >> prng.Below(64) >> 1));
  if (kind == 1) return {Op::kSymbol, static_cast<std::int64_t>(prng.Below(4)), {}};
  if (kind == 2) return Negated(RandomTree(prng, depth - 1, numbers));
  Tree a = RandomTree(prng, depth - 1, numbers);
  Tree b = RandomTree(prng, depth - 1, numbers);
  return Both(kBinary[prng.Below(8)].first, std::move(a), std::move(b));
}

Tree Rewritten(Tree tree, base::Prng& prng, int laws) {
  for (int i = 0; i < laws; ++i) {
    Tree& at = *RandomPart(tree, prng);
    Tree part = std::move(at);
    switch (prng.Below(4)) {
      case 0:
        at = Padded(std::move(part), prng);
        break;
      case 1:
        at = part.parts.empty() ? std::move(part) : Spelt(std::move(part));
        break;
      default:
        at = Regrouped(std::move(part), prng);
    }
  }
  return tree;
}

}  // namespace leeway::plan
