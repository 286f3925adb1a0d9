#include "plan/reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"

namespace leeway::plan {
namespace {

constexpr Interval kAny{std::numeric_limits<std::int64_t>::min(),
                        std::numeric_limits<std::int64_t>::max()};

std::string Show(const Body& body, const Expr& expr) {
  std::string text =
      expr.Print([&](std::size_t dim) -> std::string_view { return body.dims[dim].name; });
  return text.size() > 80 ? text.substr(0, 80) + "..." : text;
}

// "seq = 512, batch = 1", of the dims that occur in `expr`.
std::string ShowDims(const Body& body, const Expr& expr, const std::vector<std::int64_t>& dims) {
  std::string text;
  for (const std::size_t symbol : expr.Symbols()) {
    if (!text.empty()) text += ", ";
    text += body.dims[symbol].name + " = " + std::to_string(dims[symbol]);
  }
  return text;
}

// What an expression is in the content digest.
std::string CanonicalText(const Body& body, const Expr& expr) {
  return expr.Canonical().Print(
      [&](std::size_t dim) -> std::string_view { return body.dims[dim].name; });
}

absl::string_view Key(std::string_view text) { return {text.data(), text.size()}; }

std::string ShowBounds(const Interval& bounds) {
  if (bounds.hi == std::numeric_limits<std::int64_t>::max()) {
    return "at least " + std::to_string(bounds.lo);
  }
  return "within [" + std::to_string(bounds.lo) + ", " + std::to_string(bounds.hi) + "]";
}

}  // namespace

bool IsCleanText(std::string_view text) {
  return text.find('\0') == std::string_view::npos && base::IsUtf8(text);
}

bool IsDimName(std::string_view name) {
  if (name.size() > 256) return false;
  const auto find = [&](std::string_view word) -> std::optional<std::size_t> {
    if (word == name) return 0;
    return std::nullopt;
  };
  const Result<Expr> expr = Expr::Parse(name, find);
  return expr.ok() && !expr->is_constant() &&
         expr->Print([&](std::size_t) { return name; }) == name;
}

void Reader::DeclareDims(const Path& plan) {
  dims.Reserve(body_.dims.size());
  for (Index i = 0; i < body_.dims.size(); ++i) {
    const Dim& dim = body_.dims[i];
    domains_.push_back({dim.min, std::max(dim.min, dim.max)});
    Declare(plan.At("dims", i), dims, "dimension", dim.name, i);
  }
}

std::string Reader::Text(const Path& path, const std::string& text) {
  if (!text.empty() && !IsCleanText(text)) {
    findings_.Error(path, "text " + Quote(text) + " is not UTF-8 without NUL");
  }
  return text;
}

std::string Reader::OptionalName(const Path& path, const std::string& text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control) && IsCleanText(text)) {
    findings_.Warning(path, "name " + Quote(text) + " has control characters");
  }
  return Text(path, text);
}

std::string Reader::Name(const Path& path, const std::string& text) {
  if (text.empty()) findings_.Error(path, "a name is missing");
  return OptionalName(path, text);
}

std::string Reader::DigestBytes(const Path& path, const std::string& bytes) {
  if (!bytes.empty() && bytes.size() != 32) {
    findings_.Error(path, "a digest of " + std::to_string(bytes.size()) +
                              " bytes is neither absent nor 32 bytes long");
  }
  return bytes;
}

Reader::Parsed& Reader::Parse(const Path& path, const std::string& text) {
  if (const auto at = parsed_.find(Key(text)); at != parsed_.end()) {
    mixed_ |= !at->second->canonical.empty();
    return *at->second;
  }
  Result<Expr> expr = Expr::Parse(
      text, [&](std::string_view name) -> std::optional<std::size_t> { return dims.Find(name); });
  Status status = expr.status();
  if (status.ok()) {
    const Result<Interval> range = RangeOf(*expr, domains_);
    if (range.ok()) {
      std::string canonical = CanonicalText(body_, *expr);
      if (canonical == text) canonical.clear();
      mixed_ |= !canonical.empty();
      auto parsed =
          std::make_unique<Parsed>(Parsed{*std::move(expr), *range, text, std::move(canonical)});
      const absl::string_view key = Key(parsed->text);
      return *parsed_.try_emplace(key, std::move(parsed)).first->second;
    }
    status = range.status();
  }
  findings_.Error(path, "expression " + Quote(text) + ": " + std::string(status.message()));
  scratch_ = {Expr::Constant(1), std::nullopt, "", ""};
  return scratch_;
}

std::string_view Reader::Canonical(std::string_view text) const {
  const auto at = parsed_.find(Key(text));
  if (at == parsed_.end() || at->second->canonical.empty()) return text;
  return at->second->canonical;
}

bool Reader::CheckWithin(const Path& path, const Expr& expr, const Interval& range,
                         const Interval& bounds) {
  if (bounds.Contains(range)) return true;
  const std::string what = "expression " + Quote(Show(body_, expr));
  const std::size_t cost = expr.program().size() * CornerCount(expr);
  if (!TakeInstructions(cost)) {
    findings_.Error(path, what + " cannot be shown to stay " + ShowBounds(bounds));
    return false;
  }
  const std::optional<Witness> witness = FindOutside(expr, domains_, bounds);
  if (!witness) return true;
  std::string message = what + " is " + std::to_string(witness->value);
  if (!expr.is_constant()) message += " at " + ShowDims(body_, expr, witness->dims);
  findings_.Error(path, message + ", not " + ShowBounds(bounds));
  return false;
}

bool Reader::TakeInstructions(std::size_t instructions) {
  if (instructions > corner_budget_) return false;
  corner_budget_ -= instructions;
  return true;
}

bool Reader::CheckRange(const Path& path, const Expr& expr, const Interval& bounds) {
  const Result<Interval> range = RangeOf(expr, domains_);
  if (range.ok()) return CheckWithin(path, expr, *range, bounds);
  findings_.Error(path, "expression " + Quote(Show(body_, expr)) + ": " +
                            std::string(range.status().message()));
  return false;
}

Expr Reader::Size(const Path& path, const std::string& text, const Interval& bounds) {
  if (text.empty()) {
    findings_.Error(path, "a size is missing");
    return Expr::Constant(1);
  }
  Parsed& parsed = Parse(path, text);
  if (!parsed.range || bounds.Contains(*parsed.range)) return parsed.expr;
  if (!CheckWithin(path, parsed.expr, *parsed.range, bounds)) return Expr::Constant(1);
  // Proven by corners: remembered, so that a size that repeats costs once.
  parsed.range = {std::max(parsed.range->lo, bounds.lo), std::min(parsed.range->hi, bounds.hi)};
  return parsed.expr;
}

Expr Reader::SizeOr(const Path& path, const std::string& text, std::int64_t otherwise,
                    const Interval& bounds) {
  if (!text.empty()) return Size(path, text, bounds);
  return otherwise == 0 ? Expr() : otherwise == 1 ? one_ : Expr::Constant(otherwise);
}

Expr Reader::Elements(const Path& path, const std::string& texts,
                      const std::vector<Expr>& factors) {
  if (const auto at = products_.find(texts); at != products_.end()) return at->second;
  Expr product = Expr::Product(factors);
  constexpr std::int64_t kMaxBytes = 8;  // of an element
  const Interval bounds{0, std::numeric_limits<std::int64_t>::max() / kMaxBytes};
  if (!CheckRange(path, product, bounds)) return one_;
  return products_.try_emplace(texts, std::move(product)).first->second;
}

Expr Reader::AnyValue(const Path& path, const std::string& text) { return Size(path, text, kAny); }

double Reader::Amount(const Path& path, double value) {
  if (std::isfinite(value) && value >= 0) return value;
  findings_.Error(path, "the number " + std::to_string(value) + " is not finite and at least 0");
  return 0;
}

std::int64_t Reader::NonNegative(const Path& path, std::int64_t value) {
  if (value >= 0) return value;
  findings_.Error(path, std::to_string(value) + " is below 0");
  return 0;
}

std::int64_t Reader::Nanoseconds(const Path& path, std::int64_t value) {
  if (value <= kMaxNanoseconds) return NonNegative(path, value);
  findings_.Error(path, std::to_string(value) + " ns exceed " + std::to_string(kMaxNanoseconds));
  return 0;
}

int Reader::Enum(const Path& path, int value, int last, int otherwise) {
  if (value >= 1 && value <= last) return value;
  if (value != 0) {
    findings_.Error(path, "the value " + std::to_string(value) + " is unknown to this reader");
  } else if (otherwise == 0) {
    findings_.Error(path, "a value is missing");
  }
  return otherwise == 0 ? 1 : otherwise;
}

void Reader::Declare(const Path& path, Names& names, std::string_view what, std::string_view name,
                     std::size_t index) {
  const std::optional<Index> other = names.Add(name, static_cast<Index>(index));
  if (!other || name.empty()) return;
  findings_.Error(path.At("name"), std::string(what) + " " + Quote(name) +
                                       " repeats the name of number " + std::to_string(*other));
}

std::optional<Index> Reader::Find(const Path& path, const Names& names, std::string_view what,
                                  std::string_view name) {
  const std::optional<Index> index = names.Find(name);
  if (!index) findings_.Error(path, "no " + std::string(what) + " is named " + Quote(name));
  return index;
}

bool Reader::CheckCount(const Path& path, std::size_t count, std::size_t most) {
  if (count <= most) return true;
  findings_.Error(path, std::to_string(count) + " elements exceed " + std::to_string(most));
  return false;
}

bool Reader::TakeDimCells(const Path& path, std::size_t cells) {
  const bool fitted = dim_cells_ <= kMaxDimCells;
  dim_cells_ += cells;
  if (dim_cells_ <= kMaxDimCells) return true;
  if (fitted) {
    findings_.Error(path, "envelopes and profile points hold more than " +
                              std::to_string(kMaxDimCells) + " dimension values");
  }
  return false;
}

}  // namespace leeway::plan
