#include "compile/task_placer.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/support/check_schedule.h"
#include "tests/support/known_graphs.h"

namespace leeway::compile {
namespace {

TaskGraph Shape(std::uint64_t seed) {
  base::Prng prng(seed);
  switch (seed % 5) {
    case 0:
      return testing::RandomOrder(prng, 1 + static_cast<std::uint32_t>(prng.Below(60)), 0.1);
    case 1:
      return testing::Layered(prng, 2 + static_cast<std::uint32_t>(prng.Below(60)));
    case 2:
      return testing::ForkJoin(prng, 1 + static_cast<std::uint32_t>(prng.Below(6)), 9);
    case 3:
      return testing::SeriesParallel(prng, 1 + static_cast<std::uint32_t>(prng.Below(60)));
    default:
      return testing::CutFromIdeal(prng, 40, 4, 2, 10'000);
  }
}

void CheckSchedule(const PlacedTasks& placed, const TaskGraph& graph, const TaskDag& dag,
                   std::uint32_t cores) {
  const std::vector<Nanos> start(placed.start.begin(), placed.start.end());
  CHECK(Nanos{placed.makespan} ==
        testing::CheckPlaced(graph, start, CoresOf(placed, dag, cores), cores));
}

// The shortest of the list schedules of all orders, among which an optimal one is.
std::int64_t Optimum(const TaskDag& dag, std::uint32_t cores) {
  std::vector<std::uint32_t> order(dag.size());
  std::iota(order.begin(), order.end(), 0u);
  std::int64_t best = dag.work();
  do {
    std::vector<std::int64_t> end(dag.size(), -1), free(cores, 0);
    bool allowed = true;
    for (const std::uint32_t task : order) {
      std::int64_t ready = 0;
      for (const std::uint32_t before : dag.predecessors(task)) {
        allowed = allowed && end[before] >= 0;
        ready = std::max(ready, end[before]);
      }
      if (!allowed) break;
      const auto core = std::min_element(free.begin(), free.end());
      end[task] = *core = std::max(*core, ready) + dag.time(task);
    }
    if (allowed) best = std::min(best, *std::max_element(end.begin(), end.end()));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

}  // namespace

TEST_CASE("schedules keep the order and the cores, and lie between the bounds",
          "[compile][schedule][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  const TaskGraph graph = Shape(seed);
  const TaskDag dag = TaskDag::Make(graph).value();
  for (const std::uint32_t cores : {1u, 2u, 5u}) {
    CAPTURE(cores);
    const std::int64_t bound = LowerBound(dag, cores);
    TaskPlacer placer(dag, cores);
    const PlacedTasks listed = placer.ByBottomLevel();
    CheckSchedule(listed, graph, dag, cores);
    const PlacedTasks improved = placer.Improved(seed, 60, bound);
    CheckSchedule(improved, graph, dag, cores);
    CHECK(bound <= improved.makespan);
    CHECK(improved.makespan <= listed.makespan);
    // Graham 1969, theorem 1 of list schedules, against the bounds that he uses.
    const std::int64_t path = dag.longest_path();
    CHECK(cores * listed.makespan <= dag.work() + (cores - 1) * path);
    if (cores == 1) CHECK(improved.makespan == dag.work());
    CHECK(placer.schedules() <= 61);
  }
}

TEST_CASE("no schedule beats the lower bound, and small graphs are placed optimally",
          "[compile][schedule][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto tasks = 1 + static_cast<std::uint32_t>(prng.Below(7));
  const TaskDag dag = TaskDag::Make(seed % 2 == 0 ? testing::RandomOrder(prng, tasks, 0.25)
                                                  : testing::SeriesParallel(prng, tasks))
                          .value();
  for (const std::uint32_t cores : {2u, 3u}) {
    CAPTURE(cores);
    const std::int64_t optimum = Optimum(dag, cores);
    const std::int64_t bound = LowerBound(dag, cores);
    CHECK(bound <= optimum);
    CHECK(TaskPlacer(dag, cores).Improved(seed, 3000, bound).makespan == optimum);
  }
}

TEST_CASE("graphs cut from an ideal schedule have its length as their bound and their optimum",
          "[compile][schedule][property]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto cores = 2 + static_cast<std::uint32_t>(prng.Below(7));
  const std::uint32_t tasks = 12 * cores + static_cast<std::uint32_t>(prng.Below(60));
  const TaskGraph graph =
      testing::CutFromIdeal(prng, tasks, cores, static_cast<double>(1 + prng.Below(8)), 100'000);
  REQUIRE(graph.tasks.size() == tasks);
  const TaskDag dag = TaskDag::Make(graph).value();
  CHECK(dag.work() == 100'000 * std::int64_t{cores});
  // Fully busy cores leave nothing to any bound but the work; and one schedule attains it.
  CHECK(LowerBound(dag, cores) == 100'000);
  CHECK(TaskPlacer(dag, cores).Improved(seed, 2000, 100'000).makespan <= 100'300);
}

TEST_CASE("equal seeds place equally", "[compile][schedule]") {
  const TaskDag dag = TaskDag::Make(Shape(4)).value();
  const PlacedTasks one = TaskPlacer(dag, 4).Improved(7, 500, 0);
  const PlacedTasks again = TaskPlacer(dag, 4).Improved(7, 500, 0);
  CHECK(one.start == again.start);
}

TEST_CASE("the bounds see what each of them is for", "[compile][schedule]") {
  const auto bound = [](TaskGraph graph, std::uint32_t cores) {
    return LowerBound(TaskDag::Make(graph).value(), cores);
  };
  // Three of 10 on two cores: two share one.
  CHECK(bound({{{"a", Nanos{10}, {}}, {"b", Nanos{10}, {}}, {"c", Nanos{10}, {}}}}, 2) == 20);
  CHECK(bound({{{"a", Nanos{10}, {}}, {"b", Nanos{7}, {0}}, {"c", Nanos{1}, {}}}}, 2) == 17);
  // Four of 5 between a head of 10 and a tail of 10 take two cores 10.
  TaskGraph waist = {{{"head", Nanos{10}, {}}}};
  for (int i = 0; i < 4; ++i) waist.tasks.push_back({"", Nanos{5}, {0}});
  waist.tasks.push_back({"tail", Nanos{10}, {1, 2, 3, 4}});
  CHECK(bound(waist, 2) == 30);
}

TEST_CASE("what is no task graph is told", "[compile][schedule]") {
  const auto message = [](TaskGraph graph) {
    return std::string(TaskDag::Make(graph).status().message());
  };
  CHECK(message({}) == "a graph without tasks");
  CHECK(message({{{"a", Nanos{0}, {}}}}) == "task \"a\" takes 0 ns; at least 1");
  CHECK(message({{{"a", Nanos{1}, {0}}}}) == "task \"a\" waits for itself");
  CHECK(message({{{"a", Nanos{1}, {3}}}}) == "task \"a\" waits for task 3, but there are 1");
  CHECK(message({{{"a", Nanos{1}, {1}}, {"b", Nanos{1}, {0}}, {"c", Nanos{1}, {0}}}}) ==
        "task \"a\" waits for itself, through others");
  const Nanos half{std::int64_t{1} << 61};
  CHECK(message({{{"a", half, {}}, {"b", half, {}}, {"c", Nanos{1}, {}}}}) ==
        "the tasks take more than 2^62 ns together");
}

}  // namespace leeway::compile
