// What canonical forms are made of: sums of products of atoms, their order and how they are written
// down. For expr_canonical.cc alone; docs/expressions.md has the rules.
//
// Threading: values.

#ifndef LEEWAY_PLAN_EXPR_SUM_H_
#define LEEWAY_PLAN_EXPR_SUM_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "plan/expr.h"

namespace leeway::plan {

struct Atom;
using AtomRef = std::shared_ptr<const Atom>;

struct Factor {
  AtomRef atom;
  std::uint32_t power = 1;
};

// Factors in the order of their atoms; none for the constant term.
struct Monomial {
  std::vector<Factor> factors;
  std::uint32_t degree = 0;

  void Multiply(Factor factor) {
    degree += factor.power;
    factors.push_back(std::move(factor));
  }
};

// Comparisons count steps, so they belong to the run that makes them.
struct MonomialLess {
  std::size_t* steps;
  bool operator()(const Monomial& a, const Monomial& b) const;
};

// Coefficients by monomial, none 0; their magnitudes stay below 2^63, so that they have negatives.
using Sum = absl::btree_map<Monomial, std::int64_t, MonomialLess>;
using SumRef = std::shared_ptr<const Sum>;

// A symbol, a floored quotient, a minimum, or an operation that was not carried out.
struct Atom {
  Expr::Op op = Expr::Op::kConstant;
  std::int64_t operand = 0;
  std::vector<SumRef> parts;
  std::size_t weight = 1;
};

// Negative where `a` comes first, 0 where they are equal. `steps` counts what is compared.
int Compare(const Atom& a, const Atom& b, std::size_t& steps);
int Compare(const Monomial& a, const Monomial& b, std::size_t& steps);
int Compare(const Sum& a, const Sum& b, std::size_t& steps);
// As Compare, without the constants.
int CompareSymbolic(const Sum& a, const Sum& b, std::size_t& steps);

inline bool IsConstant(const Monomial& monomial) { return monomial.degree == 0; }
// The constant term's value, 0 where there is none.
std::int64_t ConstantOf(const Sum& sum);
// Terms but the constant one.
std::size_t SymbolicTerms(const Sum& sum);

// Returns the sum as a postfix program, and how many instructions that has.
std::vector<Expr::Instruction> Written(const Sum& sum);
std::size_t WeightOf(const Sum& sum);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_EXPR_SUM_H_
