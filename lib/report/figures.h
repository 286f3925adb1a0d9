// Numbers as the report prints them: with a unit and four significant digits.
//
// The same bytes whatever locale the host has set. What is not finite is printed as a dash.

#ifndef LEEWAY_REPORT_FIGURES_H_
#define LEEWAY_REPORT_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/loop_result.h"
#include "leeway/time.h"

namespace leeway::report {

inline constexpr char kDash[] = "–";

std::string Duration(Nanos duration);        // "12.34 ms"; a dash for the longest there is
std::string SignedDuration(Nanos duration);  // "+12.34 ms"
std::string Span(Nanos span);                // "1 h", "14 d": whole numbers where they fit
std::string Count(std::uint64_t count);      // "1,234,567"
std::string Length(std::int64_t length);     // the same for a length of a request
// "1 request", "2,000 requests"
std::string Counted(std::uint64_t count, const std::string& one, const std::string& many);
std::string Number(double value);         // "12.34"
std::string Shortest(double value);       // "0.7": what reads back as the same number
std::string Percent(double fraction);     // "12.34 %"
std::string SignedPercent(double value);  // "+12.34 %"
std::string Energy(double joules);        // "12.34 kJ"
// "[+1.23 %, +4.56 %]", or a dash
std::string Interval(const std::optional<std::pair<double, double>>& interval);
// "12.34 % to 56.78 %", or a dash.
std::string PercentRange(const std::optional<std::pair<double, double>>& range);
// "+12.34 %, 95 % CI [+1.23 %, +4.56 %]", or without what is not known
std::string Gain(const LoopFigure& figure);

// Percentages with two decimals that add up as printed: the first as it is printed elsewhere, the
// others rounded down, then one hundredth more for the largest remainders, the earlier first among
// equals.
std::vector<std::string> Apportioned(const std::vector<double>& shares);

}  // namespace leeway::report

#endif  // LEEWAY_REPORT_FIGURES_H_
