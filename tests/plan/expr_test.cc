#include "plan/expr.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "plan/expr_range.h"
#include "tests/catch.h"

namespace leeway::plan {
namespace {

const std::vector<std::string> kNames = {"seq", "n", "past_len", "d.0"};

std::optional<std::size_t> FindName(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return i;
  }
  return std::nullopt;
}

Result<Expr> Parse(std::string_view text) { return Expr::Parse(text, FindName); }

std::string Print(const Expr& expr) {
  return expr.Print([](std::size_t i) -> std::string_view { return kNames[i]; });
}

std::string ErrorOf(std::string_view text) {
  const Result<Expr> expr = Parse(text);
  return expr.ok() ? "fine" : std::string(expr.status().message());
}

// Arithmetic without bounds that matter, as the oracle for 64 bits with bounds.
__extension__ typedef __int128 Wide;

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

std::optional<Wide> Oracle(Expr::Op op, Wide a, Wide b) {
  switch (op) {
    case Expr::Op::kAdd:
      return Narrow(a + b);
    case Expr::Op::kSub:
      return Narrow(a - b);
    case Expr::Op::kMul:
      return Narrow(a * b);
    case Expr::Op::kFloorDiv:
      if (b == 0) return std::nullopt;
      return Narrow(Floor(a, b));
    case Expr::Op::kCeilDiv:
      if (b == 0) return std::nullopt;
      return Narrow(-Floor(-a, b));
    case Expr::Op::kMod:
      if (b == 0) return std::nullopt;
      return a - b * Floor(a, b);
    case Expr::Op::kMin:
      return a < b ? a : b;
    case Expr::Op::kMax:
      return a > b ? a : b;
    case Expr::Op::kNegate:
      return Narrow(-b);
    default:
      return std::nullopt;
  }
}

struct Sample {
  std::string text;
  std::optional<Wide> value;
};

constexpr const char* kBinary[] = {"+", "-", "*", "floordiv", "ceildiv", "mod", "min", "max"};
constexpr Expr::Op kBinaryOps[] = {Expr::Op::kAdd,      Expr::Op::kSub,     Expr::Op::kMul,
                                   Expr::Op::kFloorDiv, Expr::Op::kCeilDiv, Expr::Op::kMod,
                                   Expr::Op::kMin,      Expr::Op::kMax};

// A random expression, fully in parentheses, with its value at `dims`.
Sample Random(base::Prng& prng, const std::vector<std::int64_t>& dims, int depth) {
  const std::uint64_t kind = depth == 0 ? prng.Below(2) : prng.Below(5);
  if (kind == 0) {
    const std::int64_t value = static_cast<std::int64_t>(prng.Next() >> prng.Below(64) >> 1);
    return {std::to_string(value), value};
  }
  if (kind == 1) {
    const std::size_t dim = prng.Below(kNames.size());
    return {kNames[dim], dims[dim]};
  }
  if (kind == 2) {
    const Sample inner = Random(prng, dims, depth - 1);
    return {"-(" + inner.text + ")",
            inner.value ? Oracle(Expr::Op::kNegate, 0, *inner.value) : std::nullopt};
  }
  const Sample a = Random(prng, dims, depth - 1), b = Random(prng, dims, depth - 1);
  const std::size_t op = prng.Below(8);
  const std::string word = kBinary[op];
  const std::optional<Wide> value =
      a.value && b.value ? Oracle(kBinaryOps[op], *a.value, *b.value) : std::nullopt;
  if (word == "min" || word == "max") return {word + "(" + a.text + "," + b.text + ")", value};
  return {"(" + a.text + ") " + word + " (" + b.text + ")", value};
}

TEST_CASE("printing an expression and parsing it again gives the same program",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 500u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::vector<std::int64_t> dims = {1, 2, 3, 4};
  const Result<Expr> expr = Parse(Random(prng, dims, 4).text);
  REQUIRE(expr.ok());
  const std::string printed = Print(*expr);
  CAPTURE(printed);
  const Result<Expr> again = Parse(printed);
  REQUIRE(again.ok());
  CHECK(again->program() == expr->program());
}

TEST_CASE("an expression evaluates as in arithmetic without bounds, or fails where that overflows",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 1000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    dims.push_back(static_cast<std::int64_t>(prng.Next() >> prng.Below(64)));
  }
  const Sample sample = Random(prng, dims, 4);
  CAPTURE(sample.text);
  const Result<Expr> expr = Parse(sample.text);
  REQUIRE(expr.ok());
  const Result<std::int64_t> value = expr->Evaluate(dims);
  REQUIRE(value.ok() == sample.value.has_value());
  if (!value.ok()) CHECK(value.status().code() == StatusCode::kOutOfRange);
  if (value.ok()) CHECK(*value == static_cast<std::int64_t>(*sample.value));
}

TEST_CASE("a range holds every value, and promises that none fails", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 1000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<Interval> domains;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto lo = static_cast<std::int64_t>(prng.Below(8));
    domains.push_back({lo, lo + static_cast<std::int64_t>(prng.Below(6))});
  }
  const Result<Expr> expr = Parse(Random(prng, {1, 1, 1, 1}, 3).text);
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
    return Parse(text).value().Evaluate(dims).value();
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
  CHECK(Parse(nested(64, "(", ")")).ok());
  CHECK(Parse(nested(65, "(", ")")).status().code() == StatusCode::kResourceExhausted);
  CHECK(Parse(nested(64, "min(1+2*", ",3)")).ok());
  CHECK(Parse(nested(64, "min(1+2*", ",3)")).value().Evaluate({}).ok());
  CHECK(Parse(nested(1000, "- ", "")).status().code() == StatusCode::kResourceExhausted);
  CHECK(Parse(std::string(4096, '1')).status().code() == StatusCode::kInvalidArgument);
  CHECK(Parse(std::string(4097, '1')).status().code() == StatusCode::kResourceExhausted);
}

TEST_CASE("a division by zero inside a domain is found though no corner shows it", "[plan]") {
  const Expr expr = Parse("64 floordiv (seq - 5)").value();
  const std::vector<Interval> domains = {{1, 9}, {1, 1}, {1, 1}, {1, 1}};
  const Result<Interval> range = RangeOf(expr, domains);
  REQUIRE_FALSE(range.ok());
  CHECK(range.status().message() == "64 floordiv [-4, 4] may divide by zero");
}

TEST_CASE("corners decide where intervals overestimate", "[plan]") {
  const std::vector<Interval> domains = {{1, 9000}, {1, 4}, {1, 1}, {1, 1}};
  CHECK_FALSE(FindOutside(Parse("seq - min(seq, 512)").value(), domains, kNonNegative));
  const auto outside = FindOutside(Parse("seq - n").value(), domains, kNonNegative);
  REQUIRE(outside.has_value());
  CHECK(outside->value < 0);
  // Zero only in the middle of the domain, at a number the expression names.
  CHECK(FindOutside(Parse("(seq - 700) * (seq - 700) - 1").value(), domains, kNonNegative));
}

}  // namespace
}  // namespace leeway::plan
