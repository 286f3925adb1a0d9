#include "telemetry/message_count.h"

#include <cstdint>
#include <optional>

namespace leeway::telemetry {
namespace {

// Messages of telemetry.proto by what they hold; kOther holds no messages.
enum class Message { kNone, kSnapshot, kStream, kCounters, kOther };

Message ChildOf(Message parent, std::uint64_t field) {
  switch (parent) {
    case Message::kSnapshot:
      if (field == 5) return Message::kStream;
      if (field == 9) return Message::kCounters;
      return field == 1 || (field >= 6 && field <= 8) ? Message::kOther : Message::kNone;
    case Message::kStream:
      if (field == 3) return Message::kCounters;
      return field == 4 || field == 5 ? Message::kOther : Message::kNone;
    case Message::kCounters:
      return field == 16 || field == 17 ? Message::kOther : Message::kNone;
    default:
      return Message::kNone;
  }
}

std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> Take(std::string_view& bytes, std::uint64_t size) {
  if (size > bytes.size()) return std::nullopt;
  const std::string_view taken = bytes.substr(0, static_cast<std::size_t>(size));
  bytes.remove_prefix(taken.size());
  return taken;
}

std::size_t Count(std::string_view bytes, Message message) {
  std::size_t count = 1;
  while (!bytes.empty()) {
    const std::optional<std::uint64_t> tag = TakeVarint(bytes);
    if (!tag) return count;
    std::optional<std::string_view> value;
    switch (*tag & 7) {
      case 0:
        if (!TakeVarint(bytes)) return count;
        continue;
      case 1:
        value = Take(bytes, 8);
        break;
      case 2: {
        const std::optional<std::uint64_t> size = TakeVarint(bytes);
        if (size) value = Take(bytes, *size);
        break;
      }
      case 3:
      case 4:
        // The parser skips groups as unknown fields; what is between the tags counts for more here.
        continue;
      case 5:
        value = Take(bytes, 4);
        break;
      default:
        return count;
    }
    if (!value) return count;
    const Message child = (*tag & 7) == 2 ? ChildOf(message, *tag >> 3) : Message::kNone;
    // At most three levels deep, as the schema is.
    if (child != Message::kNone) count += Count(*value, child);
  }
  return count;
}

}  // namespace

std::size_t CountSnapshotMessages(std::string_view bytes) {
  return Count(bytes, Message::kSnapshot);
}

}  // namespace leeway::telemetry
