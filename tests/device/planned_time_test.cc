#include <vector>

#include "device/step_cost.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using Dims = std::vector<std::int64_t>;
using Range = Prediction::Range;

plan::ProfilePoint Point(Dims dims, std::int64_t p50) {
  return {.dims = std::move(dims), .p50_ns = p50, .p90_ns = 0, .dram_bytes = 10 * p50};
}

TEST_CASE("without a profile or a cost a plan predicts nothing", "[device][unit]") {
  CHECK_FALSE(PlannedTime(plan::Group(), Dims{4}).has_value());
}

TEST_CASE("between points the prediction is multilinear", "[device][unit]") {
  plan::Group group;
  // 100·seq + 7·batch + seq·batch is bilinear: met everywhere inside.
  const auto f = [](std::int64_t seq, std::int64_t batch) {
    return 100 * seq + 7 * batch + seq * batch;
  };
  for (const std::int64_t seq : {10, 20, 60}) {
    for (const std::int64_t batch : {1, 5})
      group.profile.push_back(Point({seq, batch}, f(seq, batch)));
  }
  for (std::int64_t seq = 10; seq <= 60; ++seq) {
    for (std::int64_t batch = 1; batch <= 5; ++batch) {
      const auto planned = PlannedTime(group, Dims{seq, batch});
      REQUIRE(planned.has_value());
      CHECK(planned->time.count() == f(seq, batch));
      CHECK(planned->range == Range::kInside);
      CHECK(PlannedBytes(group, Dims{seq, batch}) ==
            Approx(10.0 * static_cast<double>(f(seq, batch))));
    }
  }
}

TEST_CASE("outside its points the prediction is the nearest edge, flagged", "[device][unit]") {
  plan::Group group;
  group.profile = {Point({10}, 100), Point({20}, 300)};
  CHECK(PlannedTime(group, Dims{5})->time.count() == 100);
  CHECK(PlannedTime(group, Dims{5})->range == Range::kExtrapolated);
  CHECK(PlannedTime(group, Dims{99})->time.count() == 300);
  CHECK(PlannedTime(group, Dims{15})->time.count() == 200);
}

TEST_CASE("a dim along which no two points differ does not count unless it differs from them",
          "[device][unit]") {
  plan::Group group;
  group.profile = {Point({10, 1}, 100), Point({20, 1}, 300)};
  CHECK(PlannedTime(group, Dims{15, 1})->range == Range::kInside);
  CHECK(PlannedTime(group, Dims{15, 2})->range == Range::kExtrapolated);
}

TEST_CASE("a corner without a point is its nearest point, flagged", "[device][unit]") {
  plan::Group group;
  group.profile = {Point({10, 1}, 100), Point({20, 1}, 300), Point({10, 5}, 500)};
  CHECK(PlannedTime(group, Dims{10, 3})->time.count() == 300);
  CHECK(PlannedTime(group, Dims{10, 3})->range == Range::kInside);
  CHECK(PlannedTime(group, Dims{15, 3})->range == Range::kExtrapolated);
}

TEST_CASE("a cost expression predicts everywhere", "[device][unit]") {
  testing::PlanMaker plan;
  plan.Dim("seq", 1, 100);
  plan::Group group;
  group.cost_ns = plan.Size("seq * seq + 3");
  CHECK(PlannedTime(group, Dims{10})->time.count() == 103);
}

}  // namespace
}  // namespace leeway::device
