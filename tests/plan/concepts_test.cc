// docs/plan_schema.md maps what compilers emit to fields of the schema, with an example of each.
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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

std::vector<std::string_view> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + separator.size());
  }
  return parts;
}

// The row that a line of the page is: "| concept | emitter | `Field.path`, ... | [name](...) |".
std::optional<Row> ReadRow(std::string_view line) {
  const std::vector<std::string_view> cells = Split(line, " | ");
  if (cells.size() != 4 || cells[0].substr(0, 2) != "| " || cells[3].empty()) return std::nullopt;
  const std::size_t end = cells[3].find("](../plans/regress/concepts/");
  if (cells[3][0] != '[' || end == std::string_view::npos) return std::nullopt;
  Row row{std::string(cells[0].substr(2)), {}, std::string(cells[3].substr(1, end - 1))};
  for (const std::string_view field : Split(cells[2], ", ")) {
    if (field.size() > 2) row.fields.emplace_back(field.substr(1, field.size() - 2));
  }
  return row;
}

std::vector<Row> ReadTable() {
  std::vector<Row> rows;
  const std::string text = ReadSource("docs/plan_schema.md");
  for (const std::string_view line : Split(text, "\n")) {
    if (std::optional<Row> row = ReadRow(line)) rows.push_back(*std::move(row));
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
