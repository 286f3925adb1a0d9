// V6. Source: JAX and Pallas on TPU v4 (COST_MODEL section 9): 64 asynchronous calls of a kernel of
// 10.8 µs take 76.7 µs each, of one of 1000.8 µs 1004.8 µs each, and the caller blocks after about
// 32. The cost of a call and the depth are inputs of the preset: plumbing. That the longer kernel
// hides the host, and when the caller blocks, follows from the queue.

#include "device/launch_queue.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

constexpr int kCalls = 64;

struct Calls {
  double each_us = 0;
  int returned_unblocked = 0;
  std::uint32_t most_in_flight = 0;
};

Calls CallAgainAndAgain(const Spec& spec, Nanos kernel) {
  LaunchQueue queue(spec.run_launch, spec.launch_queue_depth);
  Calls calls;
  bool blocked = false;
  Instant now;
  LaunchQueue::Call last;
  for (int i = 0; i < kCalls; ++i) {
    last = queue.Issue(now, kernel);
    now = last.returns;
    blocked = blocked || last.blocked;
    if (!blocked) ++calls.returned_unblocked;
    calls.most_in_flight = std::max(calls.most_in_flight, last.in_flight);
  }
  calls.each_us = static_cast<double>(last.ends.count()) / 1e3 / kCalls;
  return calls;
}

TEST_CASE("short kernels are bound by the host, long ones hide it, as on TPU v4",
          "[device][plumbing]") {
  const Spec spec = testing::ShippedDevice("tpu_v4");
  const Calls shorter = CallAgainAndAgain(spec, Nanos{10'800});
  CHECK(shorter.each_us == Approx(76.7).epsilon(0.03));
  CHECK(shorter.returned_unblocked == kCalls);
  const Calls longer = CallAgainAndAgain(spec, Nanos{1'000'800});
  CHECK(longer.each_us == Approx(1004.8).epsilon(0.03));
  CHECK(longer.most_in_flight == 32);
  CHECK(longer.returned_unblocked >= 30);
  CHECK(longer.returned_unblocked <= 35);
}

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
