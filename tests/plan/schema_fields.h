// The schema seen through its descriptors, for tests that hold plans against all of it.
#ifndef LEEWAY_TESTS_PLAN_SCHEMA_FIELDS_H_
#define LEEWAY_TESTS_PLAN_SCHEMA_FIELDS_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "google/protobuf/message.h"
#include "text/schema_pool.h"

namespace leeway::plan {

// A plan as a dynamic message: every field can be looked at and changed.
class DynamicPlan {
 public:
  // The test fails where the bytes are no plan.
  explicit DynamicPlan(std::string_view bytes);

  std::string Encode() const { return text::Encode(*message_); }

  // Calls `visit` with each message of the plan and its field path, "" for the plan itself.
  void ForEachMessage(
      const std::function<void(google::protobuf::Message&, const std::string&)>& visit);

 private:
  text::SchemaPool pool_{text::SchemaPool::Strings::kText};
  std::unique_ptr<google::protobuf::Message> message_;
};

// The fields of the schema, as "Kernel.key", "Profile.Point.dims": those that a plan can have, and
// those that this one sets.
std::set<std::string> DeclaredFields();
std::set<std::string> SetFields(std::string_view bytes);

}  // namespace leeway::plan

#endif  // LEEWAY_TESTS_PLAN_SCHEMA_FIELDS_H_
