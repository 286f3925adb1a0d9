// Rows of a JSON Lines file: one object a line, whose top-level members are the columns.
//
// A wanted member must be a number or a string; the others may be anything, nested at most 64 deep.

#ifndef LEEWAY_TRAFFIC_JSON_LINES_H_
#define LEEWAY_TRAFFIC_JSON_LINES_H_

#include <memory>
#include <string>
#include <vector>

#include "leeway/status.h"
#include "traffic/row_source.h"

namespace leeway::traffic {

// As OpenRows and ColumnsOf.
Result<std::unique_ptr<RowSource>> OpenJsonLines(const std::string& path,
                                                 const std::vector<std::string>& columns);
Result<std::vector<std::string>> JsonLinesColumns(const std::string& path);

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_JSON_LINES_H_
