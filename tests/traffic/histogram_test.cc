#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/traffic/support/distance.h"
#include "tests/traffic/support/files.h"
#include "traffic/draw.h"

namespace leeway::traffic::testing {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, double>>;

// Hours 1, 2 and 5 of a service; two rows of hour 2 are out of order and one length comes twice.
constexpr char kHours[] =
    "window_start_s,seq,count\n"
    "3600,9,0.25\n"
    "3600,11,0.75\n"
    "7200,20,1.5\n"
    "7200,10,4\n"
    "7200,20,0.5\n"
    "7200,30,0\n"
    "18000,7,2\n";

Traffic OpenHours(const TempFolder& folder, std::uint64_t requests = 0) {
  return Traffic::Open(folder.Write("h.csv", kHours), {.requests = requests}).value();
}

TEST_CASE("a length histogram gives its windows exactly, counted from the first",
          "[traffic][histogram]") {
  const TempFolder folder;
  const Traffic traffic = OpenHours(folder);
  CHECK(traffic.dims() == std::vector<std::string>{"seq"});
  CHECK(traffic.body()->declared_span() == Nanos(5h));
  CHECK(traffic.body()->exact_windows());
  const WindowsReading reading = ReadWindows(traffic, 1h);
  REQUIRE(reading.status.ok());
  REQUIRE(reading.windows.size() == 3);
  CHECK(reading.windows[0].start == Instant());
  CHECK(reading.windows[0].end == Instant(1h));
  CHECK(reading.windows[0].lengths == Pairs{{9, 0.25}, {11, 0.75}});
  CHECK(reading.windows[0].even.empty());
  CHECK(reading.windows[1].lengths == Pairs{{10, 4}, {20, 2}});
  CHECK(reading.windows[2].start == Instant(4h));
  CHECK(reading.windows[2].lengths == Pairs{{7, 2}});
}

TEST_CASE("windows of a histogram merge to multiples of its own and to nothing else",
          "[traffic][histogram]") {
  const TempFolder folder;
  const Traffic traffic = OpenHours(folder);
  const WindowsReading merged = ReadWindows(traffic, 2h);
  REQUIRE(merged.windows.size() == 2);
  CHECK(merged.windows[0].lengths == Pairs{{9, 0.25}, {10, 4}, {11, 0.75}, {20, 2}});
  CHECK(merged.windows[1].start == Instant(4h));
  CHECK(merged.windows[1].end == Instant(6h));
  const Status refused = ReadWindows(traffic, 90min).status;
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(std::string(refused.message()).find("is not a multiple of the histogram's") !=
        std::string::npos);
  CHECK(ReadWindows(traffic, Nanos(0)).status.code() == StatusCode::kInvalidArgument);
  CHECK(ReadWindows(traffic, 1h, 1, 1).status.code() == StatusCode::kInvalidArgument);
}

TEST_CASE("one window alone lasts an hour", "[traffic][histogram]") {
  const TempFolder folder;
  const auto traffic =
      Traffic::Open(folder.Write("h.csv", "window_start_s,seq,count\n60,9,1\n60,8,1\n"));
  REQUIRE(traffic.ok());
  CHECK(traffic->body()->declared_span() == Nanos(1h));
}

TEST_CASE("an hour that is listed without requests still is an hour", "[traffic][histogram]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(
      folder.Write("h.csv", "window_start_s,seq,count\n0,9,0\n60,9,1\n120,9,0\n180,9,1\n"),
      {.requests = 10});
  REQUIRE(traffic.ok());
  CHECK(traffic->body()->declared_span() == Nanos(4min));
  const WindowsReading reading = ReadWindows(*traffic, 1min);
  REQUIRE(reading.windows.size() == 2);
  CHECK(reading.windows[0].start == Instant(1min));
  CHECK(ReadAll(*traffic).arrivals.size() == 10);
}

TEST_CASE("a histogram without requests is traffic without arrivals", "[traffic][histogram]") {
  const TempFolder folder;
  const std::string bytes = GENERATE(as<std::string>(), "window_start_s,seq,count\n",
                                     "window_start_s,seq,count\n0,5,0\n");
  const auto traffic = Traffic::Open(folder.Write("h.csv", bytes));
  REQUIRE(traffic.ok());
  const Reading reading = ReadAll(*traffic);
  CHECK(reading.status.ok());
  CHECK(reading.arrivals.empty());
  CHECK(ReadWindows(*traffic, 1h).windows.empty());
}

TEST_CASE("drawn arrivals are sorted, lie in their windows and are apportioned exactly",
          "[traffic][histogram]") {
  const TempFolder folder;
  const Traffic traffic = OpenHours(folder, 9000);
  const Reading reading = ReadAll(traffic, 5);
  REQUIRE(reading.status.ok());
  const std::vector<std::int64_t> times = Times(reading.arrivals);
  CHECK(std::is_sorted(times.begin(), times.end()));
  std::map<std::int64_t, int> counts;
  for (const std::int64_t time : times) ++counts[time / Nanos(1h).count()];
  // Totals are 1, 6 and 2 of 9.
  CHECK(counts == std::map<std::int64_t, int>{{0, 1000}, {1, 6000}, {4, 2000}});
}

TEST_CASE("drawn lengths follow the window's histogram and drawn times are uniform",
          "[traffic][histogram]") {
  constexpr double kAlpha = 1e-7;
  const TempFolder folder;
  const Reading reading = ReadAll(OpenHours(folder, 9000), 5);
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> times;
  for (const Arrival& arrival : reading.arrivals) {
    if (arrival.at < Instant(1h) || arrival.at >= Instant(2h)) continue;
    lengths.push_back(arrival.dims[0]);
    times.push_back((arrival.at - Instant(1h)).count());
  }
  const double bound = DkwBound(lengths.size(), kAlpha);
  CHECK(KolmogorovDistance(lengths, [](std::int64_t x) { return x < 20 ? 4.0 / 6 : 1; }) < bound);
  CHECK(KolmogorovDistance(times, [](std::int64_t t) {
          return static_cast<double>(t) / static_cast<double>(Nanos(1h).count());
        }) < bound);
}

TEST_CASE("a seed decides the draws of a histogram and nothing else", "[traffic][histogram]") {
  const TempFolder folder;
  const Traffic traffic = OpenHours(folder, 500);
  const std::string one = ToText(ReadAll(traffic, 1).arrivals);
  CHECK(ToText(ReadAll(traffic, 1).arrivals) == one);
  CHECK(ToText(ReadAll(traffic, 2).arrivals) != one);
  CHECK(OpenHours(folder).body()->digest() != traffic.body()->digest());
}

TEST_CASE("a histogram draws a million requests unless told otherwise", "[traffic][histogram]") {
  const TempFolder folder;
  CHECK(ReadAll(OpenHours(folder)).arrivals.size() == kDefaultRequests);
}

TEST_CASE("a row of a histogram that cannot be read is named by file and line",
          "[traffic][histogram]") {
  struct Case {
    const char* rows;
    const char* error;
  };
  const Case c = GENERATE(values<Case>({
      {"0,5,1\n\n3600,0,1\n", "h.csv:4: seq \"0\" is not an integer of at least 1"},
      {"0,5.5,1\n", "h.csv:2: seq \"5.5\" is not an integer of at least 1"},
      {"0,5,-1\n", "h.csv:2: count \"-1\" is not a finite number of at least 0"},
      {"0,5,nan\n", "h.csv:2: count \"nan\" is not a finite number of at least 0"},
      {"0,5,inf\n", "h.csv:2: count \"inf\" is not a finite number of at least 0"},
      {"0,5,1e999\n", "h.csv:2: count \"1e999\" is not a finite number of at least 0"},
      {"0,5,\n", "h.csv:2: count \"\" is not a finite number of at least 0"},
      {"-60,5,1\n", "h.csv:2: window_start_s \"-60\" is not a number of seconds from 0 to 2^63 ns"},
      {"x,5,1\n", "h.csv:2: window_start_s \"x\" is not a number of seconds from 0 to 2^63 ns"},
      {"3600,5,1\n0,5,1\n", "h.csv:3: window_start_s \"0\" is before the window of the row before"},
      {"0,5\n", "h.csv:2: 2 fields where the header has 3"},
      {"0,5,1\n9223372036,5,1\n", "h.csv: the last window ends after 2^63 ns"},
  }));
  CAPTURE(c.rows);
  const TempFolder folder;
  const std::string path =
      folder.Write("h.csv", std::string("window_start_s,seq,count\n") + c.rows);
  CHECK(ErrorOf(folder, path) == std::string("INVALID_ARGUMENT: ") + c.error);
  const auto traffic = Traffic::Open(path);
  REQUIRE(traffic.ok());
  CHECK_FALSE(traffic->body()->declared_span());
  CHECK(ReadWindows(*traffic, 1h).status.code() == StatusCode::kInvalidArgument);
}

TEST_CASE("another header is no length histogram", "[traffic][histogram]") {
  const TempFolder folder;
  CHECK(ErrorOf(folder, folder.Write("h.csv", "start,seq,count\n0,5,1\n"),
                {.format = "length-histogram"}) ==
        "INVALID_ARGUMENT: h.csv:1: not a length histogram: its header must be "
        "window_start_s,<dim>,count, e.g. window_start_s,seq,count");
}

}  // namespace
}  // namespace leeway::traffic::testing
