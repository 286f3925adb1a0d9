#include "report/loop_reading.h"

#include "support/sample_loop.h"
#include "tests/catch.h"

namespace leeway::report {
namespace {

using testing::SampleLoop;

TEST_CASE("groups of windows lose no window, request or work", "[report]") {
  const int windows = GENERATE(1, 2, 39, 40, 41, 335);
  CAPTURE(windows);
  const LoopSummary summary = SampleLoop(windows);
  const std::vector<WindowGroup> groups = GroupedWindows(summary, 40);
  CHECK(groups.size() <= 40);
  WindowGroup sum;
  for (const WindowGroup& group : groups) {
    sum.windows += group.windows;
    sum.requests += group.requests;
    sum.frozen_work += group.frozen_work;
    sum.overloaded += group.overloaded;
    sum.compiles += group.compiles;
    sum.switches += group.switches;
  }
  CHECK(sum.windows == static_cast<std::uint64_t>(windows));
  CHECK(sum.requests == 1000 * sum.windows);
  CHECK(sum.frozen_work == windows * Nanos(10s));
  CHECK(sum.overloaded == 1);
  if (windows >= 5) {
    CHECK(sum.compiles == 1);
    CHECK(sum.switches == 1);
  }
}

TEST_CASE("windows that follow each other make a row while there are few", "[report]") {
  const std::vector<WindowGroup> groups = GroupedWindows(SampleLoop(10), 40);
  REQUIRE(groups.size() == 10);
  CHECK(groups[2].from == Instant(3h));
  CHECK(groups[2].compiles == 1);
  CHECK(groups[4].switches == 1);
  CHECK(groups[0].frozen_accuracy == Approx(0.6));
}

TEST_CASE("no window, no rows", "[report]") {
  CHECK(GroupedWindows(LoopSummary(), 40).empty());
  CHECK(ScoredWindows(LoopSummary()) == 0);
}

TEST_CASE("changes are ordered by their size and lose no nanosecond", "[report]") {
  Attribution before, after;
  before[Cause::kPadding] = 10ms;
  after[Cause::kPadding] = 8ms;
  before[Cause::kCapacity] = 5ms;
  after[Cause::kCapacity] = 9ms;
  before[Cause::kPlanned] = after[Cause::kPlanned] = 7ms;
  const std::vector<CauseChange> changes = Changes(before, after);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].cause == Cause::kCapacity);
  CHECK(changes[1].cause == Cause::kPadding);
  Nanos sum{0};
  for (const CauseChange& change : changes) sum += change.change();
  CHECK(sum == after.total() - before.total());
}

}  // namespace
}  // namespace leeway::report
