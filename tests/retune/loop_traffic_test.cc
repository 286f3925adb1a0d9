#include "retune/loop_traffic.h"

#include <numeric>
#include <set>

#include "tests/catch.h"
#include "tests/retune/support/loop_inputs.h"

namespace leeway::retune {

using testing::Call;
using testing::DrawnHours;
using testing::Recorded;
using testing::SourceOptions;

TEST_CASE("a drawn window gives as many requests as it is asked for, of its own lengths",
          "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(DrawnHours({{1, 10, 20}, {5, 100, 200}, {1, 1000, 2000}}, 900),
                       SourceOptions())
          .value();
  REQUIRE(source.windows().size() == 3);
  CHECK(source.requests() == 900);
  const auto drawn = source.Draw({7, 300, 1}, 3).value();
  CHECK(drawn[0].size() == 7);
  CHECK(drawn[1].size() == 300);
  CHECK(drawn[2].size() == 1);
  for (const LoopRequest& request : drawn[1]) {
    CHECK(request.length >= 100);
    CHECK(request.length <= 200);
  }
  // Other windows' counts move no draw.
  const auto others = source.Draw({1, 300, 50}, 3).value();
  for (std::size_t i = 0; i < 300; ++i) CHECK(others[1][i].length == drawn[1][i].length);
}

TEST_CASE("merging keeps every hour, leaves none below the least, and never the first alone",
          "[retune][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<testing::Hour> hours;
  const std::size_t count = 2 + prng.Below(12);
  for (std::size_t h = 0; h < count; ++h) {
    hours.push_back({1 + static_cast<double>(prng.Below(20)), 1, 100});
  }
  LoopSource source = LoopSource::Open(DrawnHours(hours, 5000), SourceOptions()).value();
  std::vector<double> expected;
  double total = 0;
  for (const LoopSource::Window& window : source.windows()) {
    expected.push_back(window.expected);
    total += window.expected;
  }
  CHECK(total == Approx(5000));
  const double least = static_cast<double>(1 + prng.Below(3000));
  source.Merge(0, least, expected);
  double merged = 0;
  Instant at;
  for (const LoopSource::Window& window : source.windows()) {
    CHECK(window.from == at);
    at = window.to;
    merged += window.expected;
    if (source.windows().size() > 1) CHECK(window.expected >= least - 1e-9);
  }
  CHECK(at == Instant(1h * static_cast<std::int64_t>(count)));
  CHECK(merged == Approx(5000));
}

TEST_CASE("recorded traffic is cut from its first arrival, without its empty windows",
          "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(Recorded({{0, 5}, {10, 6}, {3 * 3600.0, 7}, {3 * 3600.0 + 1, 8}}),
                       SourceOptions())
          .value();
  REQUIRE(source.windows().size() == 2);
  CHECK(source.windows()[1].from == Instant(3h));
  CHECK_FALSE(source.drawn());
  const auto own = source.AtOwnRates().value();
  CHECK(own[0].size() == 2);
  CHECK(own[1][1].length == 8);
  // Draws with replacement come from the window's own requests.
  const auto drawn = source.Draw({0, 50}, 1).value();
  std::set<std::int64_t> lengths;
  for (const LoopRequest& request : drawn[1]) lengths.insert(request.length);
  CHECK(lengths == std::set<std::int64_t>{7, 8});
}

TEST_CASE("lengths outside the domain are clamped and counted, or refused with their place",
          "[retune][loop]") {
  auto options = SourceOptions();
  const auto body = Recorded({{0, 5}, {5, 9000}, {4000, 7}});
  LoopSource source = LoopSource::Open(body, options).value();
  CHECK(source.clamped() == 1);
  CHECK(source.seen() == 3);
  CHECK(source.AtOwnRates().value()[0][1].length == 4096);
  options.outside = LoopSource::Options::Outside::kRefuse;
  const auto refused = LoopSource::Open(body, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == StatusCode::kOutOfRange);
  CHECK(refused.status().message() ==
        "request at 5000000000 ns: dim \"seq\" is 9000, outside its domain [1, 4096]");
}

TEST_CASE("traffic that fills one window, or has no span, is refused in words", "[retune][loop]") {
  const auto one = LoopSource::Open(Recorded({{0, 5}, {5, 9}}), SourceOptions());
  REQUIRE_FALSE(one.ok());
  CHECK(one.status().code() == StatusCode::kFailedPrecondition);
  CHECK(one.status().message().find("choose a shorter window") != std::string::npos);
  auto no_window = SourceOptions();
  no_window.window = Nanos{0};
  const auto none = LoopSource::Open(Recorded({}), no_window);
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("drawn traffic is cut into whole windows of its own, or the window is refused",
          "[retune][loop]") {
  auto options = SourceOptions();
  options.window = Nanos{0};
  // A sixth of three hours is less than the hours that it is drawn from.
  const auto body = DrawnHours({{1, 5, 9}, {1, 5, 9}, {1, 5, 9}}, 900);
  CHECK(LoopSource::Open(body, options)->window() == 1h);
  options.window = 90min;
  const auto refused = LoopSource::Open(body, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().message() ==
        "hours: a window of 1.5 h is not a multiple of the traffic's own, 1 h");
}

TEST_CASE("the default window cuts recorded traffic into six, and a last one ends with the traffic",
          "[retune][loop]") {
  std::vector<testing::Call> calls;
  for (int i = 0; i < 6007; ++i) calls.push_back({i * 0.1, 100});
  auto options = SourceOptions();
  options.window = Nanos{0};
  const LoopSource sixths = LoopSource::Open(Recorded(calls), options).value();
  REQUIRE(sixths.windows().size() == 6);
  options.window = 90s;
  const LoopSource cut = LoopSource::Open(Recorded(calls), options).value();
  REQUIRE(cut.windows().size() == 7);
  for (const LoopSource* source : {&sixths, &cut}) {
    for (const LoopSource::Window& window : source->windows()) {
      // Ten a second, but for the request at either end.
      const double seconds = static_cast<double>(window.length().count()) * 1e-9;
      CHECK(window.expected == Approx(10 * seconds).margin(1.5));
    }
    // Ten a second for 60.7 s.
    if (source == &cut) CHECK(cut.windows().back().length() == 60s + 700ms);
  }
}

TEST_CASE("what is drawn to be measured is not counted", "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(DrawnHours({{1, 5, 9}, {1, 9000, 9000}}, 900), SourceOptions()).value();
  REQUIRE(source.Sampled({0, 500}, 1).value()[1].size() == 500);
  CHECK(source.seen() == 0);
  CHECK(source.clamped() == 0);
  REQUIRE(source.Draw({10, 30}, 1).value()[1].size() == 30);
  CHECK(source.seen() == 40);
  CHECK(source.clamped() == 30);
}

TEST_CASE("a request that is drawn twice is in one half of its window", "[retune][loop]") {
  LoopSource source =
      LoopSource::Open(Recorded({{0, 5}, {3600, 7}, {3601, 8}}), SourceOptions()).value();
  const TrafficWindow window = LengthsOf(source.Draw({0, 400}, 3).value()[1]);
  CHECK(window.lengths.total() == 400);
  CHECK(window.even.size() == 1);
  CHECK(window.odd.size() == 1);
}

TEST_CASE("reading stops when the caller says so", "[retune][loop]") {
  std::vector<Call> calls;
  for (int i = 0; i < 100'000; ++i) calls.push_back({static_cast<double>(i), 5});
  auto options = SourceOptions();
  options.polled = [] { return false; };
  const auto stopped = LoopSource::Open(Recorded(calls), options);
  REQUIRE_FALSE(stopped.ok());
  CHECK(stopped.status().code() == StatusCode::kCancelled);
}

}  // namespace leeway::retune
