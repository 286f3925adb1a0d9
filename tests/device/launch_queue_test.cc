// The queue against an oracle. What TPU v4 measures (V6) is checked in lib/api.

#include "device/launch_queue.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::device {
namespace {

// The oracle steps through time and knows nothing but the rules.
TEST_CASE("the host waits for a place, the device for its turn", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 100)));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::int64_t issue = static_cast<std::int64_t>(prng.Below(20));
  const auto depth = static_cast<std::uint32_t>(1 + prng.Below(5));
  LaunchQueue queue(Nanos{issue}, depth);
  std::vector<LaunchQueue::Call> calls;
  Instant now, device_free;
  for (int i = 0; i < 60; ++i) {
    now += Nanos{static_cast<std::int64_t>(prng.Below(30))};
    const Instant before = calls.empty() ? Instant() : calls.back().returns;
    const Nanos kernel{static_cast<std::int64_t>(1 + prng.Below(60))};
    const LaunchQueue::Call call = queue.Issue(now, kernel);
    Instant returns = std::max(now, before) + Nanos{issue};
    const auto in_flight = [&](Instant at) {
      return std::count_if(calls.begin(), calls.end(),
                           [&](const LaunchQueue::Call& c) { return c.ends > at; });
    };
    while (in_flight(returns) >= depth) returns += Nanos{1};
    REQUIRE(call.returns == returns);
    REQUIRE(call.starts == std::max(returns, device_free));
    REQUIRE(call.ends == call.starts + kernel);
    device_free = call.ends;
    calls.push_back(call);
    REQUIRE(static_cast<std::uint32_t>(in_flight(returns)) == call.in_flight);
    REQUIRE(call.in_flight <= depth);
  }
}

}  // namespace
}  // namespace leeway::device
