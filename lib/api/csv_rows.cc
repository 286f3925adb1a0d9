#include "api/csv_rows.h"

#include <charconv>

namespace leeway::api {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

CsvRow RowOf(std::string_view line, std::size_t number) {
  CsvRow row{number, {}};
  for (;;) {
    const std::size_t comma = line.find(',');
    row.fields.push_back(Trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  while (!row.fields.empty() && row.fields.back().empty()) row.fields.pop_back();
  return row;
}

}  // namespace

std::vector<CsvRow> ReadCsvRows(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::vector<CsvRow> rows;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    CsvRow row = RowOf(text.substr(0, end), line);
    if (!row.fields.empty()) rows.push_back(std::move(row));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return rows;
}

std::optional<std::int64_t> SizeOf(std::string_view field) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  if (value < 1 || value > kMost) return std::nullopt;
  return value;
}

}  // namespace leeway::api
