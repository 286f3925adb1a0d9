// Rows of comma-separated fields, for small files of figures: no quotes.
//
// Threading: pure functions.

#ifndef LEEWAY_API_CSV_ROWS_H_
#define LEEWAY_API_CSV_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace leeway::api {

struct CsvRow {
  std::size_t line = 0;  // from 1
  // Without the spaces around them. SCALE-Sim ends rows with a comma: empty fields at the end are
  // left out.
  std::vector<std::string_view> fields;
};

// Returns the rows that hold anything. They view into `text`.
std::vector<CsvRow> ReadCsvRows(std::string_view text);

// Returns the whole number of [1, 2⁵⁰] that the field is, or nothing.
std::optional<std::int64_t> SizeOf(std::string_view field);

}  // namespace leeway::api

#endif  // LEEWAY_API_CSV_ROWS_H_
