// Reading whole files and what ships inside the library.

#ifndef LEEWAY_BASE_FILE_H_
#define LEEWAY_BASE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"

namespace leeway::base {

// Returns the file's bytes. kNotFound if there is none, kPermissionDenied, kUnavailable for other
// I/O errors and directories, kResourceExhausted above `limit` bytes; every message names the path.
Result<std::string> ReadFile(const std::string& path, std::uint64_t limit);

// What plans/ ships, converted to binary at build time and linked in.
enum class ShippedKind { kPlan, kDevice, kTraffic };

struct ShippedFile {
  ShippedKind kind;
  std::string_view name;   // "bert_base"
  std::string_view bytes;  // a serialized message; static storage
};

std::optional<ShippedFile> FindShipped(ShippedKind kind, std::string_view name);
// All of one kind, by name.
std::vector<ShippedFile> ListShipped(ShippedKind kind);

}  // namespace leeway::base

#endif  // LEEWAY_BASE_FILE_H_
