// plans/regress/golden holds a plan and a deployment of each released schema version, in their
// three forms, and the plan's digest. They are never changed: what was shipped must load for ever.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "leeway/text.h"
#include "tests/catch.h"
#include "tests/plan/schema_fields.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

std::vector<std::string> Releases() {
  std::vector<std::string> names;
  const std::filesystem::path root = LEEWAY_SOURCE_DIR "/plans/regress/golden";
  for (const auto& folder : std::filesystem::directory_iterator(root)) {
    names.push_back("plans/regress/golden/" + folder.path().filename().string() + "/");
  }
  std::sort(names.begin(), names.end());
  REQUIRE_FALSE(names.empty());
  return names;
}

struct Golden {
  Schema schema;
  const char* name;
};
constexpr Golden kGolden[] = {{Schema::kPlan, "plan"}, {Schema::kDeployment, "deployment"}};

// The checked plan; the test fails where it has as much as a warning.
std::shared_ptr<const Body> LoadClean(std::string_view bytes) {
  REQUIRE(FindingsOf(bytes) == "");
  return LoadValidPlan(bytes, "golden").value();
}

TEST_CASE("the golden plan of every release loads, with the digest it had", "[plan][golden]") {
  for (const std::string& release : Releases()) {
    CAPTURE(release);
    const std::shared_ptr<const Body> plan = LoadClean(ReadSource(release + "plan.pb"));
    CHECK(plan->digest_hex + "\n" == ReadSource(release + "plan.digest"));
  }
}

TEST_CASE("the three forms of what is golden are one message", "[plan][golden]") {
  for (const std::string& release : Releases()) {
    for (const auto& [schema, name] : kGolden) {
      const std::string file = release + name;
      CAPTURE(file);
      const std::string bytes = ReadSource(file + ".pb");
      CHECK(DynamicMessage(schema, bytes).Encode() == bytes);
      CHECK(TextToBinary(schema, ReadSource(file + ".textproto"), file).value() == bytes);
      CHECK(JsonToBinary(schema, ReadSource(file + ".json"), file).value() == bytes);
    }
  }
}

TEST_CASE("what is golden sets every field of its schema", "[plan][golden]") {
  for (const auto& [schema, name] : kGolden) {
    CAPTURE(name);
    std::set<std::string> set;
    for (const std::string& release : Releases()) {
      set.merge(SetFields(schema, ReadSource(release + name + ".pb")));
    }
    CHECK(MissingFields(schema, set) == std::vector<std::string>{});
  }
}

TEST_CASE("a field of a newer schema in any message is kept, with one warning that names it",
          "[plan][golden][property]") {
  constexpr int kNewer = 1000;
  DynamicMessage plan(Schema::kPlan, ReadSource(Releases().front() + "plan.pb"));
  std::size_t messages = 0;
  plan.ForEachMessage([&](google::protobuf::Message& message, const std::string& path) {
    CAPTURE(path);
    ++messages;
    google::protobuf::UnknownFieldSet& unknown =
        *message.GetReflection()->MutableUnknownFields(&message);
    unknown.AddVarint(kNewer, 1);
    const std::string bytes = plan.Encode();
    unknown.Clear();
    const Result<Loaded> loaded = LoadPlan(bytes, "newer");
    REQUIRE(loaded.ok());
    REQUIRE(loaded->check.findings.size() == 1);
    CHECK(loaded->check.findings[0].severity == Severity::kWarning);
    CHECK_THAT(loaded->check.findings[0].message,
               Catch::StartsWith("1 field is of a newer schema") &&
                   Catch::EndsWith(": " + (path.empty() ? "plan" : path) + ": 1000"));
    REQUIRE(loaded->body != nullptr);
    CHECK(loaded->body->serialized == bytes);
  });
  // Every kind of message of the schema is in it: that it sets every field says so.
  CHECK(messages > 100);
}

}  // namespace
}  // namespace leeway::plan
