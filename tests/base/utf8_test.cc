#include "base/utf8.h"

#include <cstdint>
#include <string>

#include "tests/catch.h"

namespace leeway::base {
namespace {

// RFC 3629, section 3, from a code point.
std::string Encoded(std::uint32_t c) {
  const auto tail = [](std::uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), tail(c)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), tail(c >> 6), tail(c)};
  return {static_cast<char>(0xF0 | c >> 18), tail(c >> 12), tail(c >> 6), tail(c)};
}

// The bits of a sequence of `text.size()` bytes, whatever its marks say.
std::uint32_t Bits(const std::string& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::uint32_t bits = text.size() == 1 ? byte(0) : byte(0) & (0xFFu >> (text.size() + 1));
  for (std::size_t i = 1; i < text.size(); ++i) bits = bits << 6 | (byte(i) & 0x3F);
  return bits;
}

bool IsScalar(std::uint32_t c) { return c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF); }

// A sequence is a character exactly if it is how its bits are written.
bool IsCharacter(const std::string& text) {
  const std::uint32_t bits = Bits(text);
  return IsScalar(bits) && Encoded(bits) == text;
}

}  // namespace

TEST_CASE("every code point but surrogates is a character as RFC 3629 writes it", "[base][utf8]") {
  std::size_t wrong = 0;
  for (std::uint32_t c = 0; c <= 0x1FFFFF; ++c) {
    const std::string text = Encoded(c);
    if (Utf8CharacterBytes(text) != (IsScalar(c) ? text.size() : 0)) ++wrong;
    if (IsScalar(c) && Utf8CharacterBytes(text + "x") != text.size()) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("of two and three bytes exactly those are characters that are a code point's form",
          "[base][utf8]") {
  std::size_t wrong = 0;
  for (std::uint32_t lead = 0x80; lead < 0x100; ++lead) {
    for (std::uint32_t second = 0; second < 0x100; ++second) {
      const std::string two = {static_cast<char>(lead), static_cast<char>(second)};
      const bool is_two = IsCharacter(two);
      if (IsUtf8(two) != is_two) ++wrong;
      for (std::uint32_t third : {0x00, 0x7F, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF}) {
        const std::string three = two + static_cast<char>(third);
        const std::size_t size = is_two ? 2 : IsCharacter(three) ? 3 : 0;
        if (Utf8CharacterBytes(three) != size) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("text is UTF-8 if all of it is, and a character cut short is none", "[base][utf8]") {
  const std::string text = "grüße, 世界, 🚀";
  CHECK(IsUtf8(""));
  CHECK(IsUtf8(text));
  CHECK(IsUtf8(std::string_view("a\0b", 3)));
  CHECK(Utf8CharacterBytes("") == 0);
  CHECK_FALSE(IsUtf8(text + "\xFF"));
  CHECK_FALSE(IsUtf8("\xE4\xB8"));
  CHECK_FALSE(IsUtf8("\xF0\x9F\x9A"));
}

}  // namespace leeway::base
