#include "traffic/quoted.h"

#include <algorithm>

namespace leeway::traffic {
namespace {

constexpr std::size_t kMaxShown = 100;
constexpr std::size_t kMaxListed = 50;

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::string Quoted(std::string_view text) {
  std::size_t shown = std::min(text.size(), kMaxShown);
  while (shown > 0 && shown < text.size() && !StartsCodePoint(text[shown])) --shown;
  std::string quoted = "\"";
  quoted += text.substr(0, shown);
  if (shown < text.size()) quoted += "…";
  quoted += '"';
  return quoted;
}

std::string QuotedList(const std::vector<std::string>& texts) {
  if (texts.empty()) return "none";
  std::string list;
  for (std::size_t i = 0; i < std::min(texts.size(), kMaxListed); ++i) {
    if (i > 0) list += ", ";
    list += Quoted(texts[i]);
  }
  if (texts.size() > kMaxListed) list += ", …";
  return list;
}

}  // namespace leeway::traffic
