// Any bytes are a telemetry snapshot or a clear refusal; what is read is written the same again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "telemetry/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto snapshot = leeway::telemetry::Snapshot::Parse(bytes);
  if (!snapshot.ok()) return 0;
  const auto written = snapshot->Serialize();
  if (!written.ok()) __builtin_trap();
  const auto again = leeway::telemetry::Snapshot::Parse(*written);
  if (!again.ok() || !(*again == *snapshot)) __builtin_trap();
  return 0;
}
