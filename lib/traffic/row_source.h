// Rows of a table, as the text of the wanted columns.
//
// Threading: one thread at a time.
// Errors:    "path:17: …"; kInvalidArgument what cannot be read, kDataLoss a truncated .gz.

#ifndef LEEWAY_TRAFFIC_ROW_SOURCE_H_
#define LEEWAY_TRAFFIC_ROW_SOURCE_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"

namespace leeway::traffic {

enum class TableFormat { kCsv, kJsonLines };
const char* TableFormatName(TableFormat format);

using Fields = std::span<const std::string_view>;

class RowSource {
 public:
  virtual ~RowSource() = default;

  // Returns the fields of the next row, in the order of the wanted columns, or nothing at the end.
  // Empty lines are skipped. The views live until the next call.
  virtual Result<std::optional<Fields>> Next() = 0;
  // kInvalidArgument about the row last returned.
  virtual Status Error(std::string_view problem) const = 0;
};

// Opens a table and looks for the columns; kInvalidArgument names a missing one and those there
// are. JSON Lines name their columns in the first line that is not empty.
Result<std::unique_ptr<RowSource>> OpenRows(const std::string& path, TableFormat format,
                                            const std::vector<std::string>& columns);

// Returns the columns that the table has, in its order.
Result<std::vector<std::string>> ColumnsOf(const std::string& path, TableFormat format);

// kInvalidArgument `path:line: no column "x"; there are "a", "b"`.
Status NoSuchColumn(const std::string& path, std::uint64_t line, const std::string& wanted,
                    const std::vector<std::string>& columns);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_ROW_SOURCE_H_
