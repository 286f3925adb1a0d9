// docs/plan_schema.md maps what compilers emit to fields of the schema, with an example of each.
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/plan/schema_fields.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

struct Row {
  std::string concept_name;
  std::vector<std::string> fields;
  std::string example;
};

std::vector<std::string> Matches(const std::string& text, const std::regex& what) {
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), what), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

// The rows of the table whose last cell links an example.
std::vector<Row> ReadTable() {
  const std::string text = ReadSource("docs/plan_schema.md");
  const std::regex line(
      R"re(\| ([^|\n]*) \| [^|\n]* \| ([^|\n]*) \| \[[^|\n]*/concepts/(\w+)\.)re");
  const std::regex field(R"re(`([A-Z]\w*(?:\.\w+)+)`)re");
  std::vector<Row> rows;
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    rows.push_back({(*it)[1], Matches((*it)[2], field), (*it)[3]});
  }
  return rows;
}

TEST_CASE("every row of the schema's table has an example, and every example a row",
          "[plan][concepts]") {
  std::multiset<std::string> rows, files;
  for (const Row& row : ReadTable()) rows.insert(row.example);
  const std::filesystem::path folder = LEEWAY_SOURCE_DIR "/plans/regress/concepts";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    files.insert(file.path().stem().string());
  }
  CHECK(rows == files);
}

TEST_CASE("the example of a concept loads without a finding and sets the fields that hold it",
          "[plan][concepts]") {
  const std::set<std::string> declared = DeclaredFields(Schema::kPlan);
  for (const Row& row : ReadTable()) {
    CAPTURE(row.concept_name, row.example);
    const std::string bytes =
        Encode(ReadSource("plans/regress/concepts/" + row.example + ".textproto"), row.example);
    CHECK(FindingsOf(bytes) == "");
    const std::set<std::string> set = SetFields(Schema::kPlan, bytes);
    CHECK_FALSE(row.fields.empty());
    for (const std::string& field : row.fields) {
      CAPTURE(field);
      CHECK(declared.contains(field));
      CHECK(set.contains(field));
    }
  }
}

}  // namespace
}  // namespace leeway::plan
