// Ids as types: Id<struct CoreTag> and Id<struct RunTag> do not mix.

#ifndef LEEWAY_BASE_IDS_H_
#define LEEWAY_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace leeway::base {

// A dense index, or kNone. `Tag` only tells kinds apart.
template <typename Tag>
class Id {
 public:
  static constexpr std::uint32_t kNoneValue = std::numeric_limits<std::uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(std::size_t value) : value_(static_cast<std::uint32_t>(value)) {}

  static constexpr Id None() { return Id(); }
  constexpr bool valid() const { return value_ != kNoneValue; }
  constexpr std::uint32_t value() const { return value_; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t value_ = kNoneValue;
};

}  // namespace leeway::base

#endif  // LEEWAY_BASE_IDS_H_
