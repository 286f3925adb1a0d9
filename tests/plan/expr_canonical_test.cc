#include "plan/expr_canonical.h"

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/plan/random_expr.h"

namespace leeway::plan {
namespace {

std::string CanonicalOf(std::string_view text) {
  return PrintExpr(ParseExpr(text).value().Canonical());
}

// Dims of both signs: an expression does not know the domains of its symbols.
std::vector<std::int64_t> RandomDims(base::Prng& prng) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < kExprNames.size(); ++i) {
    dims.push_back(static_cast<std::int64_t>(prng.Below(4001)) - 2000);
  }
  return dims;
}

std::string Repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("a canonical form has the value of its expression wherever both evaluate",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 2000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Numbers numbers = seed % 4 == 0 ? Numbers::kAny : Numbers::kSmall;
  const Tree tree = RandomTree(prng, 1 + static_cast<int>(seed % 5), numbers);
  const Expr expr = ParseExpr(tree.Text()).value();
  const Expr canonical = expr.Canonical();
  CAPTURE(tree.Text(), PrintExpr(canonical));
  for (int i = 0; i < 20; ++i) {
    const std::vector<std::int64_t> dims = RandomDims(prng);
    const std::optional<Wide> value = tree.Value(dims);
    const Result<std::int64_t> of_canonical = canonical.Evaluate(dims);
    CAPTURE(dims);
    if (!value || !of_canonical.ok()) continue;
    REQUIRE(*of_canonical == static_cast<std::int64_t>(*value));
  }
}

// Where numbers are small nothing overflows, and the test above is not silent.
TEST_CASE("a canonical form of small numbers evaluates wherever its expression does",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 1000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Tree tree = RandomTree(prng, 3, Numbers::kSmall);
  const Expr canonical = ParseExpr(tree.Text()).value().Canonical();
  CAPTURE(tree.Text(), PrintExpr(canonical));
  const std::vector<std::int64_t> dims = {7, 3, 1900, 64};
  const std::optional<Wide> value = tree.Value(dims);
  if (!value) return;
  const Result<std::int64_t> of_canonical = canonical.Evaluate(dims);
  REQUIRE(of_canonical.ok());
  CHECK(*of_canonical == static_cast<std::int64_t>(*value));
}

TEST_CASE("the canonical form of a canonical form is itself", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 2000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Numbers numbers = seed % 4 == 0 ? Numbers::kAny : Numbers::kSmall;
  const Tree tree = RandomTree(prng, 1 + static_cast<int>(seed % 6), numbers);
  const Expr canonical = ParseExpr(tree.Text()).value().Canonical();
  CAPTURE(tree.Text(), PrintExpr(canonical));
  CHECK(PrintExpr(canonical.Canonical()) == PrintExpr(canonical));
  const std::string printed = PrintExpr(canonical);
  if (printed.size() > Expr::kMaxLength) return;
  const Result<Expr> parsed = ParseExpr(printed);
  if (parsed.ok()) CHECK(parsed->program() == canonical.program());
}

TEST_CASE("expressions that the laws of arithmetic make equal have one canonical form",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 3000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Tree tree = RandomTree(prng, 1 + static_cast<int>(seed % 2), Numbers::kSmall);
  const Tree other = Rewritten(tree, prng, 1 + static_cast<int>(prng.Below(8)));
  CAPTURE(tree.Text(), other.Text());
  // What divides by a constant zero has no value, and so no equals.
  const std::vector<std::int64_t> generic = {1013, -577, 1901, 64};
  if (!tree.Value(generic)) return;
  const Result<Expr> rewritten = ParseExpr(other.Text());
  REQUIRE(rewritten.ok());
  CHECK(PrintExpr(rewritten->Canonical()) == CanonicalOf(tree.Text()));
}

TEST_CASE("sizes that compilers write in several ways have one canonical form", "[plan]") {
  const std::vector<std::vector<std::string>> equal = {
      {"2 * seq", "seq + seq", "seq * 2", "3 * seq - seq", "(seq * 4) floordiv 2"},
      {"n * (seq + past_len)", "n * seq + n * past_len", "past_len * n + seq * n"},
      {"min(seq, n)", "min(n, seq)", "min(n, min(seq, n))", "-max(-n, -seq)",
       "min(n + 1, min(n, seq))"},
      {"seq", "seq * 1", "seq + 0", "seq floordiv 1", "seq ceildiv 1", "seq - seq mod 1", "--seq"},
      {"seq ceildiv 128", "(seq + 127) floordiv 128", "-(-seq floordiv 128)",
       "(2 * seq) ceildiv 256"},
      {"(seq ceildiv 128) * 128", "seq + 127 - (seq + 127) mod 128"},
      {"(n * seq * 768) floordiv (n * 12)", "64 * seq"},
      {"(seq + 128) floordiv 128", "seq floordiv 128 + 1"},
      {"(seq + n) floordiv n", "1 + seq floordiv n"},
      {"seq ceildiv n", "-((-seq) floordiv n)", "(2 * seq) ceildiv (2 * n)"},
      {"max(seq, 512)", "max(max(512, seq), 100)", "-min(-seq, -512)"},
      {"9223372036854775807", "9223372036854775806 + 1"},
      {"0", "seq - seq", "0 * n", "seq mod 1", "n mod n"},
  };
  for (const std::vector<std::string>& forms : equal) {
    for (const std::string& form : forms) {
      CAPTURE(form);
      CHECK(CanonicalOf(form) == CanonicalOf(forms[0]));
    }
  }
}

TEST_CASE("expressions of different values have different canonical forms", "[plan]") {
  const std::vector<std::string> different = {"seq",
                                              "n",
                                              "2 * seq",
                                              "seq * seq",
                                              "seq + 1",
                                              "seq - 1",
                                              "-seq",
                                              "seq floordiv 2",
                                              "seq ceildiv 2",
                                              "seq mod 2",
                                              "seq * n",
                                              "min(seq, n)",
                                              "max(seq, n)",
                                              "(seq+1) floordiv 3",
                                              "seq floordiv n",
                                              "n mod seq",
                                              "0",
                                              "1",
                                              "-1",
                                              "-9223372036854775808"};
  for (std::size_t a = 0; a < different.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      CAPTURE(different[a], different[b]);
      CHECK(CanonicalOf(different[a]) != CanonicalOf(different[b]));
    }
  }
}

// docs/expressions.md shows these, each derived there by hand from the rules.
TEST_CASE("canonical forms read as the documentation says", "[plan]") {
  CHECK(CanonicalOf("1 + seq * 2 + n * seq") == "seq * n + 2 * seq + 1");
  CHECK(CanonicalOf("(seq + n) * (seq - n)") == "seq * seq - n * n");
  CHECK(CanonicalOf("seq ceildiv 128") == "(seq + 127) floordiv 128");
  CHECK(CanonicalOf("seq mod 128") == "seq - 128 * (seq floordiv 128)");
  CHECK(CanonicalOf("-seq floordiv 128") == "-1 * ((seq + 127) floordiv 128)");
  CHECK(CanonicalOf("(3 * seq + 5) floordiv 2") == "2 * seq - seq floordiv 2 + 2");
  CHECK(CanonicalOf("max(seq, 512)") == "-1 * min(-512, -1 * seq)");
  CHECK(CanonicalOf("min(512, min(seq, 256))") == "min(256, seq)");
  CHECK(CanonicalOf("seq floordiv 0") == "seq floordiv 0");
  CHECK(CanonicalOf("9223372036854775807 * seq * 2") == "2 * (9223372036854775807 * seq)");
}

// For a character of text. A merge is of at most 256 pairs of terms, which take far more
// characters to write than it has pairs a character; a result of 256 instructions takes about
// as many to be grown.
constexpr std::size_t kMaxSteps = 60, kMaxGrowth = 3;

// Every family here grows without bound if it is carried out: by the number of terms, by copies of
// a dividend, by coefficients, by nesting.
TEST_CASE("hostile expressions cost work and space in proportion to their length",
          "[plan][hostile]") {
  const std::vector<std::vector<std::string>> families = {
      {"(seq+n)", "*(seq+n)", ""},
      {"(seq+n+past_len+1)", "*(seq-n+past_len+3)", ""},
      {"seq", " mod 7 mod 5 mod 3", ""},
      {"seq", "*3 floordiv 5", ""},
      {"seq", " ceildiv n mod seq", ""},
      {"seq", "+seq*n+n*n*n-3", ""},
      {"seq", "*9223372036854775807", ""},
      {"seq", "+9223372036854775807*seq", ""},
      {"seq", "*seq*n+1", ""},
      {"seq", " floordiv 3+n*(seq mod 5)", ""},
  };
  for (const std::vector<std::string>& family : families) {
    for (const std::size_t length : {512, 4096}) {
      const std::string text =
          family[0] + Repeated(family[1], (length - family[0].size()) / family[1].size());
      CAPTURE(family[1], length);
      const Canonicalized result = Canonicalize(ParseExpr(text).value());
      CHECK(result.steps <= kMaxSteps * text.size());
      CHECK(result.expr.program().size() <= kMaxGrowth * text.size());
    }
  }
}

TEST_CASE("nested hostile expressions cost work and space in proportion to their length",
          "[plan][hostile]") {
  const std::vector<std::vector<std::string>> families = {
      {"min(", ",n+seq*3)"},
      {"(n+", ")*(seq+n+past_len)"},
      {"(n+", ") mod (seq + 3)"},
      {"max(n*", ",seq-n) mod 11"},
      {"-(n - ", ") ceildiv 3"},
      {"(seq*", "+n) floordiv (n+1)"},
      {"min(seq,max(n*", ", 3)) * seq"},
  };
  for (const std::vector<std::string>& family : families) {
    const std::string text = Repeated(family[0], 30) + "(past_len + d.0)" + Repeated(family[1], 30);
    CAPTURE(text);
    const Canonicalized result = Canonicalize(ParseExpr(text).value());
    CHECK(result.steps <= kMaxSteps * text.size());
    CHECK(result.expr.program().size() <= kMaxGrowth * text.size());
    CHECK(PrintExpr(result.expr.Canonical()) == PrintExpr(result.expr));
  }
}

}  // namespace
}  // namespace leeway::plan
