#include "tests/plan/text_plan.h"

#include "base/file.h"
#include "leeway/text.h"
#include "plan/findings.h"
#include "tests/catch.h"

namespace leeway::plan {

std::string Encode(std::string_view text, std::string_view name) {
  Result<std::string> bytes = TextToBinary(Schema::kPlan, text, name);
  INFO(bytes.status().ToString());
  REQUIRE(bytes.ok());
  return *bytes;
}

std::string FindingsOf(std::string_view bytes) {
  const Result<Loaded> loaded = LoadPlan(bytes, "test");
  if (!loaded.ok()) return loaded.status().ToString();
  return Describe(loaded->check, "test");
}

std::shared_ptr<const Body> Load(std::string_view text) {
  Result<std::shared_ptr<const Body>> body = LoadValidPlan(Encode(text), "test");
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  return *body;
}

std::shared_ptr<const Body> LoadModel(const std::string& name) {
  return Load(ReadSource("plans/models/" + name + ".textproto"));
}

std::string ReadSource(const std::string& path) {
  Result<std::string> text = base::ReadFile(std::string(LEEWAY_SOURCE_DIR "/") + path, 1 << 26);
  INFO(text.status().ToString());
  REQUIRE(text.ok());
  return *text;
}

}  // namespace leeway::plan
