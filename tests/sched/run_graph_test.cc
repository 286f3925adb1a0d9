#include "sched/run_graph.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sched/model.h"
#include "tests/catch.h"
#include "tests/support/task_graphs.h"

namespace leeway::sched {
namespace {

using leeway::testing::Task;

Task OneTask(std::int64_t time_ns) { return {time_ns, {}, plan::PlacementMode::kAny, {}, 1, 0}; }

// "main" with variants of these names calls "loop", which has the variants given.
plan::Body Calling(const std::vector<std::string>& callers,
                   const std::vector<leeway::testing::TaskVariant>& callees) {
  plan::Body body = *leeway::testing::LoopPlanOf({OneTask(1)}, 2);
  std::vector<plan::Variant>& variants = body.entries[0].variants;
  variants.resize(callers.size(), variants[0]);
  for (std::size_t i = 0; i < callers.size(); ++i) variants[i].name = callers[i];
  body.entries[1] = leeway::testing::PlanOf(callees)->entries[0];
  body.entries[1].name = "loop";
  body.entries[1].internal = true;
  return body;
}

Result<RunGraph> GraphOf(const plan::Body& body, std::size_t variant) {
  DomainTable domains;
  return RunGraph::OfVariant(body, body.entries[0], body.entries[0].variants[variant],
                             *leeway::testing::DeviceOf({}), domains);
}

}  // namespace

TEST_CASE("a run's graph holds the groups of the variant that its call runs", "[sched][call]") {
  const plan::Body body =
      Calling({"x", "b", "a"}, {{"a", 64, 32, {OneTask(10)}}, {"b", 64, 32, {OneTask(20)}}});
  // By name where there is one, the first that covers where there is none.
  const std::size_t expected[] = {0, 1, 0};
  for (std::size_t v = 0; v < 3; ++v) {
    CAPTURE(body.entries[0].variants[v].name);
    const auto graph = GraphOf(body, v);
    REQUIRE(graph.ok());
    REQUIRE(graph->nodes().size() == 2);
    CHECK(graph->nodes()[0].call != nullptr);
    CHECK(graph->nodes()[1].group == &body.entries[1].variants[expected[v]].groups[0]);
  }
}

TEST_CASE("a call that no variant covers ends the graph, and both entries' words are named",
          "[sched][call]") {
  const plan::Body body = Calling({"x"}, {{"a", 32, 32, {OneTask(10)}}});
  const auto graph = GraphOf(body, 0);
  CHECK(graph.status().code() == StatusCode::kFailedPrecondition);
  CHECK(graph.status().message() ==
        "variant \"x\" calls entry \"loop\", which has no variant for its envelope");
}

TEST_CASE("the graph of calls that nest sixteen deep is built, one of seventeen is not",
          "[sched][call][bound]") {
  const auto nested = [](std::size_t depth) {
    plan::Body body = *leeway::testing::LoopPlanOf({OneTask(1)}, 1);
    const plan::Entry caller = body.entries[0], last = body.entries[1];
    body.entries.clear();
    for (std::size_t i = 0; i < depth; ++i) {
      plan::Entry entry = i + 1 < depth ? caller : last;
      entry.name = "e" + std::to_string(i);
      entry.internal = i > 0;
      if (i + 1 < depth) {
        entry.operators[0].work =
            plan::Call{static_cast<plan::Index>(i + 1), plan::Expr::Constant(1)};
      }
      body.entries.push_back(std::move(entry));
    }
    return body;
  };
  const plan::Body deepest = nested(16);
  const auto graph = GraphOf(deepest, 0);
  REQUIRE(graph.ok());
  CHECK(graph->depth() == 16);
  CHECK(graph->nodes().size() == 16);
  const plan::Body deeper = nested(17);
  CHECK(GraphOf(deeper, 0).status().code() == StatusCode::kResourceExhausted);
}

// Four groups that depend on nothing, with a schedule.
plan::Body Scheduled(plan::Schedule schedule) {
  plan::Body body =
      *leeway::testing::PlanOf({{"v", 64, 32, {OneTask(1), OneTask(2), OneTask(3), OneTask(4)}}});
  body.entries[0].variants[0].schedule = std::move(schedule);
  return body;
}

// The groups that each node's group comes after, by the listed number of both.
std::vector<std::vector<std::size_t>> EdgesOf(const plan::Body& body, const RunGraph& graph) {
  const auto group_of = [&](std::size_t node) {
    return static_cast<std::size_t>(graph.nodes()[node].group -
                                    body.entries[0].variants[0].groups.data());
  };
  std::vector<std::vector<std::size_t>> before(graph.nodes().size());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const std::uint32_t p : graph.predecessors(graph.nodes()[n])) {
      CHECK(p < n);  // nodes are in an order in which they can run
      before[group_of(n)].push_back(group_of(p));
    }
    std::sort(before[group_of(n)].begin(), before[group_of(n)].end());
  }
  return before;
}

TEST_CASE("orders of single cores and waits are edges, each once, and those of several are not",
          "[sched][schedule]") {
  using Edges = std::vector<std::vector<std::size_t>>;
  plan::CoreOrder first, second, several;
  first.core.index = 0;
  first.groups = {3, 1};
  second.core.index = 1;
  second.groups = {0, 2};
  several.groups = {1, 0};
  const plan::Body body = Scheduled({{first, second, several}, {{1, 3}, {2, 3}}});
  const auto graph = GraphOf(body, 0);
  REQUIRE(graph.ok());
  CHECK(EdgesOf(body, *graph) == Edges{{}, {3}, {0, 3}, {}});
  const plan::Body free = Scheduled({});
  CHECK(EdgesOf(free, GraphOf(free, 0).value()) == Edges(4));
}

TEST_CASE("shards of two groups in two orders are refused, naming the groups",
          "[sched][schedule]") {
  plan::CoreOrder first, second;
  first.core.index = 0;
  first.groups = {0, 1};
  second.core.index = 1;
  second.groups = {1, 0};
  const auto graph = GraphOf(Scheduled({{first, second}, {}}), 0);
  CHECK(graph.status().code() == StatusCode::kUnimplemented);
  CHECK(graph.status().message() ==
        "variant \"v\": its schedule starts shards of group \"g0\" both before and after \"g1\", "
        "which is not run");
}

}  // namespace leeway::sched
