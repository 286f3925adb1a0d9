#include "report/figures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace leeway::report {
namespace {

struct Unit {
  const char* name;
  double size;
};

constexpr std::array<Unit, 7> kTimeUnits = {{{"ns", 1},
                                             {"µs", 1e3},
                                             {"ms", 1e6},
                                             {"s", 1e9},
                                             {"min", 60e9},
                                             {"h", 3600e9},
                                             {"d", 86400e9}}};
constexpr std::size_t kSeconds = 3;

// printf would take the decimal point from the host's locale.
std::string Fixed(double value, int decimals) {
  std::array<char, 400> text;  // the longest double has 309 digits before the point
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, decimals);
  LEEWAY_CHECK(error == std::errc());
  return std::string(text.data(), end);
}

std::string FourDigits(double value) {
  const double size = std::abs(value);
  return Fixed(value, size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3);
}

// The value in the largest unit that it fills once rounded.
template <std::size_t N>
std::string InUnits(double value, const std::array<Unit, N>& rising) {
  std::size_t unit = 0;
  while (unit + 1 < N && std::abs(value) >= 0.99995 * rising[unit + 1].size) ++unit;
  return FourDigits(value / rising[unit].size) + " " + rising[unit].name;
}

std::string Grouped(std::string digits) {
  const std::size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string WithMinus(const std::string& text) {
  return text.rfind('-', 0) == 0 ? "−" + text.substr(1) : text;
}

}  // namespace

std::string Duration(Nanos duration) {
  if (duration == Nanos::max()) return kDash;
  if (std::abs(static_cast<double>(duration.count())) < 1000) {
    return WithMinus(std::to_string(duration.count()) + " ns");
  }
  return WithMinus(InUnits(static_cast<double>(duration.count()), kTimeUnits));
}

std::string SignedDuration(Nanos duration) {
  return (duration.count() > 0 ? "+" : "") + Duration(duration);
}

std::string Span(Nanos span) {
  for (std::size_t i = kTimeUnits.size(); i-- > 0;) {
    const auto size = static_cast<std::int64_t>(kTimeUnits[i].size);
    if (span.count() >= size && span.count() % size == 0 && span.count() / size < 1000) {
      return std::to_string(span.count() / size) + " " + kTimeUnits[i].name;
    }
    // 90 min rather than 1.500 h, but 3.500 h rather than 210 min.
    if (span.count() >= 2 * size && i >= kSeconds) break;
  }
  return Duration(span);
}

std::string Count(std::uint64_t count) { return Grouped(std::to_string(count)); }

std::string Length(std::int64_t length) { return WithMinus(Grouped(std::to_string(length))); }

std::string Counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return Count(count) + " " + (count == 1 ? one : many);
}

std::string Number(double value) {
  if (!std::isfinite(value)) return kDash;
  const bool whole = value == std::round(value) || std::abs(value) >= 999.95;
  return WithMinus(whole ? Grouped(Fixed(value, 0)) : FourDigits(value));
}

std::string Shortest(double value) {
  if (!std::isfinite(value)) return kDash;
  std::array<char, 32> text;  // the longest has 24 characters
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  LEEWAY_CHECK(error == std::errc());
  return WithMinus(std::string(text.data(), end));
}

std::string Percent(double fraction) {
  if (!std::isfinite(fraction)) return kDash;
  const std::string text = Fixed(std::abs(fraction) * 100, 2);
  return (fraction < 0 && text != "0.00" ? "−" : "") + text + " %";
}

std::string SignedPercent(double fraction) {
  const std::string text = Percent(fraction);
  return (fraction > 0 && text != "0.00 %" && text != kDash ? "+" : "") + text;
}

std::string Energy(double joules) {
  static constexpr std::array<Unit, 5> kUnits = {
      {{"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}}};
  return std::isfinite(joules) ? InUnits(joules, kUnits) : kDash;
}

std::string Interval(const std::optional<std::pair<double, double>>& interval) {
  if (!interval) return kDash;
  return "[" + SignedPercent(interval->first) + ", " + SignedPercent(interval->second) + "]";
}

std::string PercentRange(const std::optional<std::pair<double, double>>& range) {
  return range ? Percent(range->first) + " to " + Percent(range->second) : kDash;
}

std::string Gain(const LoopFigure& figure) {
  std::string text = SignedPercent(figure.value);
  if (figure.interval) text += ", 95 % CI " + Interval(figure.interval);
  return text;
}

std::vector<std::string> Apportioned(const std::vector<double>& shares) {
  constexpr double kHundredths = 10000;  // of a per cent, in 1
  constexpr double kLargest = 1e6;
  std::vector<std::int64_t> units;
  std::vector<double> remainders;
  std::int64_t left = 0;
  double sum = 0;
  for (const double share : shares) {
    // Such are not apportioned: nothing that is printed can help them.
    const double exact = std::abs(share) <= kLargest ? share * kHundredths : 0;
    const double unit = units.empty() ? std::round(exact) : std::floor(exact);
    sum += exact;
    left -= static_cast<std::int64_t>(unit);
    units.push_back(static_cast<std::int64_t>(unit));
    remainders.push_back(exact - unit);
  }
  left += std::llround(sum);
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!order.empty()) order.erase(order.begin());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  std::vector<std::string> printed;
  for (const std::size_t i : order) {
    if (left-- > 0) ++units[i];
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool finite = std::isfinite(shares[i]);
    printed.push_back(finite ? Percent(static_cast<double>(units[i]) / kHundredths) : kDash);
  }
  return printed;
}

}  // namespace leeway::report
