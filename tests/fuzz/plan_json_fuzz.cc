// Any JSON converts to a plan's bytes or is refused; what converts is the same through all forms,
// and loads or has findings.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "leeway/text.h"
#include "plan/load.h"

using leeway::Schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto bytes = leeway::JsonToBinary(Schema::kPlan, json, "fuzz");
  if (!bytes.ok()) {
    LEEWAY_CHECK(!bytes.status().message().empty());
    return 0;
  }
  const auto printed = leeway::BinaryToJson(Schema::kPlan, *bytes);
  LEEWAY_CHECK(printed.ok());
  LEEWAY_CHECK(leeway::JsonToBinary(Schema::kPlan, *printed, "again").value() == *bytes);
  const auto loaded = leeway::plan::LoadPlan(*bytes, "fuzz");
  if (!loaded.ok() || loaded->body == nullptr) return 0;
  // Written by an encoder, hence kept as it is.
  LEEWAY_CHECK(loaded->body->serialized == *bytes);
  const auto text = leeway::BinaryToText(Schema::kPlan, *bytes);
  LEEWAY_CHECK(leeway::TextToBinary(Schema::kPlan, text.value(), "text").value() == *bytes);
  return 0;
}
