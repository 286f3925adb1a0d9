// Numbers as people read and write them: with a unit and three or four significant digits.

#ifndef LEEWAY_CLI_UNITS_H_
#define LEEWAY_CLI_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "leeway/time.h"

namespace leeway::cli {

// What ParseDuration takes, for messages.
inline constexpr std::string_view kDurationForm =
    "a number with a unit, ns, us, ms, s, m, h or d, such as 50ms or 10m, of at most 104 days";

// Returns nothing unless the text is a number that is not negative and a unit ("1.5h"), or 0.
std::optional<Nanos> ParseDuration(std::string_view text);
// Returns nothing unless the whole text is a number in the ordinary or the exponential form.
std::optional<double> ParseNumber(std::string_view text);

std::string FormatDuration(Nanos duration);  // "12.34 ms"
std::string FormatSpan(Nanos span);          // "10 min", "14 d": whole numbers where they fit
std::string FormatCount(double count);       // "1,234,567"
// "1 request", "2,000 requests"
std::string Counted(double count, const std::string& one, const std::string& many);
std::string FormatPercent(double fraction, int decimals = 2);  // "12.34 %"
std::string FormatSignedPercent(double fraction);              // "+12.34 %"
std::string FormatNumber(double value);                        // "12.34"
std::string FormatShortest(double value);                      // "0.7": as short as reads back
// "12.34 M steps/s"
std::string FormatRate(double per_second, const std::string& what);
std::string FormatBytes(double bytes);    // "12.34 GB"
std::string FormatEnergy(double joules);  // "12.34 kJ"

// How many columns the text takes: its code points, as every character that we print is one wide.
std::size_t DisplayWidth(std::string_view text);
// Returns the text shortened to `width` columns, its end replaced by "…".
std::string Shortened(std::string_view text, std::size_t width);
// Breaks the text between words into lines of at most `width` columns, each after `indent` spaces
// but the first, which starts at column `indent` already. A number keeps its unit.
std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width = 80);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_UNITS_H_
