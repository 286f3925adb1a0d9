#include "text/json_scan.h"

#include <string>

#include "tests/catch.h"

namespace leeway::text {
namespace {

std::string Error(std::string_view json, int max_depth = 8) {
  const auto error = FindJsonError(json, max_depth);
  if (!error) return "fine";
  return std::to_string(error->at.line) + ":" + std::to_string(error->at.column) + " " +
         error->what;
}

TEST_CASE("JSON as RFC 8259 has it passes", "[text]") {
  for (const char* json : {"{}", "[]", " {\"a\": [1, -2.5e+3, true, null, \"\\\"x\"], \"b\": {}} ",
                           "0", "\"\"", "[[[[[[[[]]]]]]]]"}) {
    CAPTURE(json);
    CHECK(Error(json) == "fine");
  }
}

TEST_CASE("the first error in JSON has line and column", "[text]") {
  CHECK(Error("") == "1:1 expected a value");
  CHECK(Error("{\n  \"a\" 1}") == "2:7 expected ':'");
  CHECK(Error("{\"a\": 1,}") == "1:9 expected a value after ','");
  CHECK(Error("{\"a\": 1 \"b\": 2}") == "1:9 expected ',' or '}'");
  CHECK(Error("{a: 1}") == "1:2 expected a name in double quotes");
  CHECK(Error("[01]") == "1:4 a number starts with 0");
  CHECK(Error("[1.]") == "1:4 expected a digit");
  CHECK(Error("\"abc") == "1:5 a string does not end");
  CHECK(Error("{} x") == "1:4 expected the end");
  CHECK(Error("[tru]") == "1:2 expected a value");
  CHECK(Error("[1\n,\n2") == "3:2 expected ',' or ']'");
}

TEST_CASE("nesting in JSON is bounded without recursion", "[text][hostile]") {
  CHECK(Error("[[[[[[[[[]]]]]]]]]") == "1:9 nested deeper than 8");
  CHECK(Error(std::string(1'000'000, '['), 64) == "1:65 nested deeper than 64");
}

TEST_CASE("a field that protobuf's reader names is located", "[text]") {
  const std::string json = "{\"dims\": [{\"name\": \"a\"},\n {\"nope\": 1}]}";
  const Position at = LocateJsonField(json, "(dims[1]) nope: Cannot find field.");
  CHECK(at.line == 2);
  CHECK(at.column == 3);
  CHECK(LocateJsonField(json, "(dims[1].nope): invalid value x for type T").line == 2);
  CHECK(LocateJsonField(json, "dims: Cannot find field").column == 2);
  CHECK(LocateJsonField(json, "who knows").line == 1);
}

}  // namespace
}  // namespace leeway::text
