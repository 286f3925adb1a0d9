// The fields of a message that the generated code does not know; see plan_proto.h for who sees
// that.
//
// Threading: pure functions of their arguments.

#ifndef LEEWAY_PLAN_PLAN_PROTO_UNKNOWN_H_
#define LEEWAY_PLAN_PLAN_PROTO_UNKNOWN_H_

#include <string>
#include <string_view>

#include "google/protobuf/message_lite.h"
#include "plan/reader.h"

namespace leeway::plan {

// Returns the unknown fields of `message` itself, not of those inside it, as they were on the wire.
inline std::string_view UnknownFieldsOf(const google::protobuf::MessageLite& message) {
  // Messages of proto3 keep them and have no accessor for them: the lite runtime has no reflection.
  struct Access : google::protobuf::MessageLite {
    static constexpr auto Metadata() { return &Access::_internal_metadata_; }
  };
  const google::protobuf::internal::InternalMetadata& metadata = message.*Access::Metadata();
  if (!metadata.have_unknown_fields()) return {};
  return metadata.unknown_fields<std::string>(google::protobuf::internal::GetEmptyString);
}

// Notes them for the warning that the plan gets.
inline void NoteUnknown(Reader& reader, const Path& path,
                        const google::protobuf::MessageLite& message) {
  const std::string_view wire = UnknownFieldsOf(message);
  if (!wire.empty()) reader.unknown().Note(path, wire);
}

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_UNKNOWN_H_
