// Arrivals recorded one a row in a CSV or JSON Lines file.

#ifndef LEEWAY_TRAFFIC_TABLE_BODY_H_
#define LEEWAY_TRAFFIC_TABLE_BODY_H_

#include <memory>
#include <string>

#include "leeway/status.h"
#include "traffic/body.h"
#include "traffic/column_map.h"
#include "traffic/row_source.h"

namespace leeway::traffic {

inline constexpr std::size_t kMaxStreams = 1024;

// Opens the table and looks for the map's columns. With a stream column it reads the whole file
// once, because streams must be known before the first arrival: they are numbered in order of
// appearance, all of priority 1; kInvalidArgument above kMaxStreams. Without one there is the
// stream "default".
Result<std::shared_ptr<const Body>> OpenTable(const std::string& path, TableFormat format,
                                              const ColumnMap& map);

// Returns the positive integer that `text` spells, or nothing.
std::optional<std::int64_t> ParseLength(std::string_view text);

// The file's name without its folders, so that equal runs give equal reports wherever they read.
std::string BaseName(const std::string& path);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_TABLE_BODY_H_
