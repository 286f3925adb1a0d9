#include "plan/wire.h"

#include <vector>

namespace leeway::plan {
namespace {

// Wire types: https://protobuf.dev/programming-guides/encoding/#structure
enum : std::uint32_t { kVarint, kFixed64, kDelimited, kGroupStart, kGroupEnd, kFixed32 };

// Protobuf's own readers give up at this depth, too.
constexpr std::size_t kMaxGroups = 100;

}  // namespace

bool WireReader::Varint(std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < 10 && i < left_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(left_[i]);
    value |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      left_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool WireReader::Skip(std::size_t bytes) {
  if (bytes > left_.size()) return false;
  left_.remove_prefix(bytes);
  return true;
}

bool WireReader::Tag(std::uint32_t& tag) {
  std::uint64_t value = 0;
  if (!Varint(value) || value > 0xffffffffu || value < 8) return false;
  tag = static_cast<std::uint32_t>(value);
  return true;
}

bool WireReader::Group(std::uint32_t number) {
  std::vector<std::uint32_t> open = {number};
  WireField skipped;
  while (!open.empty()) {
    std::uint32_t tag = 0;
    if (!Tag(tag)) return false;
    if ((tag & 7) == kGroupEnd) {
      if (tag >> 3 != open.back()) return false;
      open.pop_back();
    } else if ((tag & 7) == kGroupStart) {
      if (open.size() == kMaxGroups) return false;
      open.push_back(tag >> 3);
    } else if (!Value(tag, skipped)) {
      return false;
    }
  }
  return true;
}

bool WireReader::Value(std::uint32_t tag, WireField& field) {
  std::uint64_t value = 0;
  switch (tag & 7) {
    case kVarint:
      return Varint(value);
    case kFixed64:
      return Skip(8);
    case kFixed32:
      return Skip(4);
    case kGroupStart:
      return Group(tag >> 3);
    case kDelimited:
      if (!Varint(value) || value > left_.size()) return false;
      field.delimited = true;
      field.value = left_.substr(0, value);
      return Skip(value);
    default:
      return false;
  }
}

bool WireReader::Next(WireField& field) {
  if (left_.empty() || !ok_) return false;
  const std::string_view start = left_;
  std::uint32_t tag = 0;
  field.delimited = false;
  field.value = {};
  ok_ = Tag(tag) && Value(tag, field);
  field.number = tag >> 3;
  field.whole = start.substr(0, start.size() - left_.size());
  return ok_;
}

std::optional<std::string_view> FindDelimited(std::string_view message, std::uint32_t number) {
  std::optional<std::string_view> last;
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (field.delimited && field.number == number) last = field.value;
  }
  return last;
}

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendDelimited(std::uint32_t number, std::string_view value, std::string& out) {
  AppendVarint(std::uint64_t{number} << 3 | kDelimited, out);
  AppendVarint(value.size(), out);
  out += value;
}

}  // namespace leeway::plan
