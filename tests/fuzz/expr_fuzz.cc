// Any text parses or is refused; what parses prints and parses back to itself, and its range holds
// its values. Its canonical form has its values and is its own canonical form.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "plan/expr.h"
#include "plan/expr_canonical.h"
#include "plan/expr_range.h"

namespace {

using leeway::plan::Canonicalized;
using leeway::plan::Expr;
using leeway::plan::Interval;

std::optional<std::size_t> Find(std::string_view name) {
  if (name == "n") return 0;
  if (name == "seq") return 1;
  return std::nullopt;
}

std::string Print(const Expr& expr) {
  return expr.Print([](std::size_t dim) -> std::string_view { return dim == 0 ? "n" : "seq"; });
}

void CheckPrinting(const Expr& expr) {
  const std::string printed = Print(expr);
  if (printed.size() > Expr::kMaxLength) return;
  const leeway::Result<Expr> parsed = Expr::Parse(printed, Find);
  // A canonical form may nest deeper than what may be written.
  if (parsed.ok()) LEEWAY_CHECK(parsed->program() == expr.program());
}

void CheckValues(const Expr& expr, const Expr& canonical) {
  const leeway::Result<Interval> range =
      RangeOf(expr, std::vector<Interval>{{-4, 8}, {-100, 4096}});
  for (const std::int64_t n : {-4, 0, 1, 3, 8}) {
    for (const std::int64_t seq : {-100, -7, 0, 1, 100, 4096}) {
      const std::vector<std::int64_t> dims = {n, seq};
      const leeway::Result<std::int64_t> value = expr.Evaluate(dims);
      if (range.ok()) LEEWAY_CHECK(value.ok() && range->Contains(*value));
      const leeway::Result<std::int64_t> same = canonical.Evaluate(dims);
      if (value.ok() && same.ok()) LEEWAY_CHECK(*value == *same);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const leeway::Result<Expr> expr = Expr::Parse(text, Find);
  if (!expr.ok()) return 0;
  LEEWAY_CHECK(Print(*expr).size() > Expr::kMaxLength || Expr::Parse(Print(*expr), Find).ok());
  CheckPrinting(*expr);
  const Canonicalized canonical = Canonicalize(*expr);
  LEEWAY_CHECK(canonical.steps <= 100 * (size + 256));
  LEEWAY_CHECK(canonical.expr.program().size() <= 3 * (size + 256));
  CheckPrinting(canonical.expr);
  LEEWAY_CHECK(canonical.expr.Canonical().program() == canonical.expr.program());
  CheckValues(*expr, canonical.expr);
  return 0;
}
