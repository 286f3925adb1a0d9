// Any bytes load, or are refused with a reason; a plan that loads is the plan its own bytes load
// as.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "plan/load.h"
#include "plan/plan_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const leeway::Result<leeway::plan::Loaded> loaded = leeway::plan::LoadPlan(bytes, "fuzz");
  if (!loaded.ok()) return 0;
  LEEWAY_CHECK(loaded->check.ok == (loaded->body != nullptr));
  LEEWAY_CHECK(loaded->check.ok || !loaded->check.findings.empty());
  if (loaded->body == nullptr) return 0;
  const auto again = leeway::plan::LoadValidPlan(loaded->body->serialized, "again");
  LEEWAY_CHECK(again.ok());
  LEEWAY_CHECK((*again)->digest == loaded->body->digest);
  LEEWAY_CHECK(ToText(**again) == ToText(*loaded->body));
  return 0;
}
