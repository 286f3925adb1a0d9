// Counts the messages of a serialized snapshot without building them.

#ifndef LEEWAY_TELEMETRY_MESSAGE_COUNT_H_
#define LEEWAY_TELEMETRY_MESSAGE_COUNT_H_

#include <cstddef>
#include <string_view>

namespace leeway::telemetry {

// Returns how many messages the parser would make of `bytes`, at least up to where they stop being
// well-formed: the parser refuses such bytes at that place. One pass, no allocation.
std::size_t CountSnapshotMessages(std::string_view bytes);

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_MESSAGE_COUNT_H_
