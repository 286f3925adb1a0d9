// Dynamic messages over the embedded schemas, in a pool of its own: a host full of other protobufs
// sees nothing of it.
//
// Threading: a SchemaPool belongs to one thread.
// Lifetime:  messages of a pool must not outlive it.

#ifndef LEEWAY_TEXT_SCHEMA_POOL_H_
#define LEEWAY_TEXT_SCHEMA_POOL_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/message.h"
#include "leeway/status.h"
#include "leeway/text.h"

namespace leeway::text {

// The serialized FileDescriptorSet of plans/schema.
std::string_view SchemaDescriptors();

class SchemaPool {
 public:
  enum class Strings {
    kText,   // as the schemas say
    kBytes,  // strings become bytes: reading does not look into them
  };

  explicit SchemaPool(Strings strings);

  // Returns an empty message.
  std::unique_ptr<google::protobuf::Message> New(Schema schema);

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
};

// Where the message breaks a rule of the text forms, or nothing: unknown fields, strings that are
// not UTF-8. `message` is of a pool with Strings::kBytes, `schema` its descriptor with kText.
struct Flaw {
  enum class Kind { kUnknownField, kNotUtf8 };
  Kind kind;
  std::string path;  // of the field, or of the message that has the unknown one
  int field = 0;     // number
};
std::vector<Flaw> FindFlaws(const google::protobuf::Message& message,
                            const google::protobuf::Descriptor& schema);

// Returns the deterministic encoding.
std::string Encode(const google::protobuf::Message& message);

}  // namespace leeway::text

#endif  // LEEWAY_TEXT_SCHEMA_POOL_H_
