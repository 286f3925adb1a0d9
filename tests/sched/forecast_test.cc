#include "sched/forecast.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::sched {
namespace {

RunLoad Chain(std::int64_t work, std::uint64_t urgency = 0) { return {urgency, Nanos{work}, 1}; }

bool InTime(std::size_t cores, std::size_t slots, const std::vector<RunLoad>& runs,
            std::int64_t horizon) {
  Forecast forecast(cores, slots, Nanos{horizon});
  for (const RunLoad& run : runs) {
    if (!forecast.Add(run)) return false;
  }
  return forecast.LastEndsInTime();
}

// The last of the runs ends at `end` and not a nanosecond before.
bool EndsAt(std::size_t cores, std::size_t slots, const std::vector<RunLoad>& runs,
            std::int64_t end) {
  return InTime(cores, slots, runs, end) && !InTime(cores, slots, runs, end - 1);
}

}  // namespace

TEST_CASE("chains on as many cores as run slots end as a queue of so many servers has it",
          "[sched][forecast][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::size_t servers = 1 + prng.Below(6);
  std::vector<std::int64_t> free(servers, 0);
  std::vector<RunLoad> runs;
  for (std::size_t i = 1 + prng.Below(40); i-- > 0;) {
    const auto work = 1 + static_cast<std::int64_t>(prng.Below(1000));
    runs.push_back(Chain(work));
    std::int64_t& server = *std::min_element(free.begin(), free.end());
    server += work;
    CHECK(EndsAt(servers, servers, runs, server));
  }
}

TEST_CASE("a run alone takes its longest path, or its work on all cores if that is more",
          "[sched][forecast]") {
  // 900 ns of work along a path of 300 ns: three cores on average.
  const RunLoad wide{0, Nanos{900}, 3};
  CHECK(EndsAt(8, 8, {wide}, 300));
  CHECK(EndsAt(3, 3, {wide}, 300));
  CHECK(EndsAt(2, 2, {wide}, 450));
  CHECK(EndsAt(1, 1, {wide}, 900));
}

TEST_CASE("a more urgent run takes the cores, equally urgent ones share them",
          "[sched][forecast]") {
  CHECK(EndsAt(1, 2, {Chain(1000, 5), Chain(100, 4)}, 100));
  CHECK(EndsAt(1, 2, {Chain(1000, 4), Chain(100, 4)}, 200));
  CHECK(EndsAt(1, 2, {Chain(1000, 3), Chain(100, 4)}, 1100));
  // With one slot it waits for the run that holds it, however urgent it is.
  CHECK(EndsAt(1, 1, {Chain(1000, 5), Chain(100, 4)}, 1100));
}

TEST_CASE("a run without work ends as it begins", "[sched][forecast]") {
  CHECK(InTime(1, 1, {Chain(0)}, 0));
  CHECK(EndsAt(1, 1, {Chain(70), Chain(0)}, 70));
}

}  // namespace leeway::sched
