// The memory of one core that keeps weights between runs.
//
// What is needed and not there is fetched; the least recently used weights make room for it, never
// those that the same step uses. A weight for which there is no room beside those is fetched and
// not kept.
//
// Threading: one thread at a time.
// Memory:    by the weights held. A use of a weight costs a look-up, whatever else is held.

#ifndef LEEWAY_DEVICE_RESIDENT_WEIGHTS_H_
#define LEEWAY_DEVICE_RESIDENT_WEIGHTS_H_

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "device/kept_weights.h"

namespace leeway::device {

// Of steps that use weights that are kept somewhere. A weight counts once a step.
struct WeightUse {
  std::uint64_t hits = 0, misses = 0, evictions = 0;
  std::int64_t fetched_bytes = 0;  // as the weights are, without granules

  WeightUse& operator+=(const WeightUse& part) {
    hits += part.hits;
    misses += part.misses;
    evictions += part.evictions;
    fetched_bytes += part.fetched_bytes;
    return *this;
  }
  // Adds `times` what has been used since `before`.
  void Repeat(std::int64_t times, const WeightUse& before) {
    const auto n = static_cast<std::uint64_t>(times);
    hits += n * (hits - before.hits);
    misses += n * (misses - before.misses);
    evictions += n * (evictions - before.evictions);
    fetched_bytes += times * (fetched_bytes - before.fetched_bytes);
  }
  friend bool operator==(const WeightUse&, const WeightUse&) = default;
};

class ResidentWeights {
 public:
  // Requires budget >= 0.
  explicit ResidentWeights(std::int64_t budget) : budget_(budget) {}

  bool Holds(std::uint64_t key) const { return by_key_.contains(key); }
  // A step begins that uses these. Requires distinct keys.
  WeightUse Use(std::span<const Weight> weights);

  std::int64_t held_bytes() const { return held_bytes_; }
  // Least recently used first; what one step used in its order, but for what it fetched, last.
  std::vector<std::uint64_t> Keys() const;

 private:
  using Order = std::list<Weight>;  // least recently used first

  void Keep(const Weight& weight, WeightUse& use);

  std::int64_t budget_;
  std::int64_t held_bytes_ = 0;
  std::int64_t in_use_bytes_ = 0;  // by the step of now
  Order order_;
  absl::flat_hash_map<std::uint64_t, Order::iterator> by_key_;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_RESIDENT_WEIGHTS_H_
