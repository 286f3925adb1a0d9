// The content digest against docs/plan_digest.md, computed through protobuf's reflection.
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/digest.h"
#include "leeway/text.h"
#include "plan/load.h"
#include "plan/wire.h"
#include "tests/catch.h"

#include "tests/plan/scramble.h"
#include "tests/plan/text_plan.h"
#include "text/schema_pool.h"

namespace leeway::plan {
namespace {

namespace pb = google::protobuf;

// "Message.field" of the document's table.
std::set<std::string> DocumentedExpressions() {
  std::set<std::string> fields;
  std::istringstream document(ReadSource("docs/plan_digest.md"));
  for (std::string line; std::getline(document, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::string message;
    for (std::size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at)) {
      const std::size_t end = line.find('`', at + 1);
      const std::string word = line.substr(at + 1, end - at - 1);
      at = end + 1;
      if (message.empty()) {
        message = word;
      } else {
        fields.insert(message + "." + word);
      }
    }
  }
  return fields;
}

// As the document names it.
std::string NameOf(const pb::FieldDescriptor& field) {
  return field.full_name().substr(field.file()->package().size() + 1);
}

// Writes a message as the document says.
class Canonical {
 public:
  explicit Canonical(const Body& body) : body_(body), expressions_(DocumentedExpressions()) {}

  std::string Encode(const pb::Message& message) {
    const pb::Reflection& reflection = *message.GetReflection();
    std::vector<const pb::FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);  // those that are set, by number
    std::string out;
    for (const pb::FieldDescriptor* field : fields) {
      if (IsOutside(*field)) continue;
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      std::string packed;
      for (int i = 0; i < count; ++i) {
        const int index = field->is_repeated() ? i : -1;
        if (field->is_packed()) {
          Scalar(message, *field, index, packed);
        } else if (IsDelimited(*field)) {
          AppendDelimited(Number(*field), Text(message, *field, index), out);
        } else {
          AppendVarint(Number(*field) << 3 | (IsDouble(*field) ? 1 : 0), out);
          Scalar(message, *field, index, out);
        }
      }
      if (field->is_packed()) AppendDelimited(Number(*field), packed, out);
    }
    return out;
  }

 private:
  static std::uint32_t Number(const pb::FieldDescriptor& field) {
    return static_cast<std::uint32_t>(field.number());
  }
  static bool IsOutside(const pb::FieldDescriptor& field) {
    return NameOf(field) == "Header.created_unix_ns" || NameOf(field) == "Header.parent";
  }
  static bool IsDouble(const pb::FieldDescriptor& field) {
    return field.type() == pb::FieldDescriptor::TYPE_DOUBLE;
  }
  static bool IsDelimited(const pb::FieldDescriptor& field) {
    return field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE ||
           field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING;
  }

  std::string Text(const pb::Message& message, const pb::FieldDescriptor& field, int index) {
    const pb::Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      return Encode(index < 0 ? reflection.GetMessage(message, &field)
                              : reflection.GetRepeatedMessage(message, &field, index));
    }
    const std::string text = index < 0 ? reflection.GetString(message, &field)
                                       : reflection.GetRepeatedString(message, &field, index);
    return expressions_.count(NameOf(field)) == 0 || text.empty() ? text : CanonicalText(text);
  }

  std::string CanonicalText(const std::string& text) const {
    const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
      return body_.FindDim(name);
    };
    return Expr::Parse(text, find)
        .value()
        .Canonical()
        .Print([&](std::size_t dim) -> std::string_view { return body_.dims[dim].name; });
  }

  static void Scalar(const pb::Message& message, const pb::FieldDescriptor& field, int index,
                     std::string& out) {
    // As 64 bits: what is negative is extended by its sign.
    const pb::Reflection& r = *message.GetReflection();
    const auto varint = [&](auto value) { AppendVarint(static_cast<std::uint64_t>(value), out); };
    const bool one = index < 0;
    switch (field.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT32:
        return varint(std::int64_t{one ? r.GetInt32(message, &field)
                                       : r.GetRepeatedInt32(message, &field, index)});
      case pb::FieldDescriptor::CPPTYPE_INT64:
        return varint(one ? r.GetInt64(message, &field)
                          : r.GetRepeatedInt64(message, &field, index));
      case pb::FieldDescriptor::CPPTYPE_UINT32:
        return varint(one ? r.GetUInt32(message, &field)
                          : r.GetRepeatedUInt32(message, &field, index));
      case pb::FieldDescriptor::CPPTYPE_UINT64:
        return varint(one ? r.GetUInt64(message, &field)
                          : r.GetRepeatedUInt64(message, &field, index));
      case pb::FieldDescriptor::CPPTYPE_BOOL:
        return varint(one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index));
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        return varint(std::int64_t{one ? r.GetEnumValue(message, &field)
                                       : r.GetRepeatedEnumValue(message, &field, index)});
      case pb::FieldDescriptor::CPPTYPE_DOUBLE: {
        const double value =
            one ? r.GetDouble(message, &field) : r.GetRepeatedDouble(message, &field, index);
        out.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian
        return;
      }
      default:
        FAIL("a type that the document does not speak of: " << field.full_name());
    }
  }

  const Body& body_;
  const std::set<std::string> expressions_;
};

std::string DocumentedDigest(const std::string& bytes, const Body& body) {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const auto message = pool.New(Schema::kPlan);
  REQUIRE(message->ParseFromString(bytes));
  const std::string encoded = Canonical(body).Encode(*message);
  return base::DigestOf(std::string("leeway.plan.v1.Plan\0", 20) + encoded).ToHex();
}

void CheckDigest(const std::string& bytes) {
  const auto body = LoadValidPlan(bytes, "plan").value();
  CHECK(body->digest_hex == DocumentedDigest(bytes, *body));
  // The other forms.
  const std::string text = BinaryToText(Schema::kPlan, bytes).value();
  const std::string json = BinaryToJson(Schema::kPlan, bytes).value();
  const std::string from_text = TextToBinary(Schema::kPlan, text, "text").value();
  const std::string from_json = JsonToBinary(Schema::kPlan, json, "json").value();
  CHECK(from_text == bytes);
  CHECK(from_json == bytes);
  CHECK(LoadValidPlan(from_text, "text").value()->digest == body->digest);
  CHECK(LoadValidPlan(from_json, "json").value()->digest == body->digest);
}

TEST_CASE("the digest of a random plan is as documented, in all three forms",
          "[plan][digest][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  CheckDigest(RandomBytes(seed));
}

TEST_CASE("the digest of a shipped plan is as documented, in all three forms", "[plan][digest]") {
  std::size_t plans = 0;
  for (const auto& file : std::filesystem::directory_iterator(LEEWAY_SOURCE_DIR "/plans/models")) {
    const std::string name = file.path().filename().string();
    CAPTURE(name);
    CheckDigest(Encode(ReadSource("plans/models/" + name)));
    ++plans;
  }
  CHECK(plans >= 2);
  CheckDigest(ReadSource("plans/regress/golden/v1/plan.pb"));
}

TEST_CASE("the document's expressions are fields of the schema that hold text", "[plan][digest]") {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const auto plan = pool.New(Schema::kPlan);
  const pb::FileDescriptor& file = *plan->GetDescriptor()->file();
  const std::set<std::string> documented = DocumentedExpressions();
  CHECK(documented.size() >= 30);
  for (const std::string& name : documented) {
    CAPTURE(name);
    const pb::FieldDescriptor* field = file.pool()->FindFieldByName(file.package() + "." + name);
    REQUIRE(field != nullptr);
    CHECK(field->type() == pb::FieldDescriptor::TYPE_STRING);
  }
}

void Collect(const pb::Message& message, std::set<std::string>& seen) {
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    seen.insert(NameOf(*field));
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      Collect(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                   : reflection.GetMessage(message, field),
              seen);
    }
  }
}

// What random plans do not have.
constexpr char kRareExpressions[] = R"(
  header { model: "m" }
  dims { name: "n" min: 1 max: 64 bind: SUBMIT batch_rule: MAX }
  tensors { name: "x" kind: INPUT dtype: F32 shape: "n * 2" }
  tensors { name: "v" kind: INPUT dtype: F32 shape: "n" alias_of { tensor: "x" offset_bytes: "2 + 2" } }
  tensors { name: "a" kind: ACTIVATION dtype: F32 shape: "n + n" }
  tensors { name: "b" kind: ACTIVATION dtype: F32 shape: "n" }
  tensors { name: "c" kind: ACTIVATION dtype: F32 shape: "n" }
  tensors { name: "d" kind: ACTIVATION dtype: F32 shape: "n" }
  tensors { name: "y" kind: OUTPUT dtype: F32 shape: "n" }
  entries { name: "main"
    operators { name: "mm" inputs: ["x", "v"] outputs: "a"
                work { gemm { m: "n" n: "n" k: "n" count: "n + 1" } } }
    operators { name: "all" inputs: "a" outputs: "b"
                work { collective { kind: ALL_REDUCE bytes: "n * 4" participants: "2 * 2" } } }
    operators { name: "copy" inputs: "b" outputs: "c"
                work { move { bytes: "4 * n" contiguous_bytes: "2 + n" } } }
    operators { name: "put" inputs: "c" outputs: "d" work { send { bytes: "n + 0" } } }
    operators { name: "get" inputs: "d" outputs: "y" work { receive { bytes: "n * 1" } } }
    variants { name: "v"
      arenas { name: "a" bytes: "1000 * n" slots { tensor: "a" offset_bytes: "n + n" } }
      fusion_groups { name: "g" ops: ["mm", "all", "copy", "put", "get"]
        kernel { launch { grid: "1 + n" grid: "2" } }
        work { flops: "n * n" read_bytes: "n + n" write_bytes: "n - 0" scratch_bytes: "0 + n" } } } })";

TEST_CASE("the plans of this test have every documented expression", "[plan][digest]") {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const auto message = pool.New(Schema::kPlan);
  std::set<std::string> seen;
  REQUIRE(message->ParseFromString(Encode(kRareExpressions)));
  Collect(*message, seen);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    REQUIRE(message->ParseFromString(RandomBytes(seed)));
    Collect(*message, seen);
  }
  for (const std::string& name : DocumentedExpressions()) {
    CAPTURE(name);
    CHECK(seen.count(name) == 1);
  }
}

TEST_CASE("the digest of a plan of rare expressions is as documented", "[plan][digest]") {
  CheckDigest(Encode(kRareExpressions));
}

// Spells every expression of a plan in other ways: parentheses and blanks mean nothing.
void Respell(pb::Message& message, const std::set<std::string>& expressions) {
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    const bool expression = expressions.count(NameOf(*field)) != 0;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        Respell(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                     : *reflection.MutableMessage(&message, field),
                expressions);
      } else if (expression && field->is_repeated()) {
        const std::string text = reflection.GetRepeatedString(message, field, i);
        if (!text.empty()) reflection.SetRepeatedString(&message, field, i, " ( " + text + ")");
      } else if (expression) {
        const std::string text = reflection.GetString(message, field);
        if (!text.empty()) reflection.SetString(&message, field, " ( " + text + ")");
      }
    }
  }
}

TEST_CASE("how an expression is spelt does not change the digest, of any documented field",
          "[plan][digest][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  const std::string bytes = seed == 0 ? Encode(kRareExpressions) : RandomBytes(seed);
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const auto message = pool.New(Schema::kPlan);
  REQUIRE(message->ParseFromString(bytes));
  Respell(*message, DocumentedExpressions());
  const auto body = LoadValidPlan(text::Encode(*message), "respelt");
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  CHECK((*body)->serialized != bytes);
  CHECK((*body)->digest == LoadValidPlan(bytes, "plain").value()->digest);
}

TEST_CASE("what an expression means changes the digest", "[plan][digest]") {
  const auto with = [](const std::string& size) {
    return Load(
               "header { model: \"m\" } dims { name: \"n\" min: 1 max: 9 } tensors { name: \"x\" "
               "kind: INPUT dtype: F32 shape: \"" +
               size + "\" } entries { name: \"main\" }")
        ->digest;
  };
  CHECK(with("n * 2") == with("(n)*2"));
  CHECK(with("n * 2") != with("n * 3"));
  CHECK(with("10 - n + 1") != with("10 - (n + 1)"));
}

}  // namespace
}  // namespace leeway::plan
