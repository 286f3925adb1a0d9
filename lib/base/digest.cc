#include "base/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "leeway/digest.h"

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

constexpr std::array<std::uint32_t, 8> kInitial = [] {
  std::array<std::uint32_t, 8> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = RootFraction(kPrimes[i], 2);
  return words;
}();

constexpr std::uint32_t LoadBigEndian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

template <std::size_t kBytes>
void StoreBigEndian(std::uint64_t value, std::uint8_t* out) {
  for (std::size_t i = 0; i < kBytes; ++i) {
    out[i] = static_cast<std::uint8_t>(value >> (8 * (kBytes - 1 - i)));
  }
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

}  // namespace

std::string Digest::ToHex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

Sha256::Sha256() : state_(kInitial) {}

void Sha256::Block(const std::uint8_t* block) {
  const std::array<std::uint32_t, 64> w = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = state_;
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
  for (std::size_t i = 0; i < 8; ++i) state_[i] += rotated[i];
}

void Sha256::Update(std::string_view bytes) {
  const auto* next = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  length_ += left;
  while (left > 0) {
    // Whole blocks are read in place.
    if (buffered_ == 0 && left >= buffer_.size()) {
      Block(next);
      next += buffer_.size();
      left -= buffer_.size();
      continue;
    }
    const std::size_t taken = std::min(left, buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, next, taken);
    buffered_ += taken;
    next += taken;
    left -= taken;
    if (buffered_ < buffer_.size()) continue;
    Block(buffer_.data());
    buffered_ = 0;
  }
}

void Sha256::UpdateU64(std::uint64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i) & 255);
  Update(std::string_view(bytes, sizeof bytes));
}

void Sha256::UpdateField(std::string_view bytes) {
  UpdateU64(bytes.size());
  Update(bytes);
}

Digest Sha256::Finish() {
  const std::uint64_t bits = 8 * length_;
  Update("\x80");
  constexpr std::string_view kZero("\0", 1);
  while (buffered_ != buffer_.size() - 8) Update(kZero);
  StoreBigEndian<8>(bits, buffer_.data() + buffered_);
  Block(buffer_.data());
  Digest digest;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    StoreBigEndian<4>(state_[i], digest.bytes.data() + 4 * i);
  }
  return digest;
}

Digest DigestOf(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Finish();
}

}  // namespace leeway::base

namespace leeway {
inline namespace v0 {

std::string Sha256Of(std::string_view bytes) { return base::DigestOf(bytes).ToHex(); }

}  // namespace v0
}  // namespace leeway
