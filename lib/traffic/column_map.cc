#include "traffic/column_map.h"

#include <algorithm>

#include "base/status_macros.h"
#include "traffic/body.h"
#include "traffic/quoted.h"

namespace leeway::traffic {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Status MapError(std::string_view text, const std::string& problem) {
  return base::InvalidArgument("map " + Quoted(text) + ": " + problem);
}

void SetArrival(ColumnMap& map, std::string_view column) {
  const std::size_t colon = column.rfind(':');
  if (colon != std::string_view::npos) {
    map.unit = ParseTimeUnit(column.substr(colon + 1));
    if (map.unit) column = column.substr(0, colon);
  }
  map.arrival = std::string(column);
}

// Returns what is wrong with the part, or "".
std::string AddPart(ColumnMap& map, std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return Quoted(part) + " has no '='";
  const std::string key(Trimmed(part.substr(0, equals)));
  const std::string_view column = Trimmed(part.substr(equals + 1));
  if (key.empty() || column.empty()) return Quoted(part) + " is not KEY=COLUMN";
  const bool twice = key == "arrival" ? !map.arrival.empty()
                     : key == "stream"
                         ? map.stream.has_value()
                         : std::any_of(map.dims.begin(), map.dims.end(),
                                       [&](const auto& dim) { return dim.first == key; });
  if (twice) return Quoted(key) + " is given twice";
  if (key == "arrival") {
    SetArrival(map, column);
  } else if (key == "stream") {
    map.stream = std::string(column);
  } else {
    map.dims.emplace_back(key, column);
  }
  return "";
}

}  // namespace

std::vector<std::string> ColumnMap::Columns() const {
  std::vector<std::string> columns{arrival};
  for (const auto& [dim, column] : dims) columns.push_back(column);
  if (stream) columns.push_back(*stream);
  return columns;
}

std::string ColumnMap::ToText() const {
  std::string text = "arrival=" + arrival;
  if (unit) text += std::string(":") + TimeUnitName(*unit);
  for (const auto& [dim, column] : dims) text += "," + dim + "=" + column;
  if (stream) text += ",stream=" + *stream;
  return text;
}

Result<ColumnMap> ParseColumnMap(std::string_view text) {
  ColumnMap map;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string problem = AddPart(map, text.substr(begin, comma - begin));
    if (!problem.empty()) return MapError(text, problem);
    begin = comma + 1;
  }
  if (map.arrival.empty()) return MapError(text, "no arrival=COLUMN");
  if (map.dims.empty()) return MapError(text, "no dim, e.g. seq=COLUMN");
  if (map.dims.size() > kMaxDims) {
    return MapError(text, std::to_string(map.dims.size()) + " dims; at most " +
                              std::to_string(kMaxDims) + " are supported");
  }
  return map;
}

}  // namespace leeway::traffic
