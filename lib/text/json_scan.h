// JSON syntax with positions (RFC 8259), which protobuf's reader does not give.
//
// Threading: pure functions.

#ifndef LEEWAY_TEXT_JSON_SCAN_H_
#define LEEWAY_TEXT_JSON_SCAN_H_

#include <optional>
#include <string>
#include <string_view>

namespace leeway::text {

// Counted from 1; a column is a byte.
struct Position {
  int line = 1;
  int column = 1;
};

struct JsonError {
  Position at;
  std::string what;
};

// Returns the first place where `json` is no JSON, or nests deeper than `max_depth`.
std::optional<JsonError> FindJsonError(std::string_view json, int max_depth);

// Returns where the field is that `message`, an error of protobuf's JSON reader, speaks of:
// "(entries[0].variants[1]) x: Cannot find field". The start if that cannot be told.
Position LocateJsonField(std::string_view json, std::string_view message);

}  // namespace leeway::text

#endif  // LEEWAY_TEXT_JSON_SCAN_H_
