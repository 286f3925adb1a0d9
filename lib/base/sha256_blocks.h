// The compression function of SHA-256 (FIPS 180-4), as the processor's own instructions where it
// has them: a large plan would be hashed for longer than it is parsed.
//
// Threading: pure functions of their arguments.

#ifndef LEEWAY_BASE_SHA256_BLOCKS_H_
#define LEEWAY_BASE_SHA256_BLOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace leeway::base {

using Sha256State = std::array<std::uint32_t, 8>;

inline constexpr std::size_t kSha256Block = 64;  // bytes

extern const Sha256State kSha256Initial;

// Each takes `blocks` blocks into the state.
void Sha256Portable(Sha256State& state, const std::uint8_t* bytes, std::size_t blocks);
// Requires HasSha256Instructions().
void Sha256Accelerated(Sha256State& state, const std::uint8_t* bytes, std::size_t blocks);
bool HasSha256Instructions();

// Either of the two: they give the same.
void Sha256Blocks(Sha256State& state, const std::uint8_t* bytes, std::size_t blocks);

}  // namespace leeway::base

#endif  // LEEWAY_BASE_SHA256_BLOCKS_H_
