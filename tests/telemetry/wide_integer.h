// Just enough of integers without bound to check v^n against a power of two exactly.
#ifndef LEEWAY_TESTS_TELEMETRY_WIDE_INTEGER_H_
#define LEEWAY_TESTS_TELEMETRY_WIDE_INTEGER_H_

#include <bit>
#include <cstdint>
#include <vector>

namespace leeway::telemetry::testing {

class WideInteger {
 public:
  explicit WideInteger(std::uint64_t value)
      : words_{static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)} {
    Trim();
  }

  WideInteger Square() const {
    WideInteger square(0);
    square.words_.assign(2 * words_.size() + 1, 0);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < words_.size() || carry != 0; ++j) {
        std::uint64_t word = carry + square.words_[i + j];
        if (j < words_.size()) word += std::uint64_t{words_[i]} * words_[j];
        square.words_[i + j] = static_cast<std::uint32_t>(word);
        carry = word >> 32;
      }
    }
    square.Trim();
    return square;
  }

  // The number of bits: 2^(n−1) <= value < 2^n.
  std::int64_t bits() const {
    return words_.empty()
               ? 0
               : 32 * static_cast<std::int64_t>(words_.size()) - std::countl_zero(words_.back());
  }

  bool is_power_of_two() const {
    int ones = 0;
    for (std::uint32_t word : words_) ones += std::popcount(word);
    return ones == 1;
  }

 private:
  void Trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }

  std::vector<std::uint32_t> words_;
};

// Returns ⌈2^scale · log2(value)⌉ by raising value to the power 2^scale. Requires value > 0.
inline std::int64_t CeilScaledLog2(std::uint64_t value, int scale) {
  WideInteger power(value);
  for (int i = 0; i < scale; ++i) power = power.Square();
  return power.is_power_of_two() ? power.bits() - 1 : power.bits();
}

}  // namespace leeway::telemetry::testing

#endif  // LEEWAY_TESTS_TELEMETRY_WIDE_INTEGER_H_
