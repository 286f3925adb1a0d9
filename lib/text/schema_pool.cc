#include "text/schema_pool.h"

#include <utility>

#include "base/check.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/common.h"
#include "google/protobuf/unknown_field_set.h"

namespace leeway::text {
namespace {

namespace pb = google::protobuf;

// More flaws than these are not listed: they would repeat.
constexpr std::size_t kMaxFlaws = 16;

void StringsToBytes(pb::DescriptorProto& message) {
  for (pb::FieldDescriptorProto& field : *message.mutable_field()) {
    if (field.type() == pb::FieldDescriptorProto::TYPE_STRING) {
      field.set_type(pb::FieldDescriptorProto::TYPE_BYTES);
    }
  }
  for (pb::DescriptorProto& nested : *message.mutable_nested_type()) StringsToBytes(nested);
}

// Walks a message. The schemas do not nest without bound, hence neither does this.
class FlawFinder {
 public:
  explicit FlawFinder(std::vector<Flaw>& flaws) : flaws_(flaws) {}

  void Visit(const pb::Message& message, const pb::Descriptor& schema, const std::string& path) {
    const pb::Reflection& reflection = *message.GetReflection();
    const pb::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
    for (int i = 0; i < unknown.field_count() && flaws_.size() < kMaxFlaws; ++i) {
      flaws_.push_back({Flaw::Kind::kUnknownField, path, unknown.field(i).number()});
    }
    std::vector<const pb::FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const pb::FieldDescriptor* field : fields) {
      const pb::FieldDescriptor* original = schema.FindFieldByNumber(field->number());
      const std::string at = path.empty() ? field->name() : path + "." + field->name();
      VisitField(message, *field, *original, at);
    }
  }

 private:
  void VisitField(const pb::Message& message, const pb::FieldDescriptor& field,
                  const pb::FieldDescriptor& original, const std::string& path) {
    const pb::Reflection& reflection = *message.GetReflection();
    const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
    for (int i = 0; i < count && flaws_.size() < kMaxFlaws; ++i) {
      const std::string at = field.is_repeated() ? path + "[" + std::to_string(i) + "]" : path;
      if (original.type() == pb::FieldDescriptor::TYPE_STRING) {
        std::string scratch;
        const std::string& text =
            field.is_repeated()
                ? reflection.GetRepeatedStringReference(message, &field, i, &scratch)
                : reflection.GetStringReference(message, &field, &scratch);
        if (!pb::internal::IsStructurallyValidUTF8(text.data(), static_cast<int>(text.size()))) {
          flaws_.push_back({Flaw::Kind::kNotUtf8, at, field.number()});
        }
      } else if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        Visit(field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, i)
                                  : reflection.GetMessage(message, &field),
              *original.message_type(), at);
      }
    }
  }

  std::vector<Flaw>& flaws_;
};

}  // namespace

SchemaPool::SchemaPool(Strings strings) : factory_(&pool_) {
  pb::FileDescriptorSet files;
  const std::string_view bytes = SchemaDescriptors();
  LEEWAY_CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  // The set lists a file after those that it imports.
  for (pb::FileDescriptorProto& file : *files.mutable_file()) {
    if (strings == Strings::kBytes) {
      for (pb::DescriptorProto& message : *file.mutable_message_type()) StringsToBytes(message);
    }
    LEEWAY_CHECK(pool_.BuildFile(file) != nullptr);
  }
}

std::unique_ptr<pb::Message> SchemaPool::New(Schema schema) {
  const pb::Descriptor* descriptor = pool_.FindMessageTypeByName(std::string(SchemaName(schema)));
  LEEWAY_CHECK(descriptor != nullptr);
  return std::unique_ptr<pb::Message>(factory_.GetPrototype(descriptor)->New());
}

std::vector<Flaw> FindFlaws(const pb::Message& message, const pb::Descriptor& schema) {
  std::vector<Flaw> flaws;
  FlawFinder(flaws).Visit(message, schema, "");
  return flaws;
}

std::string Encode(const pb::Message& message) {
  std::string bytes;
  pb::io::StringOutputStream stream(&bytes);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace leeway::text
