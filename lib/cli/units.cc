#include "cli/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace leeway::cli {
namespace {

struct Unit {
  const char* name;
  double size;
};

// Four significant digits, never in the exponential form.
std::string FourDigits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// The value in the largest unit that it fills once rounded.
template <std::size_t N>
std::string InUnits(double value, const std::array<Unit, N>& rising) {
  std::size_t unit = 0;
  while (unit + 1 < N && std::abs(value) >= 0.99995 * rising[unit + 1].size) ++unit;
  return FourDigits(value / rising[unit].size) + " " + rising[unit].name;
}

constexpr std::array<Unit, 7> kTimeUnits = {{{"ns", 1},
                                             {"µs", 1e3},
                                             {"ms", 1e6},
                                             {"s", 1e9},
                                             {"min", 60e9},
                                             {"h", 3600e9},
                                             {"d", 86400e9}}};

struct Spelling {
  std::string_view name;
  double nanos;
};

constexpr Spelling kSpellings[] = {{"ns", 1},     {"us", 1e3},   {"µs", 1e3},
                                   {"ms", 1e6},   {"s", 1e9},    {"m", 60e9},
                                   {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Nanos> ParseDuration(std::string_view text) {
  if (text == "0") return Nanos{0};
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
  const std::optional<double> number = ParseNumber(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const Spelling& spelling : kSpellings) {
    if (text.substr(digits) != spelling.name) continue;
    const double nanos = std::round(*number * spelling.nanos);
    // Below 2^53, where a double still holds every integer: 104 days.
    if (nanos > 9007199254740992.0) return std::nullopt;
    return Nanos{static_cast<std::int64_t>(nanos)};
  }
  return std::nullopt;
}

std::string FormatDuration(Nanos duration) {
  const double nanos = static_cast<double>(duration.count());
  if (duration.count() == 0) return "0 ns";
  if (std::abs(nanos) < 1000) return std::to_string(duration.count()) + " ns";
  return InUnits(nanos, kTimeUnits);
}

std::string FormatSpan(Nanos span) {
  for (std::size_t i = kTimeUnits.size(); i-- > 0;) {
    const auto size = static_cast<std::int64_t>(kTimeUnits[i].size);
    if (span.count() >= size && span.count() % size == 0 && span.count() / size < 1000) {
      return std::to_string(span.count() / size) + " " + kTimeUnits[i].name;
    }
    // 90 min rather than 1.500 h, but 3.500 h rather than 210 min.
    constexpr std::size_t kSeconds = 3;
    if (span.count() >= 2 * size && i >= kSeconds) break;
  }
  return FormatDuration(span);
}

std::string FormatCount(double count) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f", count);
  std::string digits = text;
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string Counted(double count, const std::string& one, const std::string& many) {
  return FormatCount(count) + " " + (count == 1 ? one : many);
}

std::string FormatPercent(double fraction, int decimals) {
  char zero[64];
  char text[64];
  std::snprintf(zero, sizeof zero, "%.*f %%", decimals, 0.0);
  std::snprintf(text, sizeof text, "%.*f %%", decimals, std::abs(fraction) * 100);
  const bool negative = fraction < 0 && std::string_view(text) != zero;
  return (negative ? "−" : "") + std::string(text);
}

std::string FormatSignedPercent(double fraction) {
  const std::string text = FormatPercent(fraction);
  return (fraction > 0 && text != "0.00 %" ? "+" : "") + text;
}

std::string FormatNumber(double value) {
  const bool whole = value == std::round(value) && std::abs(value) < 1e15;
  if (whole || std::abs(value) >= 999.95) return FormatCount(value);
  return FourDigits(value);
}

std::string FormatShortest(double value) {
  char text[32];  // the longest has 24 characters
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string FormatRate(double per_second, const std::string& what) {
  static constexpr std::array<Unit, 4> kUnits = {{{"", 1}, {"k ", 1e3}, {"M ", 1e6}, {"G ", 1e9}}};
  return InUnits(per_second, kUnits) + what + "/s";
}

std::string FormatBytes(double bytes) {
  static constexpr std::array<Unit, 6> kUnits = {
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}};
  if (bytes < 1000) return FormatCount(bytes) + " B";
  return InUnits(bytes, kUnits);
}

std::string FormatEnergy(double joules) {
  static constexpr std::array<Unit, 6> kUnits = {
      {{"µJ", 1e-6}, {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}}};
  return InUnits(joules, kUnits);
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += IsContinuation(c) ? 0 : 1;
  return width;
}

std::string Shortened(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size(); ++end) {
    if (!IsContinuation(text[end]) && ++columns >= width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

namespace {

bool IsUnit(std::string_view word) {
  constexpr std::string_view kUnits[] = {"ns", "µs", "ms", "s",  "min", "h",  "d",
                                         "mJ", "J",  "kJ", "MJ", "GJ",  "kB", "MB"};
  word = word.substr(0, word.find_first_of(".,;:)]"));
  return word == "%" || std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits);
}

// Where the text may be broken first: the space behind a word and, if it is a number's, its unit.
std::size_t EndOfWord(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0) return space;
  const bool number = text[space - 1] >= '0' && text[space - 1] <= '9';
  const std::size_t next = text.find(' ', space + 1);
  return number && IsUnit(text.substr(space + 1, next - space - 1)) ? next : space;
}

}  // namespace

std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t space = EndOfWord(text);
    const std::string_view word = text.substr(0, space);
    const std::size_t size = DisplayWidth(word);
    if (column > indent && column + 1 + size > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += size;
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return out;
}

}  // namespace leeway::cli
