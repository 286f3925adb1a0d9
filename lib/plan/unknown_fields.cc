#include "plan/unknown_fields.h"

#include <limits>
#include <optional>
#include <utility>

namespace leeway::plan {
namespace {

// More than these are counted, not named.
constexpr std::size_t kMaxShown = 8;

// The highest number that a field can have.
constexpr std::uint64_t kMaxNumber = (std::uint64_t{1} << 29) - 1;

// Wire types of Protocol Buffers.
enum class WireType : std::uint64_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5
};

WireType TypeOf(std::uint64_t tag) { return static_cast<WireType>(tag & 7); }

std::optional<std::uint64_t> TakeVarint(std::string_view& wire) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !wire.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(wire.front());
    wire.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Removes what follows a tag. Returns false for a group's ends, and where the bytes stop short.
bool SkipValue(WireType type, std::string_view& wire) {
  std::uint64_t bytes = 0;
  switch (type) {
    case WireType::kVarint:
      return TakeVarint(wire).has_value();
    case WireType::kFixed64:
      bytes = 8;
      break;
    case WireType::kFixed32:
      bytes = 4;
      break;
    case WireType::kBytes:
      bytes = TakeVarint(wire).value_or(std::numeric_limits<std::uint64_t>::max());
      break;
    default:
      return false;
  }
  if (bytes > wire.size()) return false;
  wire.remove_prefix(bytes);
  return true;
}

// Removes the rest of a group, other groups within it included.
bool SkipGroup(std::string_view& wire) {
  for (std::size_t depth = 1; depth > 0;) {
    const std::optional<std::uint64_t> tag = TakeVarint(wire);
    if (!tag) return false;
    const WireType type = TypeOf(*tag);
    if (type == WireType::kGroupStart) {
      ++depth;
    } else if (type == WireType::kGroupEnd) {
      --depth;
    } else if (!SkipValue(type, wire)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::uint32_t TakeField(std::string_view& wire) {
  const std::optional<std::uint64_t> tag = TakeVarint(wire);
  const bool whole = tag && (TypeOf(*tag) == WireType::kGroupStart ? SkipGroup(wire)
                                                                   : SkipValue(TypeOf(*tag), wire));
  const std::uint64_t number = whole ? *tag >> 3 : 0;
  if (number == 0 || number > kMaxNumber) {
    wire = {};
    return 0;
  }
  return static_cast<std::uint32_t>(number);
}

void UnknownFields::Note(const Path& path, std::string_view wire) {
  bool first = true;
  std::uint32_t last = 0;
  while (const std::uint32_t number = TakeField(wire)) {
    ++total_;
    // A repeated field is named once.
    if (std::exchange(last, number) == number || shown_ == kMaxShown) continue;
    ++shown_;
    if (!first) {
      places_ += ", ";
    } else {
      if (!places_.empty()) places_ += "; ";
      const std::string place = path.ToString();
      places_ += place.empty() ? "plan: " : place + ": ";
      first = false;
    }
    places_ += std::to_string(number);
  }
}

void UnknownFields::Report(Findings& findings) const {
  if (total_ == 0) return;
  const std::string what = total_ == 1 ? "1 field is" : std::to_string(total_) + " fields are";
  findings.Warning(Path(""), what +
                                 " of a newer schema: kept, but not read; the first by message and "
                                 "number: " +
                                 places_);
}

}  // namespace leeway::plan
