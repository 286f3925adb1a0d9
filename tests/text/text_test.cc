#include "leeway/text.h"

#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.h"

namespace leeway {
namespace {

std::string Source(const std::string& path) {
  std::ifstream file(std::string(LEEWAY_SOURCE_DIR "/") + path);
  REQUIRE(file);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string MessageOf(const Result<std::string>& result) {
  return result.ok() ? "fine" : std::string(result.status().message());
}

TEST_CASE("a plan is the same bytes through text and through JSON", "[text]") {
  const std::string model = GENERATE("bert_base", "llama2_7b_prefill", "resnet50");
  const std::string source = Source("plans/models/" + model + ".textproto");
  const std::string bytes = TextToBinary(Schema::kPlan, source, model).value();
  const std::string text = BinaryToText(Schema::kPlan, bytes).value();
  const std::string json = BinaryToJson(Schema::kPlan, bytes).value();
  CHECK(TextToBinary(Schema::kPlan, text, model).value() == bytes);
  CHECK(JsonToBinary(Schema::kPlan, json, model).value() == bytes);
  CHECK(BinaryToText(Schema::kPlan, bytes).value() == text);
  CHECK(BinaryToJson(Schema::kPlan, bytes).value() == json);
}

TEST_CASE("every schema converts its empty message", "[text]") {
  const Schema schema = GENERATE(Schema::kPlan, Schema::kDeployment, Schema::kDevice,
                                 Schema::kTraffic, Schema::kTelemetry);
  CAPTURE(SchemaName(schema));
  CHECK(TextToBinary(schema, "", "empty").value().empty());
  CHECK(JsonToBinary(schema, "{}", "empty").value().empty());
  CHECK(BinaryToText(schema, "").value().empty());
  CHECK(BinaryToJson(schema, "").value() == "{}\n");
}

TEST_CASE("an error in text has file, line and column", "[text]") {
  const auto error = [](std::string_view text) {
    return MessageOf(TextToBinary(Schema::kPlan, text, "p.textproto"));
  };
  CHECK(error("header {\n  model: \"m\"\n  nope: 1\n}") ==
        "p.textproto:3:7: message type \"leeway.plan.v1.Header\" has no field named \"nope\"");
  CHECK_THAT(error("header { model: 5 }"), Catch::StartsWith("p.textproto:1:17: "));
  CHECK_THAT(error("header {"), Catch::StartsWith("p.textproto:1:9: "));
  CHECK_THAT(error("tensors { kind: NOPE }"), Catch::StartsWith("p.textproto:1:22: "));
}

TEST_CASE("an error in JSON has file, line and column", "[text]") {
  const auto error = [](std::string_view json) {
    return MessageOf(JsonToBinary(Schema::kPlan, json, "p.json"));
  };
  CHECK(error("{\"header\": {\n \"model\" \"m\"}}") == "p.json:2:10: expected ':'");
  CHECK_THAT(error("{\"header\":\n {\"nope\": 1}}"), Catch::StartsWith("p.json:2:3: "));
  CHECK_THAT(error("{\"dims\": [{\"min\": 1},\n {\"min\": \"x\"}]}"),
             Catch::StartsWith("p.json:2:3: "));
  CHECK_THAT(error("{\"tensors\": [\n {\"kind\": \"NOPE\"}]}"), Catch::StartsWith("p.json:2:3: "));
}

TEST_CASE("bytes with unknown fields have no text form, and the error names the numbers",
          "[text]") {
  std::string bytes = TextToBinary(Schema::kPlan, "dims { name: \"a\" }", "p").value();
  const std::string with_known = bytes;
  bytes += std::string("\xfa\x3e\x03xyz", 6);       // field 1007
  bytes += std::string("\x12\x03\xb8\x3e\x05", 5);  // dims[1], field 999
  const Result<std::string> text = BinaryToText(Schema::kPlan, bytes, "p.pb");
  CHECK(text.status().code() == StatusCode::kFailedPrecondition);
  CHECK(text.status().message() ==
        "p.pb: a text form would lose the unknown fields 1007, dims[1]: 999");
  CHECK(BinaryToJson(Schema::kPlan, bytes).status() == BinaryToText(Schema::kPlan, bytes).status());
  CHECK(BinaryToText(Schema::kPlan, with_known).ok());
}

TEST_CASE("text that is not UTF-8 is refused in both directions", "[text][hostile]") {
  CHECK_THAT(MessageOf(TextToBinary(Schema::kPlan, "header { model: \"\\377\" }", "p")),
             Catch::Contains("header.model: text is not UTF-8"));
  std::string bytes = TextToBinary(Schema::kPlan, "header { model: \"abc\" }", "p").value();
  bytes[bytes.find("abc")] = '\xff';
  CHECK_THAT(MessageOf(BinaryToText(Schema::kPlan, bytes, "p")),
             Catch::Contains("header.model: text is not UTF-8"));
  CHECK_FALSE(JsonToBinary(Schema::kPlan, "{\"header\": {\"model\": \"\xff\"}}", "p").ok());
}

TEST_CASE("text keeps what is not ASCII", "[text]") {
  const std::string source = "header {\n  model: \"grüße 世界\"\n}\n";
  const std::string bytes = TextToBinary(Schema::kPlan, source, "p").value();
  CHECK(BinaryToText(Schema::kPlan, bytes).value() == source);
}

TEST_CASE("a byte order mark before a text form is skipped, and moves no column", "[text]") {
  const std::string mark = "\xEF\xBB\xBF";
  const std::string text = "header { model: \"m\" }", json = "{\"header\": {\"model\": \"m\"}}";
  const std::string bytes = TextToBinary(Schema::kPlan, text, "p").value();
  CHECK(TextToBinary(Schema::kPlan, mark + text, "p").value() == bytes);
  CHECK(JsonToBinary(Schema::kPlan, mark + json, "p").value() == bytes);
  CHECK(TextToBinary(Schema::kPlan, mark + "nope: 1", "p").status() ==
        TextToBinary(Schema::kPlan, "nope: 1", "p").status());
  CHECK(JsonToBinary(Schema::kPlan, mark + "{\"a\" 1}", "p").status() ==
        JsonToBinary(Schema::kPlan, "{\"a\" 1}", "p").status());
  // One mark, at the front.
  CHECK_FALSE(TextToBinary(Schema::kPlan, mark + mark + text, "p").ok());
  CHECK_FALSE(JsonToBinary(Schema::kPlan, json + mark, "p").ok());
}

TEST_CASE("bytes that are no message are data loss", "[text]") {
  const Result<std::string> text = BinaryToText(Schema::kDevice, "\x0a\x7f", "d.pb");
  CHECK(text.status().code() == StatusCode::kDataLoss);
  CHECK(text.status().message() ==
        "d.pb: not a leeway.device.v1alpha.Device: truncated or no protobuf message");
}

TEST_CASE("deep nesting ends with an error", "[text][hostile]") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "header { ";
  CHECK_FALSE(TextToBinary(Schema::kPlan, text, "p").ok());
  CHECK_FALSE(JsonToBinary(Schema::kPlan, std::string(1'000'000, '['), "p").ok());
}

}  // namespace
}  // namespace leeway
