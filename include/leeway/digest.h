// Digests as the library gives them: SHA-256, in hexadecimal.

#ifndef LEEWAY_DIGEST_H_
#define LEEWAY_DIGEST_H_

#include <string>
#include <string_view>

namespace leeway {
inline namespace v0 {

// Returns 64 lower-case hexadecimal digits, the same that `sha256sum` prints of a file with these
// bytes.
std::string Sha256Of(std::string_view bytes);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_DIGEST_H_
