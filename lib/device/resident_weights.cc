#include "device/resident_weights.h"

namespace leeway::device {

WeightUse ResidentWeights::Use(std::span<const Weight> weights) {
  WeightUse use;
  in_use_bytes_ = 0;
  // What is there first, so that it does not make room for what is not.
  for (const Weight& weight : weights) {
    const auto found = by_key_.find(weight.key);
    if (found == by_key_.end()) continue;
    ++use.hits;
    in_use_bytes_ += weight.bytes;
    order_.splice(order_.end(), order_, found->second);
  }
  if (use.hits == weights.size()) return use;
  for (const Weight& weight : weights) {
    if (by_key_.contains(weight.key)) continue;
    ++use.misses;
    use.fetched_bytes += weight.bytes;
    Keep(weight, use);
  }
  return use;
}

void ResidentWeights::Keep(const Weight& weight, WeightUse& use) {
  if (weight.bytes > budget_ - in_use_bytes_) return;
  // Whatever this step does not use is older than what it does.
  while (weight.bytes > budget_ - held_bytes_) {
    held_bytes_ -= order_.front().bytes;
    by_key_.erase(order_.front().key);
    order_.pop_front();
    ++use.evictions;
  }
  held_bytes_ += weight.bytes;
  in_use_bytes_ += weight.bytes;
  by_key_.emplace(weight.key, order_.insert(order_.end(), weight));
}

std::vector<std::uint64_t> ResidentWeights::Keys() const {
  std::vector<std::uint64_t> keys;
  keys.reserve(order_.size());
  for (const Weight& held : order_) keys.push_back(held.key);
  return keys;
}

}  // namespace leeway::device
