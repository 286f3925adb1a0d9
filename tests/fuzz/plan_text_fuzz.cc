// Any text converts to a plan's bytes or is refused; what converts is the same through all forms,
// and loads or has findings.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "leeway/text.h"
#include "plan/load.h"

using leeway::Schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto bytes = leeway::TextToBinary(Schema::kPlan, text, "fuzz");
  if (!bytes.ok()) {
    (void)leeway::JsonToBinary(Schema::kPlan, text, "fuzz");
    return 0;
  }
  const auto printed = leeway::BinaryToText(Schema::kPlan, *bytes);
  LEEWAY_CHECK(printed.ok());
  LEEWAY_CHECK(leeway::TextToBinary(Schema::kPlan, *printed, "again").value() == *bytes);
  (void)leeway::plan::LoadPlan(*bytes, "fuzz");
  return 0;
}
