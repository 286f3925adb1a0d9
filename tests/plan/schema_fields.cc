#include "tests/plan/schema_fields.h"

#include <algorithm>
#include <iterator>

#include "tests/catch.h"

namespace leeway::plan {
namespace {

namespace pb = google::protobuf;

using Visit = std::function<void(pb::Message&, const std::string&)>;

std::string NameOf(const pb::FieldDescriptor& field) {
  const std::string& package = field.file()->package();
  return field.full_name().substr(package.size() + 1);
}

void Walk(pb::Message& message, const std::string& path, const Visit& visit) {
  visit(message, path);
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string at = (path.empty() ? "" : path + ".") + field->name();
    if (!field->is_repeated()) {
      Walk(*reflection.MutableMessage(&message, field), at, visit);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      Walk(*reflection.MutableRepeatedMessage(&message, field, i),
           at + "[" + std::to_string(i) + "]", visit);
    }
  }
}

void Declare(const pb::Descriptor& message, std::set<std::string>& fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor& field = *message.field(i);
    if (!fields.insert(NameOf(field)).second || field.message_type() == nullptr) continue;
    Declare(*field.message_type(), fields);
  }
}

}  // namespace

DynamicMessage::DynamicMessage(Schema schema, std::string_view bytes)
    : message_(pool_.New(schema)) {
  REQUIRE(message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
}

void DynamicMessage::ForEachMessage(const Visit& visit) { Walk(*message_, "", visit); }

std::set<std::string> DeclaredFields(Schema schema) {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  std::set<std::string> fields;
  Declare(*pool.New(schema)->GetDescriptor(), fields);
  return fields;
}

std::set<std::string> SetFields(Schema schema, std::string_view bytes) {
  std::set<std::string> names;
  DynamicMessage(schema, bytes).ForEachMessage([&](pb::Message& message, const std::string&) {
    std::vector<const pb::FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const pb::FieldDescriptor* field : fields) names.insert(NameOf(*field));
  });
  return names;
}

std::vector<std::string> MissingFields(Schema schema, const std::set<std::string>& set) {
  const std::set<std::string> declared = DeclaredFields(schema);
  std::vector<std::string> missing;
  std::set_difference(declared.begin(), declared.end(), set.begin(), set.end(),
                      std::back_inserter(missing));
  return missing;
}

}  // namespace leeway::plan
