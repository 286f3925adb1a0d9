#include "plan/expr.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "plan/expr_range.h"
#include "tests/catch.h"
#include "tests/plan/random_expr.h"

namespace leeway::plan {
namespace {

std::string ErrorOf(std::string_view text) {
  const Result<Expr> expr = ParseExpr(text);
  return expr.ok() ? "fine" : std::string(expr.status().message());
}

TEST_CASE("printing an expression and parsing it again gives the same program",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 500u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Result<Expr> expr = ParseExpr(RandomTree(prng, 4, Numbers::kAny).Text());
  REQUIRE(expr.ok());
  const std::string printed = PrintExpr(*expr);
  CAPTURE(printed);
  const Result<Expr> again = ParseExpr(printed);
  REQUIRE(again.ok());
  CHECK(again->program() == expr->program());
}

TEST_CASE("an expression evaluates as in arithmetic without bounds, or fails where that overflows",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 1000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < kExprNames.size(); ++i) {
    dims.push_back(static_cast<std::int64_t>(prng.Next() >> prng.Below(64)));
  }
  const Tree tree = RandomTree(prng, 4, Numbers::kAny);
  CAPTURE(tree.Text());
  const Result<Expr> expr = ParseExpr(tree.Text());
  REQUIRE(expr.ok());
  const Result<std::int64_t> value = expr->Evaluate(dims);
  const std::optional<Wide> oracle = tree.Value(dims);
  REQUIRE(value.ok() == oracle.has_value());
  if (!value.ok()) CHECK(value.status().code() == StatusCode::kOutOfRange);
  if (value.ok()) CHECK(*value == static_cast<std::int64_t>(*oracle));
}

TEST_CASE("a range holds every value, and promises that none fails", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 1000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<Interval> domains;
  for (std::size_t i = 0; i < kExprNames.size(); ++i) {
    const auto lo = static_cast<std::int64_t>(prng.Below(8));
    domains.push_back({lo, lo + static_cast<std::int64_t>(prng.Below(6))});
  }
  const Result<Expr> expr = ParseExpr(RandomTree(prng, 3, Numbers::kAny).Text());
  REQUIRE(expr.ok());
  const Result<Interval> range = RangeOf(*expr, domains);
  std::vector<std::int64_t> dims;
  for (const Interval& domain : domains) dims.push_back(domain.lo);
  bool done = !range.ok();
  while (!done) {
    const Result<std::int64_t> value = expr->Evaluate(dims);
    REQUIRE(value.ok());
    REQUIRE(range->Contains(*value));
    std::size_t i = 0;
    while (i < dims.size() && ++dims[i] > domains[i].hi) {
      dims[i] = domains[i].lo;
      ++i;
    }
    done = i == dims.size();
  }
}

TEST_CASE("sums and products group to the left, products bind tighter", "[plan]") {
  const std::vector<std::int64_t> dims = {10, 3, 2, 1};
  const auto value = [&](std::string_view text) {
    return ParseExpr(text).value().Evaluate(dims).value();
  };
  CHECK(value("10 - 3 - 2") == 5);
  CHECK(value("2 + 3 * 4") == 14);
  CHECK(value("100 floordiv 7 * 7") == 98);
  CHECK(value("seq ceildiv n") == 4);
  CHECK(value("-seq floordiv n") == -4);
  CHECK(value("-7 mod 3") == 2);
  CHECK(value("min(seq, n) * max(past_len, d.0)") == 6);
  CHECK(value("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("a bad expression names the column and what was expected there", "[plan]") {
  CHECK(ErrorOf("") == "column 1: expected a number, a dimension, '(' or '-' at the end");
  CHECK(ErrorOf("seq *") == "column 6: expected a number, a dimension, '(' or '-' at the end");
  CHECK(ErrorOf("seq * * n") == "column 7: expected a number, a dimension, '(' or '-' before '*'");
  CHECK(ErrorOf("seq n") == "column 5: expected an operator or the end before 'n'");
  CHECK(ErrorOf("(seq") == "column 5: expected ')' at the end");
  CHECK(ErrorOf("min(seq)") == "column 8: expected ',' before ')'");
  CHECK(ErrorOf("sq + 1") == "column 1: no dimension is named \"sq\"");
  CHECK(ErrorOf("1 + 9223372036854775808") == "column 5: the number exceeds 64 bits");
  CHECK(ErrorOf("seq mod mod") ==
        "column 9: expected a number, a dimension, '(' or '-' before 'm'");
  CHECK(ErrorOf(std::string("se\0q", 4)) == "column 1: no dimension is named \"se\"");
}

TEST_CASE("nesting and length are bounded", "[plan]") {
  const auto nested = [](int depth, const std::string& open, const std::string& close) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += "1";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  CHECK(ParseExpr(nested(64, "(", ")")).ok());
  CHECK(ParseExpr(nested(65, "(", ")")).status().code() == StatusCode::kResourceExhausted);
  CHECK(ParseExpr(nested(64, "min(1+2*", ",3)")).ok());
  CHECK(ParseExpr(nested(64, "min(1+2*", ",3)")).value().Evaluate({}).ok());
  CHECK(ParseExpr(nested(1000, "- ", "")).status().code() == StatusCode::kResourceExhausted);
  CHECK(ParseExpr(std::string(4096, '1')).status().code() == StatusCode::kInvalidArgument);
  CHECK(ParseExpr(std::string(4097, '1')).status().code() == StatusCode::kResourceExhausted);
}

TEST_CASE("a division by zero inside a domain is found though no corner shows it", "[plan]") {
  const Expr expr = ParseExpr("64 floordiv (seq - 5)").value();
  const std::vector<Interval> domains = {{1, 9}, {1, 1}, {1, 1}, {1, 1}};
  const Result<Interval> range = RangeOf(expr, domains);
  REQUIRE_FALSE(range.ok());
  CHECK(range.status().message() == "64 floordiv [-4, 4] may divide by zero");
}

TEST_CASE("corners decide where intervals overestimate", "[plan]") {
  const std::vector<Interval> domains = {{1, 9000}, {1, 4}, {1, 1}, {1, 1}};
  CHECK_FALSE(FindOutside(ParseExpr("seq - min(seq, 512)").value(), domains, kNonNegative));
  const auto outside = FindOutside(ParseExpr("seq - n").value(), domains, kNonNegative);
  REQUIRE(outside.has_value());
  CHECK(outside->value < 0);
  // Zero only in the middle of the domain, at a number the expression names.
  CHECK(FindOutside(ParseExpr("(seq - 700) * (seq - 700) - 1").value(), domains, kNonNegative));
}

}  // namespace
}  // namespace leeway::plan
