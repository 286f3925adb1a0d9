#include "sched/ready_queue.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::sched {
namespace {

constexpr LaneId Lane(std::size_t domain) { return {DomainId(domain), Affinity::kNone}; }

StepRef StepOf(std::uint32_t number) {
  StepRef step;
  step.run = RunId(number);
  step.node = NodeId(0);
  return step;
}

}  // namespace

TEST_CASE("a key orders by urgency, then by criticality", "[sched][ready_queue]") {
  CHECK(Key::Of(3, 10) < Key::Of(4, 63));
  CHECK(Key::Of(3, 11) < Key::Of(3, 10));
  CHECK(Key::Of(7, 0).urgency() == 7);
  CHECK_FALSE(Key{}.valid());
  CHECK(Key::Of(1'000'000'000, 0) < Key{});
}

TEST_CASE("a ready queue gives the best or worst key's oldest step, like a sorted map of queues",
          "[sched][ready_queue][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  ReadyQueue queue;
  std::map<std::uint64_t, std::deque<std::uint32_t>> oracle[2];
  std::uint32_t next = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t lane = prng.Below(2);
    if (prng.Below(100) < 55) {
      const Key key = Key::Of(prng.Below(5), static_cast<std::uint32_t>(prng.Below(4)));
      queue.Push(Lane(lane), key, StepOf(next));
      oracle[lane][key.word].push_back(next++);
      continue;
    }
    if (oracle[lane].empty()) {
      REQUIRE_FALSE(queue.best(Lane(lane)).valid());
      continue;
    }
    auto worst = std::prev(oracle[lane].end());
    REQUIRE(queue.worst(Lane(lane)).word == worst->first);
    if (prng.Below(8) == 0) {
      REQUIRE(queue.PopWorst(Lane(lane)).run.value() == worst->second.front());
      worst->second.pop_front();
      if (worst->second.empty()) oracle[lane].erase(worst);
      continue;
    }
    auto best = oracle[lane].begin();
    REQUIRE(queue.best(Lane(lane)).word == best->first);
    const std::size_t take = prng.Below(4) == 0 ? (best->second.size() + 1) / 2 : 1;
    const std::vector<StepRef> taken =
        take == 1 ? std::vector<StepRef>{queue.Pop(Lane(lane))} : queue.PopHalf(Lane(lane));
    REQUIRE(taken.size() == take);
    for (const StepRef& step : taken) {
      REQUIRE(step.run.value() == best->second.front());
      best->second.pop_front();
    }
    if (best->second.empty()) oracle[lane].erase(best);
  }
  std::size_t left = 0;
  for (const auto& lane : oracle) {
    for (const auto& [key, steps] : lane) left += steps.size();
  }
  CHECK(queue.size() == left);
}

TEST_CASE("a step taken out from the middle of a lane leaves the others in their order",
          "[sched][ready_queue][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  ReadyQueue queue;
  const LaneId lane{DomainId(1), Affinity::kPlanned};
  std::map<Key, std::deque<std::uint32_t>> expected;
  const auto steps = 1 + static_cast<std::uint32_t>(prng.Below(60));
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Key key = Key::Of(prng.Below(5), 3);
    queue.Push(lane, key, StepOf(i));
    expected[key].push_back(i);
  }
  while (!expected.empty()) {
    std::vector<std::pair<Key, std::uint32_t>> order, seen;
    for (const auto& [key, ids] : expected) {
      for (std::uint32_t id : ids) order.emplace_back(key, id);
    }
    queue.FindBest(lane, [&](Key key, const StepRef& step) {
      seen.emplace_back(key, step.run.value());
      return false;
    });
    REQUIRE(seen == order);
    REQUIRE(queue.best() == order.front().first);
    REQUIRE(queue.planned() == order.size());
    const auto [key, id] = order[prng.Below(order.size())];
    queue.Remove(lane, key, StepOf(id));
    std::deque<std::uint32_t>& ids = expected[key];
    ids.erase(std::find(ids.begin(), ids.end(), id));
    if (ids.empty()) expected.erase(key);
  }
  CHECK(queue.size() == 0);
  CHECK_FALSE(queue.best().valid());
}

}  // namespace leeway::sched
