#include "plan/expr_canonical.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "base/math.h"
#include "plan/expr_sum.h"

namespace leeway::plan {
namespace {

using Op = Expr::Op;
using Program = std::vector<Expr::Instruction>;

std::optional<std::int64_t> Coefficient(std::optional<std::int64_t> value) {
  if (!value || *value == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  return value;
}

void Negate(Sum& sum) {
  for (auto& term : sum) term.second = -term.second;
}

// One run: turns a postfix program into a sum. Where an operation is not carried out (nullopt
// below), it becomes an atom of its canonical operands.
class Canonicalizer {
 public:
  Sum Run(const Program& program) {
    std::vector<Sum> stack;
    for (const Expr::Instruction& i : program) {
      if (i.op == Op::kConstant || i.op == Op::kSymbol) {
        stack.push_back(Leaf(i));
        continue;
      }
      if (i.op == Op::kNegate) {
        Negate(stack.back());
        continue;
      }
      Sum right = std::move(stack.back());
      stack.pop_back();
      stack.back() = Binary(i.op, std::move(stack.back()), std::move(right));
    }
    return stack.empty() ? Zero() : std::move(stack.back());
  }

  std::size_t steps() const { return steps_; }

 private:
  using Maybe = std::optional<Sum>;

  Sum Zero() { return Sum(MonomialLess{&steps_}); }

  Sum ConstantSum(std::int64_t value) {
    Sum sum = Zero();
    if (value != 0) sum.emplace(Monomial(), value);
    return sum;
  }

  Sum AtomSum(Atom atom) {
    Monomial monomial;
    monomial.Multiply({std::make_shared<const Atom>(std::move(atom))});
    Sum sum = Zero();
    sum.emplace(std::move(monomial), 1);
    return sum;
  }

  Sum Leaf(const Expr::Instruction& i) {
    const bool number = i.op == Op::kConstant;
    if (number && Coefficient(i.operand)) return ConstantSum(i.operand);
    return AtomSum({i.op, i.operand, {}, 1});
  }

  Sum PartsSum(Op op, std::vector<SumRef> parts) {
    std::size_t weight = parts.size() - 1;
    for (const SumRef& part : parts) weight += WeightOf(*part);
    return AtomSum({op, 0, std::move(parts), weight});
  }

  bool Less(const SumRef& a, const SumRef& b) { return Compare(*a, *b, steps_) < 0; }

  // The operation on its operands as they are.
  Sum Keep(Op op, Sum a, Sum b) {
    std::vector<SumRef> parts = {std::make_shared<const Sum>(std::move(a)),
                                 std::make_shared<const Sum>(std::move(b))};
    const bool commutes = op == Op::kAdd || op == Op::kMul || op == Op::kMin || op == Op::kMax;
    if (commutes && Less(parts[1], parts[0])) std::swap(parts[0], parts[1]);
    return PartsSum(op, std::move(parts));
  }

  Sum Binary(Op op, Sum a, Sum b) {
    if (op == Op::kSub) Negate(b);
    if (op == Op::kAdd || op == Op::kSub) {
      return AddFits(a, b) ? Add(std::move(a), std::move(b))
                           : Keep(Op::kAdd, std::move(a), std::move(b));
    }
    if (const std::size_t terms = op == Op::kMul ? a.size() * b.size() : a.size() + b.size();
        terms > kMaxExpansion) {
      return Keep(op, std::move(a), std::move(b));
    }
    Maybe result = CarryOut(op, a, b);
    if (result) {
      const std::size_t weight = WeightOf(*result);
      if (weight <= kMaxExpansion || weight <= WeightOf(a) + WeightOf(b) + 1) {
        return *std::move(result);
      }
    }
    return Keep(op, std::move(a), std::move(b));
  }

  Maybe CarryOut(Op op, const Sum& a, const Sum& b) {
    switch (op) {
      case Op::kMul:
        return Multiply(a, b);
      case Op::kFloorDiv:
        return FloorDiv(a, b);
      case Op::kCeilDiv:
        return CeilDiv(a, b);
      case Op::kMod:
        return Mod(a, b);
      case Op::kMin:
        return Min(a, b);
      default:
        return Max(a, b);
    }
  }

  bool AddFits(const Sum& a, const Sum& b) {
    const Sum& small = a.size() < b.size() ? a : b;
    const Sum& large = a.size() < b.size() ? b : a;
    return std::all_of(small.begin(), small.end(), [&](const auto& term) {
      const auto at = large.find(term.first);
      return at == large.end() || Coefficient(base::CheckedAdd(at->second, term.second));
    });
  }

  // Requires AddFits.
  static Sum Add(Sum a, Sum b) {
    if (a.size() < b.size()) a.swap(b);
    for (auto& [monomial, coefficient] : b) {
      const auto [at, added] = a.try_emplace(monomial, coefficient);
      if (!added && (at->second += coefficient) == 0) a.erase(at);
    }
    return a;
  }

  Maybe CheckedAdd(Sum a, Sum b) {
    if (!AddFits(a, b)) return std::nullopt;
    return Add(std::move(a), std::move(b));
  }

  Monomial Product(const Monomial& a, const Monomial& b) {
    Monomial product;
    auto at_a = a.factors.begin();
    auto at_b = b.factors.begin();
    while (at_a != a.factors.end() && at_b != b.factors.end()) {
      const int order = Compare(*at_a->atom, *at_b->atom, steps_);
      if (order == 0) {
        product.Multiply({at_a->atom, at_a->power + at_b->power});
        ++at_a;
        ++at_b;
      } else {
        product.Multiply(order < 0 ? *at_a++ : *at_b++);
      }
    }
    for (; at_a != a.factors.end(); ++at_a) product.Multiply(*at_a);
    for (; at_b != b.factors.end(); ++at_b) product.Multiply(*at_b);
    return product;
  }

  Maybe Multiply(const Sum& a, const Sum& b) {
    // Wide: whether a coefficient fits must not depend on the order of its parts.
    __extension__ typedef __int128 Wide;
    absl::btree_map<Monomial, Wide, MonomialLess> products(MonomialLess{&steps_});
    for (const auto& [monomial_a, coefficient_a] : a) {
      for (const auto& [monomial_b, coefficient_b] : b) {
        const auto part = base::CheckedMul(coefficient_a, coefficient_b);
        if (!part) return std::nullopt;
        products[Product(monomial_a, monomial_b)] += *part;
      }
    }
    Sum sum = Zero();
    for (const auto& [monomial, coefficient] : products) {
      constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
      if (coefficient > kMax || coefficient < -kMax) return std::nullopt;
      if (coefficient != 0) {
        sum.emplace_hint(sum.end(), monomial, static_cast<std::int64_t>(coefficient));
      }
    }
    return sum;
  }

  // Returns a / b, or nothing if b does not divide a.
  std::optional<Monomial> Quotient(const Monomial& a, const Monomial& b) {
    Monomial quotient;
    auto at_b = b.factors.begin();
    for (const Factor& factor : a.factors) {
      std::uint32_t power = factor.power;
      if (at_b != b.factors.end() && Compare(*factor.atom, *at_b->atom, steps_) == 0) {
        if (at_b->power > power) return std::nullopt;
        power -= at_b->power;
        ++at_b;
      }
      if (power > 0) quotient.Multiply({factor.atom, power});
    }
    if (at_b != b.factors.end()) return std::nullopt;
    return quotient;
  }

  Monomial Common(const Monomial& a, const Monomial& b) {
    Monomial common;
    auto at_b = b.factors.begin();
    for (const Factor& factor : a.factors) {
      int order = 1;
      while (at_b != b.factors.end() && (order = Compare(*at_b->atom, *factor.atom, steps_)) < 0) {
        ++at_b;
      }
      if (order == 0) common.Multiply({factor.atom, std::min(factor.power, at_b->power)});
      if (order == 0) ++at_b;
    }
    return common;
  }

  // The largest number and monomial that divide every term of both.
  std::pair<std::int64_t, Monomial> Content(const Sum& a, const Sum& b) {
    std::int64_t number = 0;
    Monomial monomial = b.begin()->first;
    for (const Sum* sum : {&a, &b}) {
      for (const auto& [factors, coefficient] : *sum) {
        number = std::gcd(number, coefficient);
        if (!IsConstant(monomial)) monomial = Common(monomial, factors);
      }
    }
    return {number, std::move(monomial)};
  }

  Sum Divided(const Sum& sum, std::int64_t number, const Monomial& monomial) {
    Sum divided = Zero();
    for (const auto& [factors, coefficient] : sum) {
      divided.emplace_hint(divided.end(), *Quotient(factors, monomial), coefficient / number);
    }
    return divided;
  }

  Maybe FloorDiv(const Sum& numerator, const Sum& divisor) {
    if (divisor.empty()) return std::nullopt;
    if (numerator.empty()) return Zero();
    const auto [number, monomial] = Content(numerator, divisor);
    Sum a = Divided(numerator, number, monomial), b = Divided(divisor, number, monomial);
    if (b.begin()->second < 0) {
      Negate(a);
      Negate(b);
    }
    if (b.size() > 1) return Keep(Op::kFloorDiv, std::move(a), std::move(b));
    // Whole multiples of a single term leave: floor((b q + r) / b) is q + floor(r / b).
    const auto& [factors, c] = *b.begin();
    Sum whole = Zero(), rest = Zero();
    for (const auto& [term, coefficient] : a) {
      const std::optional<Monomial> quotient = Quotient(term, factors);
      const std::int64_t q = quotient ? *base::CheckedFloorDiv(coefficient, c) : 0;
      const std::int64_t r = quotient ? *base::CheckedMod(coefficient, c) : coefficient;
      if (q != 0) whole.emplace_hint(whole.end(), *quotient, q);
      if (r != 0) rest.emplace_hint(rest.end(), term, r);
    }
    if (rest.empty()) return whole;
    if (IsConstant(factors)) return Reduced(std::move(whole), std::move(rest), c);
    return CheckedAdd(std::move(whole), Keep(Op::kFloorDiv, std::move(rest), std::move(b)));
  }

  // whole + floor(rest / c), with the coefficients of `rest` in [0, c), c >= 2.
  Maybe Reduced(Sum whole, Sum rest, std::int64_t c) {
    std::int64_t common = c;
    for (const auto& [term, coefficient] : rest) {
      if (!IsConstant(term)) common = std::gcd(common, coefficient);
    }
    // floor((g p + k) / (g c)) is floor((p + floor(k / g)) / c).
    c /= common;
    Sum reduced = Zero();
    for (const auto& [term, coefficient] : rest) {
      if (coefficient >= common) reduced.emplace_hint(reduced.end(), term, coefficient / common);
    }
    if (SymbolicTerms(reduced) == 0) return whole;
    if (!FlipIsSmaller(reduced, c)) {
      return CheckedAdd(std::move(whole), Keep(Op::kFloorDiv, std::move(reduced), ConstantSum(c)));
    }
    // floor(p / c) is -floor((c - 1 - p) / c), of which -1 of each term's multiples leaves again.
    Sum flipped = Zero(), terms = Zero();
    const std::int64_t constant = c - 1 - ConstantOf(reduced);
    for (const auto& [term, coefficient] : reduced) {
      if (IsConstant(term)) continue;
      flipped.emplace_hint(flipped.end(), term, c - coefficient);
      terms.emplace_hint(terms.end(), term, 1);
    }
    if (constant != 0) flipped.emplace_hint(flipped.end(), Monomial(), constant);
    Sum quotient = Keep(Op::kFloorDiv, std::move(flipped), ConstantSum(c));
    Negate(quotient);
    Maybe sum = CheckedAdd(std::move(whole), std::move(terms));
    if (sum) sum = CheckedAdd(*std::move(sum), std::move(quotient));
    return sum;
  }

  static bool FlipIsSmaller(const Sum& sum, std::int64_t c) {
    for (const auto& [term, coefficient] : sum) {
      if (!IsConstant(term) && coefficient != c - coefficient) return c - coefficient < coefficient;
    }
    return c - 1 - ConstantOf(sum) < ConstantOf(sum);
  }

  Maybe CeilDiv(const Sum& a, const Sum& b) {
    const std::int64_t c = b.size() == 1 && IsConstant(b.begin()->first) ? b.begin()->second : 0;
    if (c > 0) {
      const Maybe raised = CheckedAdd(a, ConstantSum(c - 1));
      return raised ? FloorDiv(*raised, b) : std::nullopt;
    }
    Sum negated = a;
    Negate(negated);
    Maybe quotient = FloorDiv(negated, b);
    if (quotient) Negate(*quotient);
    return quotient;
  }

  Maybe Mod(const Sum& a, const Sum& b) {
    Maybe quotient = FloorDiv(a, b);
    if (!quotient || quotient->size() * b.size() > kMaxExpansion) return std::nullopt;
    Maybe product = Multiply(*quotient, b);
    if (!product) return std::nullopt;
    Negate(*product);
    return CheckedAdd(a, *std::move(product));
  }

  // Adds `sum` or, if it is a minimum itself, what that is of.
  static void AddChoices(const Sum& sum, std::vector<SumRef>& choices) {
    if (sum.size() == 1 && sum.begin()->second == 1 && sum.begin()->first.degree == 1) {
      const Atom& atom = *sum.begin()->first.factors[0].atom;
      if (atom.op == Op::kMin) {
        choices.insert(choices.end(), atom.parts.begin(), atom.parts.end());
        return;
      }
    }
    choices.push_back(std::make_shared<const Sum>(sum));
  }

  Maybe Min(const Sum& a, const Sum& b) {
    std::vector<SumRef> choices;
    AddChoices(a, choices);
    AddChoices(b, choices);
    std::size_t terms = 0;
    for (const SumRef& choice : choices) terms += choice->size();
    if (terms > kMaxExpansion) return std::nullopt;
    std::sort(choices.begin(), choices.end(),
              [this](const SumRef& x, const SumRef& y) { return Less(x, y); });
    // Of choices that differ by a constant the first is the least.
    const auto same = [this](const SumRef& x, const SumRef& y) {
      return CompareSymbolic(*x, *y, steps_) == 0;
    };
    choices.erase(std::unique(choices.begin(), choices.end(), same), choices.end());
    if (choices.size() == 1) return *choices[0];
    return PartsSum(Op::kMin, std::move(choices));
  }

  Maybe Max(Sum a, Sum b) {
    Negate(a);
    Negate(b);
    Maybe least = Min(a, b);
    if (least) Negate(*least);
    return least;
  }

  std::size_t steps_ = 0;
};

std::size_t StackOf(const Program& program) {
  std::size_t size = 0, largest = 0;
  for (const Expr::Instruction& i : program) {
    if (i.op == Op::kConstant || i.op == Op::kSymbol) {
      largest = std::max(largest, ++size);
    } else if (i.op != Op::kNegate) {
      --size;
    }
  }
  return largest;
}

}  // namespace

Canonicalized Canonicalize(const Expr& expr) {
  Canonicalizer canonicalizer;
  const Sum sum = canonicalizer.Run(expr.program());
  Program program = Written(sum);
  if (StackOf(program) > Expr::kMaxStack) return {expr, canonicalizer.steps()};
  return {Expr(std::move(program)), canonicalizer.steps()};
}

Expr Expr::Canonical() const { return Canonicalize(*this).expr; }

}  // namespace leeway::plan
