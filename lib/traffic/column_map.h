// Which columns of a table make an arrival: "arrival=TIMESTAMP:ms,seq=ContextTokens,stream=tenant".

#ifndef LEEWAY_TRAFFIC_COLUMN_MAP_H_
#define LEEWAY_TRAFFIC_COLUMN_MAP_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leeway/status.h"
#include "traffic/time_text.h"

namespace leeway::traffic {

struct ColumnMap {
  std::string arrival;
  // Nothing where none is given: dates, or numbers of seconds.
  std::optional<TimeUnit> unit;
  std::optional<std::string> stream;
  // Dim and column, in the order given.
  std::vector<std::pair<std::string, std::string>> dims;

  // Columns in a fixed order: arrival, the dims, stream if there is one.
  std::vector<std::string> Columns() const;
  // The map as text again, without spaces.
  std::string ToText() const;
};

// Every key but "arrival" and "stream" names a dim. What follows the last ':' of the arrival column
// is its unit if it is one. kInvalidArgument names the part that does not fit.
Result<ColumnMap> ParseColumnMap(std::string_view text);

inline constexpr std::string_view kAzureLlmMap = "arrival=TIMESTAMP,seq=ContextTokens";
inline constexpr std::string_view kMooncakeMap = "arrival=timestamp:ms,seq=input_length";

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_COLUMN_MAP_H_
