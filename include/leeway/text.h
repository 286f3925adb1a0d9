// The textproto and JSON forms of what the library reads and writes in binary.
//
// A component of its own, leeway::text: it needs the full protobuf runtime, the library only the
// lite one. It knows the schemas it was built with and touches no global registry.
//
// Threading: pure functions.
// Errors:    returned, never thrown; nothing is printed. A message starts with the name that was
//            given for the input, and where that is text with line and column, counted from 1.

#ifndef LEEWAY_TEXT_H_
#define LEEWAY_TEXT_H_

#include <string>
#include <string_view>

#include "leeway/status.h"

namespace leeway {
inline namespace v0 {

// The messages that files hold.
enum class Schema { kPlan, kDeployment, kDevice, kTraffic, kTelemetry };

// Returns the message's full name, e.g. "leeway.plan.v1.Plan".
std::string_view SchemaName(Schema schema);

// Return the deterministic binary encoding of a message in text form.
// kInvalidArgument where the text is malformed, has an unknown field, a value that does not fit, or
// a string that is not UTF-8; kResourceExhausted above 1 GiB or where messages nest too deeply.
Result<std::string> TextToBinary(Schema schema, std::string_view text, std::string_view name);
Result<std::string> JsonToBinary(Schema schema, std::string_view json, std::string_view name);

// Return the text form of a message; equal messages give equal text.
// kDataLoss if the bytes are no such message; kFailedPrecondition if they have fields that this
// schema does not know, naming their numbers: the text would lose them.
Result<std::string> BinaryToText(Schema schema, std::string_view bytes,
                                 std::string_view name = "input");
Result<std::string> BinaryToJson(Schema schema, std::string_view bytes,
                                 std::string_view name = "input");

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_TEXT_H_
