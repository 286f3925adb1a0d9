#include "plan/outline_text.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <tuple>
#include <utility>

namespace leeway::plan {
namespace {

bool IsPlain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '+' ||
           c == '/';
  });
}

}  // namespace

std::string NameText(std::string_view name) {
  if (IsPlain(name)) return std::string(name);
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string Shortest(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : std::string("?");
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return text;
}

std::string Join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

void Settle(Facts& facts) {
  std::sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) {
    return std::tie(a.label, a.value) < std::tie(b.label, b.value);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (kept > 0 && facts[kept - 1].label == facts[i].label) {
      facts[kept - 1].value += " and " + facts[i].value;
    } else if (kept == i) {
      ++kept;
    } else {
      facts[kept++] = std::move(facts[i]);
    }
  }
  facts.resize(kept);
}

}  // namespace leeway::plan
