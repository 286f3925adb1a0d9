#include "base/digest.h"

#include <algorithm>
#include <cstring>

#include "leeway/digest.h"

namespace leeway::base {
namespace {

template <std::size_t kBytes>
void StoreBigEndian(std::uint64_t value, std::uint8_t* out) {
  for (std::size_t i = 0; i < kBytes; ++i) {
    out[i] = static_cast<std::uint8_t>(value >> (8 * (kBytes - 1 - i)));
  }
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

Sha256::Sha256() : state_(kSha256Initial) {}

void Sha256::Update(std::string_view bytes) {
  const auto* next = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  length_ += left;
  while (left > 0) {
    // Whole blocks are read in place.
    if (buffered_ == 0 && left >= buffer_.size()) {
      const std::size_t blocks = left / buffer_.size();
      Sha256Blocks(state_, next, blocks);
      next += blocks * buffer_.size();
      left -= blocks * buffer_.size();
      continue;
    }
    const std::size_t taken = std::min(left, buffer_.size() - buffered_);
    std::memcpy(buffer_.data() + buffered_, next, taken);
    buffered_ += taken;
    next += taken;
    left -= taken;
    if (buffered_ < buffer_.size()) continue;
    Sha256Blocks(state_, buffer_.data(), 1);
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
  Sha256Blocks(state_, buffer_.data(), 1);
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
