// Any bytes are a device or a clear refusal.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto spec = leeway::device::ParseSpec(bytes, "fuzz");
  if (!spec.ok() && spec.status().message().empty()) __builtin_trap();
  return 0;
}
