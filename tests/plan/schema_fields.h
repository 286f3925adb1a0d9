// Schemas seen through their descriptors, for tests that hold messages against all of them.
#ifndef LEEWAY_TESTS_PLAN_SCHEMA_FIELDS_H_
#define LEEWAY_TESTS_PLAN_SCHEMA_FIELDS_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/message.h"
#include "text/schema_pool.h"

namespace leeway::plan {

// A message whose every field can be looked at and changed.
class DynamicMessage {
 public:
  // The test fails where the bytes are no such message.
  DynamicMessage(Schema schema, std::string_view bytes);

  std::string Encode() const { return text::Encode(*message_); }

  // Calls `visit` with the message and each one inside it, and its field path: "" for itself.
  void ForEachMessage(
      const std::function<void(google::protobuf::Message&, const std::string&)>& visit);

 private:
  text::SchemaPool pool_{text::SchemaPool::Strings::kText};
  std::unique_ptr<google::protobuf::Message> message_;
};

// Fields, as "Kernel.key", "Profile.Point.dims": those that a message of the schema can have, and
// those that this one sets.
std::set<std::string> DeclaredFields(Schema schema);
std::set<std::string> SetFields(Schema schema, std::string_view bytes);
// Those that a message can have and that are not among `set`.
std::vector<std::string> MissingFields(Schema schema, const std::set<std::string>& set);

}  // namespace leeway::plan

#endif  // LEEWAY_TESTS_PLAN_SCHEMA_FIELDS_H_
