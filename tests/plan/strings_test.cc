// Every string of the schema, held against what must not be in it.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "leeway/text.h"
#include "plan/findings.h"
#include "tests/catch.h"
#include "tests/plan/schema_fields.h"
#include "tests/plan/text_plan.h"
#include "tests/support/random_plan.h"

namespace leeway::plan {
namespace {

namespace pb = google::protobuf;

// Texts for people: they may have several lines. Nothing is looked up by them.
const std::set<std::string> kFreeTexts = {
    "Annotation.value",  // whatever a compiler wants to say
    "Elided.reason",     // a sentence
    "Header.producer",   // a name and whatever a build adds to it
    "Header.producer_version",
    "Profile.Point.source",  // how it was measured
    "ShapeProfile.source",
};

std::string NameOf(const pb::FieldDescriptor& field) {
  return field.full_name().substr(field.file()->package().size() + 1);
}

// What stands for a bad value until the message is encoded: protobuf would complain of some itself.
constexpr std::string_view kMark = "marked#name";

// Calls `check` with the golden plan, one of its strings replaced by kMark, for each string.
void ForEachString(const std::function<void(const std::string& field, const std::string& path,
                                            std::string bytes)>& check) {
  DynamicMessage plan(Schema::kPlan, ReadSource("plans/regress/golden/v1/plan.pb"));
  plan.ForEachMessage([&](pb::Message& message, const std::string& at) {
    const pb::Reflection& reflection = *message.GetReflection();
    std::vector<const pb::FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const pb::FieldDescriptor* field : fields) {
      if (field->type() != pb::FieldDescriptor::TYPE_STRING) continue;
      const std::string path = (at.empty() ? "" : at + ".") + field->name();
      if (!field->is_repeated()) {
        const std::string value = reflection.GetString(message, field);
        reflection.SetString(&message, field, std::string(kMark));
        check(NameOf(*field), path, plan.Encode());
        reflection.SetString(&message, field, value);
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        const std::string value = reflection.GetRepeatedString(message, field, i);
        reflection.SetRepeatedString(&message, field, i, std::string(kMark));
        check(NameOf(*field), path + "[" + std::to_string(i) + "]", plan.Encode());
        reflection.SetRepeatedString(&message, field, i, value);
      }
    }
  });
}

std::string WithByte(std::string bytes, char byte) {
  const std::size_t mark = bytes.find(kMark);
  REQUIRE(mark != std::string::npos);
  bytes[mark + kMark.find('#')] = byte;
  return bytes;
}

// True if a finding names the field or the message that it is in.
bool IsFound(const CheckResult& check, const std::string& path) {
  return std::any_of(check.findings.begin(), check.findings.end(),
                     [&](const Finding& finding) { return testing::Names(finding.path, path, 1); });
}

TEST_CASE("NUL and what is not UTF-8 are found in every string of the schema",
          "[plan][property][hostile]") {
  std::set<std::string> seen;
  ForEachString([&](const std::string& field, const std::string& path, const std::string& bytes) {
    seen.insert(field);
    for (const char byte : {'\0', '\xff', '\xc3'}) {
      CAPTURE(field, path, static_cast<int>(byte));
      const Result<Loaded> loaded = LoadPlan(WithByte(bytes, byte), "bad");
      REQUIRE(loaded.ok());
      CAPTURE(Describe(loaded->check, "bad"));
      CHECK_FALSE(loaded->check.ok);
      CHECK(IsFound(loaded->check, path));
    }
  });
  // That the golden plan sets every field is a test of its own.
  CHECK(seen.size() > 60);
}

TEST_CASE("control characters are found in every string but the free texts",
          "[plan][property][hostile]") {
  std::set<std::string> free;
  ForEachString([&](const std::string& field, const std::string& path, const std::string& bytes) {
    for (const char byte : {'\n', '\x1b', '\x7f'}) {
      CAPTURE(field, path, static_cast<int>(byte));
      const Result<Loaded> loaded = LoadPlan(WithByte(bytes, byte), "bad");
      REQUIRE(loaded.ok());
      CAPTURE(Describe(loaded->check, "bad"));
      if (loaded->check.findings.empty()) {
        free.insert(field);
      } else {
        CHECK(IsFound(loaded->check, path));
      }
    }
  });
  CHECK(free == kFreeTexts);
}

}  // namespace
}  // namespace leeway::plan
