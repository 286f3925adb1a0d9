// The one JSON document that --json prints.

#ifndef LEEWAY_CLI_JSON_H_
#define LEEWAY_CLI_JSON_H_

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/invocation.h"
#include "leeway/time.h"

namespace leeway::cli {

// Keys keep the order in which they were set, so that equal results are equal bytes.
using Json = nlohmann::ordered_json;

// A document of the schema "leeway.<name>.v1".
Json NewDocument(std::string_view name);
// Sets the key to null and "<key>_reason" to why.
void SetAbsent(Json& object, const std::string& key, std::string_view reason);
// What differs from run to run: clocks, and the rates that follow from them.
Json HostFigures(const Stopwatch& watch);
// The document as text: two spaces, doubles in the shortest form that reads back the same, and
// U+FFFD for bytes that are no UTF-8.
std::string JsonText(const Json& document);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_JSON_H_
