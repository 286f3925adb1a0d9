#include "base/sha256_blocks.h"

#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace leeway::base {
namespace {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT: __extension__ takes no alias

constexpr std::array<std::uint64_t, 64> kPrimes = [] {
  std::array<std::uint64_t, 64> primes{};
  std::size_t found = 0;
  for (std::uint64_t n = 2; found < primes.size(); ++n) {
    bool prime = true;
    for (std::size_t i = 0; i < found && prime; ++i) prime = n % primes[i] != 0;
    if (prime) primes[found++] = n;
  }
  return primes;
}();

// Returns the first 32 bits of the fraction of the `degree`-th root of p, by bisection of
// r^degree <= p·2^(32·degree). FIPS 180-4 defines its constants so.
constexpr std::uint32_t RootFraction(std::uint64_t p, int degree) {
  const Uint128 target = static_cast<Uint128>(p) << (32 * degree);
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 37; bit != 0; bit >>= 1) {
    const std::uint64_t larger = root | bit;
    Uint128 power = 1;
    for (int i = 0; i < degree; ++i) power *= larger;
    if (power <= target) root = larger;
  }
  return static_cast<std::uint32_t>(root);
}

constexpr std::array<std::uint32_t, 64> kRound = [] {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = RootFraction(kPrimes[i], 3);
  return words;
}();

constexpr std::uint32_t LoadBigEndian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::array<std::uint32_t, 64> Schedule(const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = LoadBigEndian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15];
    const std::uint32_t b = w[i - 2];
    const std::uint32_t s0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    const std::uint32_t s1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  return w;
}

void Block(Sha256State& state, const std::uint8_t* block) {
  const std::array<std::uint32_t, 64> w = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + s1 + choice + kRound[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + s0 + majority;
  }
  const std::array<std::uint32_t, 8> rotated = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += rotated[i];
}

}  // namespace

constexpr Sha256State kSha256Initial = [] {
  Sha256State words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = RootFraction(kPrimes[i], 2);
  return words;
}();

void Sha256Portable(Sha256State& state, const std::uint8_t* bytes, std::size_t blocks) {
  for (; blocks > 0; --blocks, bytes += kSha256Block) Block(state, bytes);
}

#if defined(__x86_64__)

// The rounds go four at a time; each instruction computes two. The state is kept as the
// instructions want it: {f, e, b, a} and {h, g, d, c}, lowest first. (Intel SDM volume 2,
// SHA256RNDS2.)
__attribute__((target("sha,sse4.1"))) void Sha256Accelerated(Sha256State& state,
                                                             const std::uint8_t* bytes,
                                                             std::size_t blocks) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const words = reinterpret_cast<__m128i*>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; blocks > 0; --blocks, bytes += kSha256Block) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      const auto* const at = reinterpret_cast<const __m128i*>(bytes) + i;
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(at), big_endian);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const auto* const constants = reinterpret_cast<const __m128i*>(kRound.data()) + i;
      const __m128i sum = _mm_add_epi32(w[i % 4], _mm_loadu_si128(constants));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      if (i >= 12) continue;
      // The four words of the schedule that are due in four steps.
      const __m128i two_back = w[(i + 2) % 4], one_back = w[(i + 3) % 4];
      const __m128i seven_back = _mm_alignr_epi8(one_back, two_back, 4);
      const __m128i first = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
      w[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(first, seven_back), one_back);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool HasSha256Instructions() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kSse41 = 1u << 19, kSha = 1u << 29;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSse41) == 0) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
  }();
  return has;
}

#else

void Sha256Accelerated(Sha256State& state, const std::uint8_t* bytes, std::size_t blocks) {
  Sha256Portable(state, bytes, blocks);
}

bool HasSha256Instructions() { return false; }

#endif

void Sha256Blocks(Sha256State& state, const std::uint8_t* bytes, std::size_t blocks) {
  if (HasSha256Instructions()) {
    Sha256Accelerated(state, bytes, blocks);
  } else {
    Sha256Portable(state, bytes, blocks);
  }
}

}  // namespace leeway::base
