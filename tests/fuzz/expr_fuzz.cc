// Any text parses or is refused; what parses prints and parses back to itself, and its range holds
// its values.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "plan/expr.h"
#include "plan/expr_range.h"

using leeway::plan::Expr;
using leeway::plan::Interval;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto find = [](std::string_view name) -> std::optional<std::size_t> {
    if (name == "n") return 0;
    if (name == "seq") return 1;
    return std::nullopt;
  };
  const leeway::Result<Expr> expr = Expr::Parse(text, find);
  if (!expr.ok()) return 0;
  const std::string printed =
      expr->Print([](std::size_t dim) -> std::string_view { return dim == 0 ? "n" : "seq"; });
  if (printed.size() <= Expr::kMaxLength) {
    LEEWAY_CHECK(Expr::Parse(printed, find).value().program() == expr->program());
  }
  const std::vector<Interval> domains = {{1, 8}, {0, 4096}};
  const leeway::Result<Interval> range = RangeOf(*expr, domains);
  for (const std::int64_t n : {1, 3, 8}) {
    for (const std::int64_t seq : {0, 1, 100, 4096}) {
      const leeway::Result<std::int64_t> value = expr->Evaluate(std::vector<std::int64_t>{n, seq});
      if (range.ok()) LEEWAY_CHECK(value.ok() && range->Contains(*value));
    }
  }
  return 0;
}
