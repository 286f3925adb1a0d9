#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

// Arrivals at 0, 1, … 9 s of lengths 1 … 10.
constexpr char kTen[] = "t,len\n5,1\n6,2\n7,3\n8,4\n9,5\n10,6\n11,7\n12,8\n13,9\n14,10\n";

Traffic OpenTen(const TempFolder& folder, std::uint64_t limit = 0) {
  return Traffic::Open(folder.Write("ten.csv", kTen),
                       {.map = "arrival=t:s,seq=len", .limit = limit})
      .value();
}

std::vector<std::int64_t> LengthsOf(const Traffic& traffic) {
  const Reading reading = ReadAll(traffic);
  REQUIRE(reading.status.ok());
  return Lengths(reading.arrivals);
}

using List = std::vector<std::int64_t>;

TEST_CASE("the first span holds the arrivals before its end", "[traffic][selection]") {
  const TempFolder folder;
  const Traffic ten = OpenTen(folder);
  CHECK(LengthsOf(ten.First(3s)) == List{1, 2, 3});
  CHECK(LengthsOf(ten.First(Nanos(3'000'000'001))) == List{1, 2, 3, 4});
  CHECK(LengthsOf(ten.First(Nanos(0))).empty());
  CHECK(LengthsOf(ten.First(-1s)).empty());
  CHECK(LengthsOf(ten.First(Nanos::max())).size() == 10);
}

TEST_CASE("the last span holds as much as the first and counts from its own first arrival",
          "[traffic][selection]") {
  const TempFolder folder;
  const Traffic ten = OpenTen(folder);
  const Reading last = ReadAll(ten.Last(3s));
  CHECK(Lengths(last.arrivals) == List{8, 9, 10});
  CHECK(Times(last.arrivals) == List{0, 1'000'000'000, 2'000'000'000});
  CHECK(LengthsOf(ten.Last(Nanos(0))).empty());
  CHECK(LengthsOf(ten.Last(Nanos::max())).size() == 10);
  CHECK(LengthsOf(ten.Last(9s)).size() == 9);
}

TEST_CASE("a limit keeps so many arrivals", "[traffic][selection]") {
  const TempFolder folder;
  CHECK(LengthsOf(OpenTen(folder, 4)) == List{1, 2, 3, 4});
  CHECK(LengthsOf(OpenTen(folder).Limit(2)) == List{1, 2});
  CHECK(LengthsOf(OpenTen(folder).Limit(0)).empty());
  CHECK(LengthsOf(OpenTen(folder).Limit(99)).size() == 10);
}

TEST_CASE("selections of selections hold", "[traffic][selection]") {
  const TempFolder folder;
  const Traffic ten = OpenTen(folder);
  CHECK(LengthsOf(ten.First(6s).Last(2s)) == List{5, 6});
  CHECK(LengthsOf(ten.Last(6s).First(2s)) == List{5, 6});
  CHECK(LengthsOf(ten.Last(6s).Limit(5).Last(2s)) == List{8, 9});
}

TEST_CASE("windows of a selection count what it keeps", "[traffic][selection]") {
  const TempFolder folder;
  const WindowsReading reading = ReadWindows(OpenTen(folder).Last(5s), 2s);
  REQUIRE(reading.windows.size() == 3);
  using Pairs = std::vector<std::pair<std::int64_t, double>>;
  CHECK(reading.windows[0].lengths == Pairs{{6, 1}, {7, 1}});
  CHECK(reading.windows[0].even == Pairs{{6, 1}});
  CHECK(reading.windows[0].odd == Pairs{{7, 1}});
  CHECK(reading.windows[2].lengths == Pairs{{10, 1}});
  CHECK(reading.windows[2].start == Instant(4s));
  CHECK(reading.windows[2].end == Instant(6s));
}

TEST_CASE("empty windows are skipped and halves begin anew in each", "[traffic][selection]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("a.csv", "t,len\n0,5\n0,5\n0,7\n9,5\n"),
                                     {.map = "arrival=t:s,seq=len"});
  const WindowsReading reading = ReadWindows(*traffic, 2s);
  REQUIRE(reading.windows.size() == 2);
  using Pairs = std::vector<std::pair<std::int64_t, double>>;
  CHECK(reading.windows[0].lengths == Pairs{{5, 2}, {7, 1}});
  CHECK(reading.windows[0].even == Pairs{{5, 1}, {7, 1}});
  CHECK(reading.windows[0].odd == Pairs{{5, 1}});
  CHECK(reading.windows[1].start == Instant(8s));
  CHECK(reading.windows[1].even == Pairs{{5, 1}});
  CHECK(reading.windows[1].odd.empty());
}

TEST_CASE("a histogram is cut at its windows, exactly, and nowhere else", "[traffic][selection]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(
      folder.Write("h.csv", "window_start_s,seq,count\n0,1,0.5\n60,2,0.5\n120,3,2\n180,4,3\n"),
      {.requests = 600});
  REQUIRE(traffic.ok());
  const WindowsReading first = ReadWindows(traffic->First(2min), 1min);
  REQUIRE(first.windows.size() == 2);
  CHECK(first.windows[1].lengths.front() == std::pair<std::int64_t, double>(2, 0.5));
  const WindowsReading last = ReadWindows(traffic->Last(2min), 1min);
  REQUIRE(last.windows.size() == 2);
  CHECK(last.windows[0].start == Instant());
  CHECK(last.windows[0].lengths.front() == std::pair<std::int64_t, double>(3, 2));
  CHECK(ReadWindows(traffic->First(90s), 1min).status.code() == StatusCode::kInvalidArgument);
  CHECK(ReadWindows(traffic->Last(90s), 1min).status.code() == StatusCode::kInvalidArgument);
  CHECK(ReadWindows(traffic->First(99min), 1min).windows.size() == 4);
  // 100 requests for every unit of count, however the trace is cut.
  CHECK(ReadAll(traffic->Last(2min)).arrivals.size() == 500);
  CHECK(ReadAll(traffic->First(2min)).arrivals.size() == 100);
  // A limit cuts inside a window: drawn requests are counted.
  const WindowsReading limited = ReadWindows(traffic->Limit(110), 1min);
  REQUIRE(limited.windows.size() == 3);
  CHECK(limited.windows[2].lengths.front() == std::pair<std::int64_t, double>(3, 10));
  CHECK_FALSE(traffic->Limit(110).body()->exact_windows());
}

TEST_CASE("leaving out a part of drawn traffic moves no draw of the rest", "[traffic][selection]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(
      folder.Write("h.csv", "window_start_s,seq,count\n0,1,1\n0,9,1\n60,1,1\n60,9,1\n"),
      {.requests = 1000});
  const std::vector<std::int64_t> whole = Lengths(ReadAll(*traffic, 3).arrivals);
  const std::vector<std::int64_t> last = Lengths(ReadAll(traffic->Last(1min), 3).arrivals);
  REQUIRE(last.size() == 500);
  CHECK(std::equal(last.begin(), last.end(), whole.begin() + 500));
}

TEST_CASE("a digest follows content and selection, not the path", "[traffic][selection]") {
  const TempFolder folder;
  const TempFolder other;
  const Traffic ten = OpenTen(folder);
  CHECK(ten.digest().size() == 64);
  CHECK(OpenTen(other).digest() == ten.digest());
  const auto renamed =
      Traffic::Open(folder.Write("renamed.csv", kTen), {.map = "arrival=t:s,seq=len"});
  CHECK(renamed->digest() == ten.digest());
  std::vector<std::string> digests{ten.digest(),
                                   ten.First(2s).digest(),
                                   ten.First(3s).digest(),
                                   ten.Last(2s).digest(),
                                   ten.Limit(2).digest(),
                                   ten.First(2s).Last(2s).digest(),
                                   ten.Last(2s).First(2s).digest()};
  digests.push_back(
      Traffic::Open(folder.path("ten.csv"), {.map = "arrival=t:ms,seq=len"})->digest());
  digests.push_back(
      Traffic::Open(folder.path("ten.csv"), {.map = "arrival=len:s,seq=t"})->digest());
  digests.push_back(Traffic::Open(folder.Write("ten.csv", std::string(kTen) + "15,1\n"),
                                  {.map = "arrival=t:s,seq=len"})
                        ->digest());
  std::sort(digests.begin(), digests.end());
  CHECK(std::adjacent_find(digests.begin(), digests.end()) == digests.end());
}

TEST_CASE("the digest of a file that is gone is all zeros", "[traffic][selection]") {
  Traffic traffic = [] {
    const TempFolder folder;
    return OpenTen(folder);
  }();
  CHECK(traffic.digest() == std::string(64, '0'));
  CHECK(traffic.First(1s).digest() == std::string(64, '0'));
  CHECK(ReadAll(traffic).status.code() == StatusCode::kNotFound);
}

}  // namespace
}  // namespace leeway::traffic::testing
