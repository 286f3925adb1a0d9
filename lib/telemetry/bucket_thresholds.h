// The boundaries of a base-2 exponential histogram at scale 8, as integers: floor(2^63 ·
// 2^(j/256)).
//
// Derived at compile time from integer square roots, so that no libm takes part. An integer
// mantissa m in [2^63, 2^64) satisfies m <= 2^63 · 2^(j/256) exactly when m <= kThresholds[j].

#ifndef LEEWAY_TELEMETRY_BUCKET_THRESHOLDS_H_
#define LEEWAY_TELEMETRY_BUCKET_THRESHOLDS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace leeway::telemetry {

inline constexpr int kSubBits = 8;
inline constexpr int kSubBuckets = 1 << kSubBits;

namespace thresholds {

__extension__ typedef unsigned __int128 U128;

// Fixed point with 126 fractional bits: values in [0, 4).
inline constexpr int kFraction = 126;

// Rounds down.
constexpr U128 Multiply(U128 a, U128 b) {
  const std::uint64_t a_low = static_cast<std::uint64_t>(a);
  const std::uint64_t b_low = static_cast<std::uint64_t>(b);
  const U128 a_high = a >> 64, b_high = b >> 64;
  const U128 low = U128{a_low} * b_low;
  const U128 cross1 = a_high * b_low;
  const U128 cross2 = b_high * a_low;
  const U128 middle =
      (low >> 64) + static_cast<std::uint64_t>(cross1) + static_cast<std::uint64_t>(cross2);
  const U128 high = a_high * b_high + (cross1 >> 64) + (cross2 >> 64) + (middle >> 64);
  const U128 kept_low = (middle << 64) | static_cast<std::uint64_t>(low);
  return (high << (128 - kFraction)) | (kept_low >> kFraction);
}

// Within 2 ulp for a value in [1, 2].
constexpr U128 SquareRoot(U128 value) {
  U128 root = 0;
  for (int bit = kFraction; bit >= 0; --bit) {
    const U128 trial = root | (U128{1} << bit);
    if (Multiply(trial, trial) <= value) root = trial;
  }
  return root;
}

// 2^(j/256) for all j: products of 2^(1/2), 2^(1/4), … 2^(1/256). The error stays below 256 ulp: a
// root halves its argument's error and adds 2 (below 4 in all), a product of eight of them at most
// doubles each and adds its own roundings.
constexpr std::array<U128, kSubBuckets> Powers() {
  std::array<U128, kSubBits> roots{};
  U128 root = U128{2} << kFraction;
  for (int k = 0; k < kSubBits; ++k) roots[static_cast<std::size_t>(k)] = root = SquareRoot(root);
  std::array<U128, kSubBuckets> powers{};
  for (std::size_t j = 0; j < powers.size(); ++j) {
    powers[j] = U128{1} << kFraction;
    for (std::size_t k = 0; k < roots.size(); ++k) {
      if ((j >> (kSubBits - 1 - k)) & 1) powers[j] = Multiply(powers[j], roots[k]);
    }
  }
  return powers;
}

// Whether cutting 63 bits off every power cannot be off by one: no power but the first, which is
// exact, lies within its error of an integer.
constexpr bool FloorsAreCertain(const std::array<U128, kSubBuckets>& powers) {
  constexpr std::uint64_t kCut = std::uint64_t{1} << 63;
  constexpr std::uint64_t kError = 256;
  for (std::size_t j = 1; j < powers.size(); ++j) {
    const std::uint64_t cut = static_cast<std::uint64_t>(powers[j]) & (kCut - 1);
    if (cut < kError || cut > kCut - kError) return false;
  }
  return powers[0] == U128{1} << kFraction;
}

constexpr std::array<std::uint64_t, kSubBuckets> Floors() {
  constexpr std::array<U128, kSubBuckets> kPowers = Powers();
  static_assert(FloorsAreCertain(kPowers));
  std::array<std::uint64_t, kSubBuckets> floors{};
  for (std::size_t j = 0; j < floors.size(); ++j) {
    floors[j] = static_cast<std::uint64_t>(kPowers[j] >> (kFraction - 63));
  }
  return floors;
}

}  // namespace thresholds

inline constexpr std::array<std::uint64_t, kSubBuckets> kThresholds = thresholds::Floors();

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_BUCKET_THRESHOLDS_H_
