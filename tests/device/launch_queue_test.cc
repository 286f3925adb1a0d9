// The queue against an oracle. What TPU v4 measures (V6) is checked in lib/api, and through
// Simulate in tests/api/launch_test.cc.

#include "device/launch_queue.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

struct Call {
  Instant asks;
  Nanos kernel{0};
  // What comes of it: when the host is free again, and on the device.
  Instant returns, starts, ends;
  std::uint32_t in_flight = 0;  // when it was issued, itself included
};

// Serves calls of one urgency on a device that executes them in order.
std::vector<Call> Serve(LaunchQueue queue, std::vector<Call> calls) {
  std::deque<Instant> ends;
  std::size_t asked = 0;
  Instant device_free;
  while (true) {
    Instant now = std::min(queue.due(), ends.empty() ? Instant::Max() : ends.front());
    if (asked < calls.size()) now = std::min(now, calls[asked].asks);
    if (now == Instant::Max()) return calls;
    for (; !ends.empty() && ends.front() <= now; ends.pop_front()) queue.Ended();
    for (; asked < calls.size() && calls[asked].asks <= now; ++asked) {
      queue.Ask(static_cast<LaunchQueue::Call>(asked), 1);
    }
    while (const auto issued = queue.Next(now)) {
      Call& call = calls[*issued];
      call.returns = now;
      call.starts = std::max(now, device_free);
      call.ends = device_free = call.starts + call.kernel;
      call.in_flight = queue.in_flight();
      ends.push_back(call.ends);
    }
  }
}

// The oracle steps through time and knows nothing but the rules.
TEST_CASE("the host waits for a place, the device for its turn", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 100)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Nanos issue{static_cast<std::int64_t>(prng.Below(20))};
  const auto depth = static_cast<std::uint32_t>(1 + prng.Below(5));
  std::vector<Call> calls(60);
  Instant now;
  for (Call& call : calls) {
    now += Nanos{static_cast<std::int64_t>(prng.Below(30))};
    call.asks = now;
    call.kernel = Nanos{static_cast<std::int64_t>(1 + prng.Below(60))};
  }
  calls = Serve(LaunchQueue(issue, depth), calls);
  Instant before, device_free;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const auto in_flight = [&](Instant at) {
      return std::count_if(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(i),
                           [&](const Call& c) { return c.ends > at; });
    };
    Instant returns = std::max(call.asks, before) + issue;
    while (in_flight(returns) >= depth) returns += Nanos{1};
    REQUIRE(call.returns == returns);
    REQUIRE(call.starts == std::max(returns, device_free));
    REQUIRE(call.ends == call.starts + call.kernel);
    REQUIRE(static_cast<std::uint32_t>(in_flight(returns)) + 1 == call.in_flight);
    REQUIRE(call.in_flight <= depth);
    before = call.returns;
    device_free = call.ends;
  }
}

TEST_CASE("the most urgent call goes first, but not before the one that the host is at",
          "[device][unit]") {
  LaunchQueue queue(Nanos{10}, 8);
  const auto issued_at = [&](std::int64_t at) {
    std::vector<LaunchQueue::Call> calls;
    while (const auto call = queue.Next(Instant(Nanos{at}))) calls.push_back(*call);
    return calls;
  };
  using Calls = std::vector<LaunchQueue::Call>;
  queue.Ask(1, 5);
  CHECK(issued_at(0) == Calls{});
  CHECK(queue.due() == Instant(Nanos{10}));
  queue.Ask(2, 5);
  queue.Ask(3, 4);
  queue.Ask(4, 5);
  CHECK(issued_at(10) == Calls{1});
  CHECK(issued_at(20) == Calls{3});
  CHECK(issued_at(30) == Calls{2});
  CHECK(issued_at(40) == Calls{4});
  CHECK(queue.due() == Instant::Max());
}

TEST_CASE("a call that is dropped takes no place, but the time of a host that was at it",
          "[device][unit]") {
  LaunchQueue queue(Nanos{10}, 1);
  queue.Ask(1, 1);
  queue.Ask(2, 1);
  queue.Ask(3, 1);
  CHECK_FALSE(queue.Next(Instant()).has_value());
  queue.Drop(2);
  CHECK(queue.Next(Instant(Nanos{10})) == LaunchQueue::Call{1});
  CHECK_FALSE(queue.Next(Instant(Nanos{10})).has_value());
  // The host is at 3, for which there is no place; a call may be dropped even so.
  CHECK(queue.due() == Instant::Max());
  CHECK_FALSE(queue.Next(Instant(Nanos{25})).has_value());
  queue.Drop(3);
  queue.Ask(4, 1);
  CHECK_FALSE(queue.Next(Instant(Nanos{25})).has_value());
  queue.Ended();
  CHECK(queue.due() == Instant(Nanos{35}));
  CHECK(queue.Next(Instant(Nanos{35})) == LaunchQueue::Call{4});
  CHECK(queue.in_flight() == 1);
}

}  // namespace
}  // namespace leeway::device
