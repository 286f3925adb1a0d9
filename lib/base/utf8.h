// Whether bytes are UTF-8 (RFC 3629).

#ifndef LEEWAY_BASE_UTF8_H_
#define LEEWAY_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace leeway::base {

// Returns the bytes of the character at the front, 0 if it is none or there is no text (Unicode 15,
// table 3-7: no overlong form, no surrogate, nothing above U+10FFFF).
std::size_t Utf8CharacterBytes(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace leeway::base

#endif  // LEEWAY_BASE_UTF8_H_
