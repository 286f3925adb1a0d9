// Other encodings of a message: every one is legal protobuf and means the same.
#ifndef LEEWAY_TESTS_PLAN_SCRAMBLE_H_
#define LEEWAY_TESTS_PLAN_SCRAMBLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/prng.h"
#include "google/protobuf/descriptor.h"

namespace leeway::plan {

// The bytes of a random valid plan.
std::string RandomBytes(std::uint64_t seed);

enum class UnknownFields { kNone, kSome };

// Returns `bytes` with the fields of every message in another order, messages that are there once
// cut in two parts, packed fields unpacked, and varints longer than they need be. With kSome,
// fields that no schema has come in.
std::string Scramble(std::string_view bytes, const google::protobuf::Descriptor& schema,
                     UnknownFields unknown, base::Prng& prng);

}  // namespace leeway::plan

#endif  // LEEWAY_TESTS_PLAN_SCRAMBLE_H_
