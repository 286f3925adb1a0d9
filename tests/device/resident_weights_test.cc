#include "device/resident_weights.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

// Least recently used as its definition reads: by the time of each weight's last use.
class Oracle {
 public:
  explicit Oracle(std::int64_t budget) : budget_(budget) {}

  WeightUse Use(const std::vector<Weight>& weights) {
    WeightUse use;
    ++step_;
    std::vector<Weight> missing;
    for (const Weight& weight : weights) {
      if (held_.contains(weight.key)) {
        ++use.hits;
        Touch(weight);
      } else {
        missing.push_back(weight);
      }
    }
    for (const Weight& weight : missing) {
      ++use.misses;
      use.fetched_bytes += weight.bytes;
      if (Bytes(step_) + weight.bytes > budget_) continue;
      while (Bytes(0) + weight.bytes > budget_) {
        held_.erase(std::min_element(held_.begin(), held_.end(), [](const auto& a, const auto& b) {
          return a.second.time < b.second.time;
        }));
        ++use.evictions;
      }
      Touch(weight);
    }
    return use;
  }

  bool Holds(std::uint64_t key) const { return held_.contains(key); }
  // Of the weights used in this step or later.
  std::int64_t Bytes(std::uint64_t since) const {
    std::int64_t bytes = 0;
    for (const auto& [key, held] : held_) bytes += held.step >= since ? held.bytes : 0;
    return bytes;
  }

 private:
  struct Held {
    std::int64_t bytes = 0;
    std::uint64_t step = 0, time = 0;
  };
  void Touch(const Weight& weight) { held_[weight.key] = {weight.bytes, step_, ++time_}; }

  std::int64_t budget_;
  std::uint64_t step_ = 0, time_ = 0;
  std::map<std::uint64_t, Held> held_;
};

TEST_CASE("weights come and go as least recently used says, and never exceed the budget",
          "[device][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<Weight> all;
  for (std::uint64_t key = 0; key < 12; ++key) {
    all.push_back({key, static_cast<std::int64_t>(prng.Below(100))});
  }
  const auto budget = static_cast<std::int64_t>(prng.Below(500));
  ResidentWeights memory(budget);
  Oracle oracle(budget);
  for (int step = 0; step < 200; ++step) {
    std::vector<Weight> used;
    for (const Weight& weight : all) {
      if (prng.Below(4) == 0) used.push_back(weight);
    }
    REQUIRE(memory.Use(used) == oracle.Use(used));
    REQUIRE(memory.held_bytes() <= budget);
    REQUIRE(memory.held_bytes() == oracle.Bytes(0));
    for (const Weight& weight : all) REQUIRE(memory.Holds(weight.key) == oracle.Holds(weight.key));
    REQUIRE(memory.Keys().size() <= all.size());
  }
}

TEST_CASE("what a step uses makes no room for what it misses", "[device][unit]") {
  ResidentWeights memory(10);
  const Weight a{1, 6}, b{2, 4}, c{3, 5};
  CHECK(memory.Use(std::vector{a, b}) == WeightUse{0, 2, 0, 10});
  // c has no room beside a, which is older than b; b is not asked to go for it.
  CHECK(memory.Use(std::vector{a, c}) == WeightUse{1, 1, 0, 5});
  CHECK(memory.Keys() == std::vector<std::uint64_t>{2, 1});
  // Beside b it has, once a is gone.
  CHECK(memory.Use(std::vector{b, c}) == WeightUse{1, 1, 1, 5});
  CHECK(memory.Keys() == std::vector<std::uint64_t>{2, 3});
  CHECK(memory.held_bytes() == 9);
}

TEST_CASE("without a budget nothing is kept but what takes no room", "[device][unit]") {
  ResidentWeights memory(0);
  CHECK(memory.Use(std::vector<Weight>{{1, 1}}) == WeightUse{0, 1, 0, 1});
  CHECK(memory.Use(std::vector<Weight>{{1, 1}}) == WeightUse{0, 1, 0, 1});
  CHECK(memory.held_bytes() == 0);
}

}  // namespace
}  // namespace leeway::device
