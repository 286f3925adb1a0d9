// Content digests: SHA-256 (FIPS 180-4).

#ifndef LEEWAY_BASE_DIGEST_H_
#define LEEWAY_BASE_DIGEST_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256_blocks.h"

namespace leeway::base {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  // Returns 64 lower-case hexadecimal digits.
  std::string ToHex() const;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

class Sha256 {
 public:
  Sha256();
  void Update(std::string_view bytes);
  // Appends fixed-width little-endian and length-prefixed fields: a canonical form without
  // ambiguity between neighbours.
  void UpdateU64(std::uint64_t value);
  void UpdateField(std::string_view bytes);
  // Returns the digest of everything so far. The object is spent afterwards.
  Digest Finish();

 private:
  Sha256State state_;
  std::array<std::uint8_t, kSha256Block> buffer_{};
  std::size_t buffered_ = 0;
  std::uint64_t length_ = 0;
};

Digest DigestOf(std::string_view bytes);

}  // namespace leeway::base

#endif  // LEEWAY_BASE_DIGEST_H_
