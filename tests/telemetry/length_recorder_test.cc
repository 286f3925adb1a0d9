#include "telemetry/length_recorder.h"

#include <map>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::telemetry {
namespace {

Instant At(std::int64_t ns) { return Instant(Nanos(ns)); }

LengthRecorder::Options WindowsOf(std::int64_t ns) {
  LengthRecorder::Options options;
  options.window = Nanos(ns);
  return options;
}

}  // namespace

TEST_CASE("every length is in the window of its instant, also when it comes late",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  LengthRecorder::Options options = WindowsOf(100);
  options.origin_ns = static_cast<std::int64_t>(prng.Below(1000)) - 500;
  LengthRecorder recorder(options);
  const LengthRecorder::Series series[] = {recorder.AddSeries("main", "seq", "chat"),
                                           recorder.AddSeries("main", "seq", "bulk")};
  std::map<std::pair<std::size_t, std::int64_t>, std::map<std::int64_t, std::uint64_t>> oracle;
  std::int64_t now = 0;
  for (int i = 0; i < 500; ++i) {
    now += static_cast<std::int64_t>(prng.Below(40));
    const std::int64_t at =
        now - static_cast<std::int64_t>(prng.Below(8) == 0 ? prng.Below(300) : 0);
    const auto length = static_cast<std::int64_t>(prng.Below(50));
    const std::size_t which = prng.Below(2);
    recorder.Record(series[which], At(at), length);
    const std::int64_t absolute = options.origin_ns + at;
    // Floor of what may be negative.
    ++oracle[{which, (absolute + 100'000) / 100 * 100 - 100'000}][length];
  }
  std::size_t i = 0;
  const std::vector<LengthWindow> windows = recorder.Windows();
  REQUIRE(windows.size() == oracle.size());
  for (const auto& [key, counts] : oracle) {
    const LengthWindow& window = windows[i++];
    REQUIRE(window.stream == (key.first == 0 ? "chat" : "bulk"));
    REQUIRE(window.start_ns == key.second);
    REQUIRE(window.end_ns == key.second + 100);
    std::map<std::int64_t, std::uint64_t> found;
    for (const LengthCount& entry : window.counts.counts) found[entry.length] = entry.count;
    REQUIRE(found == counts);
  }
  REQUIRE(recorder.dropped() == 0);
}

TEST_CASE("only the newest windows are kept, and what is dropped is counted", "[telemetry][unit]") {
  LengthRecorder::Options options = WindowsOf(10);
  options.max_windows = 3;
  LengthRecorder recorder(options);
  const LengthRecorder::Series series = recorder.AddSeries("main", "seq", "chat");
  for (int i = 0; i < 10; ++i) {
    recorder.Record(series, At(i * 10), 1);
    recorder.Record(series, At(i * 10), 2);
  }
  REQUIRE(recorder.Windows().size() == 3);
  REQUIRE(recorder.Windows().front().start_ns == 70);
  REQUIRE(recorder.dropped() == 14);
  recorder.Record(series, At(5), 1);
  REQUIRE(recorder.Windows().size() == 3);
  REQUIRE(recorder.dropped() == 15);
}

TEST_CASE("a window coarsens by itself, and the next begins exact again", "[telemetry][unit]") {
  LengthRecorder::Options options = WindowsOf(10);
  options.counts.max_distinct = 4;
  LengthRecorder recorder(options);
  const LengthRecorder::Series series = recorder.AddSeries("main", "seq", "chat");
  for (int i = 0; i < 8; ++i) recorder.Record(series, At(i), i);
  recorder.Record(series, At(10), 7);
  const std::vector<LengthWindow> windows = recorder.Windows();
  REQUIRE(windows.size() == 2);
  REQUIRE(windows[0].counts.quantum == 4);
  REQUIRE(windows[0].counts.total() == 8);
  REQUIRE(windows[1].counts.quantum == 1);
}

}  // namespace leeway::telemetry
