// A set of a device's cores.

#ifndef LEEWAY_SCHED_CORE_SET_H_
#define LEEWAY_SCHED_CORE_SET_H_

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace leeway::sched {

using CoreId = base::Id<struct CoreTag>;

class CoreSet {
 public:
  static constexpr std::size_t kMaxCores = 256;

  constexpr CoreSet() = default;

  constexpr void Add(CoreId core) { words_[core.value() / 64] |= Bit(core); }
  constexpr void Remove(CoreId core) { words_[core.value() / 64] &= ~Bit(core); }
  constexpr bool Contains(CoreId core) const { return words_[core.value() / 64] & Bit(core); }
  constexpr bool empty() const {
    std::uint64_t any = 0;
    for (std::uint64_t word : words_) any |= word;
    return any == 0;
  }
  constexpr std::size_t size() const {
    std::size_t count = 0;
    for (std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  // The core of smallest index, or none.
  constexpr CoreId first() const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i]) return CoreId(i * 64 + static_cast<std::size_t>(std::countr_zero(words_[i])));
    }
    return CoreId::None();
  }

  // Calls visit(CoreId) for each core, rising.
  template <typename Visit>
  constexpr void ForEach(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(CoreId(i * 64 + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
  }

  // As ForEach, but from `first` upwards and round.
  template <typename Visit>
  constexpr void ForEachFrom(CoreId first, Visit visit) const {
    const std::size_t start = first.value() / 64;
    const std::uint64_t below = Bit(first) - 1;
    for (std::size_t step = 0; step <= words_.size(); ++step) {
      const std::size_t i = (start + step) % words_.size();
      std::uint64_t word = words_[i];
      if (step == 0) word &= ~below;
      if (step == words_.size()) word &= below;
      for (; word != 0; word &= word - 1) {
        visit(CoreId(i * 64 + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
  }

  friend constexpr CoreSet operator&(CoreSet a, const CoreSet& b) {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  friend constexpr CoreSet operator|(CoreSet a, const CoreSet& b) {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
    return a;
  }
  friend constexpr auto operator<=>(const CoreSet&, const CoreSet&) = default;

 private:
  static constexpr std::uint64_t Bit(CoreId core) {
    return std::uint64_t{1} << (core.value() % 64);
  }

  std::array<std::uint64_t, kMaxCores / 64> words_{};
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_CORE_SET_H_
