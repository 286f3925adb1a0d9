#include "plan/expr_sum.h"

#include <algorithm>

namespace leeway::plan {
namespace {

using Op = Expr::Op;
using Program = std::vector<Expr::Instruction>;

int Sign(std::int64_t a, std::int64_t b) { return a < b ? -1 : a > b ? 1 : 0; }

// A coefficient of -1 is spelt out in the first term only: later ones are subtracted.
bool ShowsCoefficient(const Monomial& monomial, std::int64_t coefficient, bool first) {
  return IsConstant(monomial) || (coefficient != 1 && (coefficient != -1 || first));
}

class Writer {
 public:
  void Write(const Sum& sum) {
    if (sum.empty()) program_.push_back({Op::kConstant, 0});
    bool first = true;
    for (const auto& [monomial, coefficient] : sum) {
      WriteTerm(monomial, coefficient, first);
      if (!first) program_.push_back({coefficient < 0 ? Op::kSub : Op::kAdd, 0});
      first = false;
    }
  }

  Program Take() { return std::move(program_); }

 private:
  void WriteTerm(const Monomial& monomial, std::int64_t coefficient, bool first) {
    bool pushed = ShowsCoefficient(monomial, coefficient, first);
    if (pushed) {
      program_.push_back({Op::kConstant, first || coefficient > 0 ? coefficient : -coefficient});
    }
    for (const Factor& factor : monomial.factors) {
      for (std::uint32_t i = 0; i < factor.power; ++i) {
        WriteAtom(*factor.atom);
        if (std::exchange(pushed, true)) program_.push_back({Op::kMul, 0});
      }
    }
  }

  void WriteAtom(const Atom& atom) {
    if (atom.parts.empty()) program_.push_back({atom.op, atom.operand});
    for (std::size_t i = 0; i < atom.parts.size(); ++i) {
      Write(*atom.parts[i]);
      if (i > 0) program_.push_back({atom.op, 0});
    }
  }

  Program program_;
};

}  // namespace

int Compare(const Atom& a, const Atom& b, std::size_t& steps) {
  ++steps;
  if (&a == &b) return 0;
  if (a.op != b.op) return a.op < b.op ? -1 : 1;
  if (a.operand != b.operand) return Sign(a.operand, b.operand);
  // Weights before contents: long chains of like operations are told apart at once.
  if (a.weight != b.weight) return a.weight < b.weight ? -1 : 1;
  for (std::size_t i = 0; i < a.parts.size() && i < b.parts.size(); ++i) {
    if (const int order = Compare(*a.parts[i], *b.parts[i], steps)) return order;
  }
  return Sign(static_cast<std::int64_t>(a.parts.size()), static_cast<std::int64_t>(b.parts.size()));
}

// Higher degrees first, then by factors: the smaller atom, then the higher power first.
int Compare(const Monomial& a, const Monomial& b, std::size_t& steps) {
  ++steps;
  if (a.degree != b.degree) return a.degree > b.degree ? -1 : 1;
  for (std::size_t i = 0; i < a.factors.size() && i < b.factors.size(); ++i) {
    if (const int order = Compare(*a.factors[i].atom, *b.factors[i].atom, steps)) return order;
    if (const int order = Sign(b.factors[i].power, a.factors[i].power)) return order;
  }
  return 0;
}

bool MonomialLess::operator()(const Monomial& a, const Monomial& b) const {
  return Compare(a, b, *steps) < 0;
}

// The constant term is the last one.
std::int64_t ConstantOf(const Sum& sum) {
  return !sum.empty() && IsConstant(sum.rbegin()->first) ? sum.rbegin()->second : 0;
}

std::size_t SymbolicTerms(const Sum& sum) { return sum.size() - (ConstantOf(sum) != 0 ? 1 : 0); }

int CompareSymbolic(const Sum& a, const Sum& b, std::size_t& steps) {
  const std::size_t terms_a = SymbolicTerms(a), terms_b = SymbolicTerms(b);
  auto at_a = a.begin(), at_b = b.begin();
  for (std::size_t i = 0; i < std::min(terms_a, terms_b); ++i, ++at_a, ++at_b) {
    if (const int order = Compare(at_a->first, at_b->first, steps)) return order;
    if (const int order = Sign(at_a->second, at_b->second)) return order;
  }
  return Sign(static_cast<std::int64_t>(terms_a), static_cast<std::int64_t>(terms_b));
}

int Compare(const Sum& a, const Sum& b, std::size_t& steps) {
  const int order = CompareSymbolic(a, b, steps);
  return order != 0 ? order : Sign(ConstantOf(a), ConstantOf(b));
}

std::size_t WeightOf(const Sum& sum) {
  if (sum.empty()) return 1;
  std::size_t weight = sum.size() - 1;
  bool first = true;
  for (const auto& [monomial, coefficient] : sum) {
    std::size_t pushed = ShowsCoefficient(monomial, coefficient, first) ? 1 : 0;
    weight += pushed;
    for (const Factor& factor : monomial.factors) {
      weight += factor.power * factor.atom->weight;
      pushed += factor.power;
    }
    weight += pushed - 1;
    first = false;
  }
  return weight;
}

std::vector<Expr::Instruction> Written(const Sum& sum) {
  Writer writer;
  writer.Write(sum);
  return writer.Take();
}

}  // namespace leeway::plan
