#include "retune/loop_load.h"

#include <vector>

#include "tests/catch.h"
#include "tests/retune/support/loop_inputs.h"

namespace leeway::retune {
namespace {

using testing::DrawnHours;
using testing::Recorded;
using testing::SourceOptions;

// A server that works through `per_second` lengths a second.
Result<std::vector<double>> ThroughputOf(const std::vector<LoopRequests>& samples,
                                         double per_second) {
  std::vector<double> throughput(samples.size(), 0);
  for (std::size_t w = 1; w < samples.size(); ++w) {
    double sum = 0;
    for (const LoopRequest& request : samples[w]) sum += static_cast<double>(request.length);
    throughput[w] = per_second * 1e-9 * static_cast<double>(samples[w].size()) / sum;
  }
  return throughput;
}

ServedTraffic Load(LoopSource& source, LoadOptions::Rate rate, std::uint64_t least = 100) {
  LoadOptions options;
  options.rate = rate;
  options.load = 0.6;
  options.min_requests = least;
  options.seed = 5;
  return LoadTraffic(
             source, options, [](const LoopRequests&) { return Status(); },
             [](const std::vector<LoopRequests>& samples) { return ThroughputOf(samples, 50'000); })
      .value();
}

}  // namespace

TEST_CASE("flat: every window is offered the same load, and together they hold all requests",
          "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(
          DrawnHours({{9, 50, 60}, {1, 100, 200}, {7, 900, 1000}, {3, 10, 20}}, 20'000),
          SourceOptions())
          .value();
  const ServedTraffic traffic = Load(source, LoadOptions::Rate::kFlat);
  REQUIRE(traffic.windows.size() == 4);
  std::size_t total = traffic.windows[0].requests.size();
  // Of equal hours, a quarter.
  CHECK(total == 5000);
  for (std::size_t w = 1; w < 4; ++w) {
    total += traffic.windows[w].requests.size();
    // Whole requests: half of one of the fewest, a few hundred, is what rounding moves.
    CHECK(traffic.load[w] == Approx(0.6).epsilon(0.005));
  }
  CHECK(total == 20'000);
  CHECK(traffic.requests.size() == 15'000);
}

TEST_CASE("requests arrive in their window of device time, in order, as if evenly",
          "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(DrawnHours({{1, 50, 60}, {1, 100, 200}, {1, 300, 400}}, 30'000),
                       SourceOptions())
          .value();
  const ServedTraffic traffic = Load(source, LoadOptions::Rate::kFlat);
  CHECK(traffic.windows[1].from == Instant());
  for (std::size_t w = 1; w < traffic.windows.size(); ++w) {
    const auto& requests = traffic.windows[w].requests;
    double sum = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CHECK(requests[i].at >= traffic.windows[w].from);
      CHECK(requests[i].at <= traffic.ends[w]);
      if (i > 0) CHECK(requests[i - 1].at <= requests[i].at);
      sum += static_cast<double>((requests[i].at - traffic.windows[w].from).count());
    }
    const auto length = static_cast<double>((traffic.ends[w] - traffic.windows[w].from).count());
    // The mean of n uniform draws is within six of its standard errors 1/√(12n) of a half.
    const auto n = static_cast<double>(requests.size());
    CHECK(sum / n / length == Approx(0.5).margin(6 / std::sqrt(12 * n)));
    CHECK(length == Approx(3600e9 / traffic.compression));
  }
}

TEST_CASE("flat: windows that hold too few are merged, and then hold enough", "[retune][loop]") {
  // The second hour is so slow to serve that its share of 3,000 requests is about 120; with the
  // third it is about 700.
  LoopSource source =
      LoopSource::Open(DrawnHours({{1, 5, 6}, {1, 60, 70}, {1, 5, 6}, {1, 5, 6}}, 4000),
                       SourceOptions())
          .value();
  const ServedTraffic traffic = Load(source, LoadOptions::Rate::kFlat, 200);
  REQUIRE(traffic.windows.size() == 3);
  for (std::size_t w = 1; w < 3; ++w) CHECK(traffic.windows[w].requests.size() >= 200);
}

TEST_CASE("recorded: arrivals keep their proportions, and the mean load is what was asked for",
          "[retune][loop]") {
  std::vector<testing::Call> calls;
  for (int i = 0; i < 4000; ++i) {
    const int hour = i / 1000;
    // Twice as dense in the third hour: 1,000 calls in its first half.
    const double within = (i % 1000) * (hour == 2 ? 1.8 : 3.6);
    calls.push_back({hour * 3600.0 + within, 100});
  }
  LoopSource source = LoopSource::Open(Recorded(calls), SourceOptions()).value();
  const ServedTraffic traffic = Load(source, LoadOptions::Rate::kRecorded);
  REQUIRE(traffic.windows.size() == 4);
  CHECK((traffic.load[1] + traffic.load[2] + traffic.load[3]) / 3 == Approx(0.6));
  CHECK(traffic.requests.size() == 3000);
  const auto third = traffic.windows[2].requests;
  CHECK(static_cast<double>((third[500].at - third[0].at).count()) ==
        Approx(900e9 / traffic.compression));
}

TEST_CASE("recorded: arrivals that come evenly load every window alike, the last one too",
          "[retune][loop]") {
  std::vector<testing::Call> calls;
  for (int i = 0; i < 12'000; ++i) calls.push_back({i * 0.05, 100});
  for (const Nanos length : {Nanos{0}, Nanos{90s}}) {
    auto options = SourceOptions();
    options.window = length;
    LoopSource source = LoopSource::Open(Recorded(calls), options).value();
    const ServedTraffic traffic = Load(source, LoadOptions::Rate::kRecorded);
    REQUIRE(traffic.windows.size() >= 6);
    for (std::size_t w = 1; w < traffic.windows.size(); ++w) {
      CHECK(traffic.load[w] == Approx(0.6).epsilon(0.01));
    }
  }
}

TEST_CASE("windows of no time between them stay apart in device time", "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(DrawnHours({{1, 5, 6}, {0, 1, 1}, {1, 5, 6}, {0, 1, 1}, {1, 5, 6}}, 3000),
                       SourceOptions())
          .value();
  const ServedTraffic traffic = Load(source, LoadOptions::Rate::kFlat);
  REQUIRE(traffic.windows.size() == 3);
  CHECK(traffic.windows[1].from == Instant());
  // An hour passes in which nothing comes.
  CHECK(static_cast<double>((traffic.windows[2].from - traffic.ends[1]).count()) ==
        Approx(3600e9 / traffic.compression));
}

}  // namespace leeway::retune
