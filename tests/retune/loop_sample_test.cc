#include "retune/loop_sample.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/catch.h"

namespace leeway::retune {
namespace {

std::vector<ServedWindow> Windows(const std::vector<std::size_t>& sizes) {
  std::vector<ServedWindow> windows;
  std::int64_t length = 1;
  for (std::size_t w = 0; w < sizes.size(); ++w) {
    ServedWindow window;
    window.from = Instant(1s * static_cast<std::int64_t>(w));
    // Lengths tell requests apart.
    for (std::size_t i = 0; i < sizes[w]; ++i)
      window.requests.push_back({.at = Instant(), .length = length++});
    windows.push_back(std::move(window));
  }
  return windows;
}

PlanOfWindow Plans(const std::vector<int>& which) {
  std::vector<std::shared_ptr<const plan::Body>> made(
      static_cast<std::size_t>(1 + *std::max_element(which.begin(), which.end())));
  for (auto& plan : made) plan = std::make_shared<plan::Body>();
  PlanOfWindow plans;
  for (int i : which) plans.push_back(made[static_cast<std::size_t>(i)]);
  return plans;
}

}  // namespace

TEST_CASE("the sample holds each scored window's share, nothing twice, and nothing of the first",
          "[retune][sample]") {
  const Sample sample(Windows({500, 1000, 3000, 1000}), 500, 9);
  CHECK(sample.size() == 500);
  CHECK(sample.of_window(0) == 0);
  CHECK(sample.of_window(1) == 100);
  CHECK(sample.of_window(2) == 300);
  CHECK(sample.of_window(3) == 100);
  std::set<std::int64_t> lengths;
  const Sample::Timed timed = sample.At(10, Plans({0, 0, 0, 0}));
  for (const LoopRequest& request : timed.requests) {
    CHECK(request.length > 500);
    CHECK(lengths.insert(request.length).second);
  }
}

TEST_CASE("a sample of all there is holds all", "[retune][sample]") {
  const Sample sample(Windows({5, 7, 9}), 20'000, 1);
  CHECK(sample.size() == 16);
}

TEST_CASE("a rate stretches one and the same pattern; plans follow their windows",
          "[retune][sample]") {
  const Sample sample(Windows({10, 400, 400, 400}), 1200, 4);
  const PlanOfWindow plans = Plans({0, 0, 1, 0});
  const Sample::Timed slow = sample.At(10, plans);
  const Sample::Timed fast = sample.At(20, plans);
  REQUIRE(slow.plans.size() == 3);
  CHECK(slow.plans[0].from == Instant());
  CHECK(slow.plans[1].from == slow.requests[400].at);
  CHECK(slow.plans[2].plan == plans[0]);
  for (std::size_t i = 0; i < 1200; ++i) {
    CHECK(std::abs(slow.requests[i].at.count() - 2 * fast.requests[i].at.count()) <= 2);
  }
  // 1,199 exponential gaps of mean 0.1 s: six standard errors are 17 %.
  CHECK(static_cast<double>(slow.requests.back().at.count()) * 1e-9 == Approx(119.9).epsilon(0.18));
}

TEST_CASE("capacity is the bisected rate below which a server keeps the SLO", "[retune][sample]") {
  const Sample sample(Windows({1, 4000}), 4000, 4);
  // Gets through 16 a second, and is late with everything above a rate of 5.
  std::size_t replays = 0;
  const Replay replay = [&](const ReplayRequest& request) -> Result<ReplayOutcome> {
    ++replays;
    ReplayOutcome outcome;
    const auto span = static_cast<double>(request.requests.back().at.count()) * 1e-9;
    const double rate = span > 0 ? static_cast<double>(request.requests.size()) / span : 1e9;
    outcome.latencies.assign(request.requests.size(), rate > 5.0 ? Nanos{101} : Nanos{99});
    outcome.summary.counts.ok = request.requests.size();
    outcome.summary.makespan = Nanos{4000 * 1'000'000'000LL / 16};
    return outcome;
  };
  const auto capacity =
      Capacity::Measure(sample, Plans({0, 0}), Nanos{100}, replay, ReplayRequest())
          .value()
          .rate_rps();
  REQUIRE(capacity);
  CHECK(replays == Capacity::kReplays);
  // The sample's own mean rate is off by its gaps; seven halvings of 16 are 1/8 apart.
  CHECK(*capacity == Approx(5).margin(16.0 / 128 + 0.5));
}

TEST_CASE("one request in a hundred may be late, two may not", "[retune][sample]") {
  const Sample sample(Windows({1, 200}), 200, 4);
  auto capacity_with = [&](std::size_t late) {
    const Replay replay = [&](const ReplayRequest& request) -> Result<ReplayOutcome> {
      ReplayOutcome outcome;
      outcome.latencies.assign(request.requests.size(), Nanos{1});
      std::fill_n(outcome.latencies.begin(), late, Nanos::max());
      outcome.summary.counts.ok = request.requests.size() - late;
      outcome.summary.makespan = 1s;
      return outcome;
    };
    return Capacity::Measure(sample, Plans({0, 0}), Nanos{100}, replay, ReplayRequest())
        .value()
        .rate_rps();
  };
  CHECK(capacity_with(2));
  CHECK_FALSE(capacity_with(3));
}

namespace {

// A server whose windows each keep the SLO up to a rate of their own, and are late with a twentieth
// of their requests above it; like a real one it stops where it was told to.
class WindowedServer {
 public:
  WindowedServer(const Sample& sample, std::vector<double> rates)
      : sample_(sample), rates_(std::move(rates)) {}

  Result<ReplayOutcome> operator()(const ReplayRequest& request) const {
    ReplayOutcome outcome;
    const auto span = static_cast<double>(request.requests.back().at.count()) * 1e-9;
    const double rate = span > 0.001 ? static_cast<double>(request.requests.size()) / span : 1e9;
    std::uint64_t late = 0;
    outcome.latencies.assign(request.requests.size(), Nanos::max());
    for (std::size_t i = 0; i < request.requests.size(); ++i) {
      const bool misses = rate > rates_[sample_.window_of(i)] && i % 20 == 0;
      outcome.latencies[i] = misses ? Nanos{101} : Nanos{99};
      if (request.late_after == Nanos::max()) continue;
      if (misses && ++late > request.late_limit) {
        outcome.stopped = true;
        return outcome;
      }
    }
    outcome.summary.counts.ok = request.requests.size();
    outcome.summary.makespan =
        Nanos{static_cast<std::int64_t>(request.requests.size()) * 1'000'000'000LL / 16};
    return outcome;
  }

 private:
  const Sample& sample_;
  std::vector<double> rates_;  // by window
};

Capacity Measured(const Sample& sample, const std::vector<double>& rates) {
  const PlanOfWindow plans = Plans(std::vector<int>(rates.size(), 0));
  return Capacity::Measure(sample, plans, Nanos{100}, WindowedServer(sample, rates),
                           ReplayRequest())
      .value();
}

}  // namespace

TEST_CASE("windows that all carry the same leave no doubt but the bisection's",
          "[retune][sample]") {
  const std::vector<std::size_t> sizes(13, 400);
  const Sample sample(Windows(sizes), 4800, 4);
  const Capacity capacity = Measured(sample, std::vector<double>(13, 5.0));
  const LoopFigure figure = capacity.figure(1).value();
  CHECK(figure.value == capacity.rate_rps());
  REQUIRE(figure.interval);
  CHECK(figure.interval->first == figure.value);
  // The next rate that was tried: seven halvings of 16 are 1/8 apart.
  CHECK(figure.interval->second == Approx(figure.value + 16.0 / 128).epsilon(1e-9));
  const LoopFigure same = Capacity::Gain(capacity, capacity, 1).value();
  CHECK(same.value == 0);
  CHECK(same.interval == std::pair(0.0, 0.0));
  const Capacity more = Measured(sample, std::vector<double>(13, 5.5));
  const LoopFigure gain = Capacity::Gain(capacity, more, 1).value();
  REQUIRE(gain.interval);
  CHECK(gain.interval->first < gain.value);
  CHECK(gain.value < gain.interval->second);
  CHECK(gain.interval->second - gain.interval->first < 0.1);
}

TEST_CASE("the more windows differ, the less sure their capacity is; paired, twice is twice",
          "[retune][sample]") {
  const std::vector<std::size_t> sizes(41, 200);
  const Sample sample(Windows(sizes), 8000, 4);
  // A few windows at the edge decide: a fifth of the requests make one late in a hundred.
  std::vector<double> rates(41, 9.0), doubled(41, 9.0);
  for (std::size_t w = 1; w < 41; ++w) {
    rates[w] = 2.0 + 0.1 * static_cast<double>(w * 7 % 40);
    doubled[w] = 2 * rates[w];
  }
  const Capacity before = Measured(sample, rates);
  const Capacity after = Measured(sample, doubled);
  const LoopFigure carried = before.figure(3).value();
  REQUIRE(carried.interval);
  CHECK(carried.interval->first < carried.value);
  CHECK(carried.value < carried.interval->second);
  const LoopFigure gain = Capacity::Gain(before, after, 3).value();
  CHECK(gain.value == Approx(1).margin(0.15));
  REQUIRE(gain.interval);
  CHECK(gain.interval->first <= gain.value);
  CHECK(gain.value <= gain.interval->second);
  CHECK(gain.interval->first > 0);
}

TEST_CASE("too few windows have no interval of capacity", "[retune][sample]") {
  const Sample sample(Windows({1, 500, 500, 500}), 1500, 4);
  const Capacity capacity = Measured(sample, {5, 5, 5, 5});
  REQUIRE(capacity.figure(1));
  CHECK_FALSE(capacity.figure(1)->interval);
  CHECK_FALSE(Capacity::Gain(capacity, Measured(sample, {6, 6, 6, 6}), 1)->interval);
}

}  // namespace leeway::retune
