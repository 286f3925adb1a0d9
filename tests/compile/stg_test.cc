#include "compile/stg.h"

#include <string>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::compile {
namespace {

using Catch::Matchers::Contains;

constexpr char kText[] = R"(3
0 0 0
1 10 1 0
2 20 1 0
3 5 2 1 2   # a comment
4 0 2 3 1
# The graph ends here.
)";

std::string Refusal(const std::string& text) {
  const Result<TaskGraph> graph = ParseStg(text, "g.stg");
  REQUIRE_FALSE(graph.ok());
  return std::string(graph.status().message());
}

}  // namespace

TEST_CASE("a task graph is read without its dummies", "[compile][stg]") {
  const TaskGraph graph = ParseStg(kText, "g.stg").value();
  REQUIRE(graph.tasks.size() == 3);
  CHECK(graph.tasks[0].name == "1");
  CHECK(graph.tasks[1].time == Nanos{20});
  CHECK(graph.tasks[0].after.empty());
  CHECK(graph.tasks[2].after == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("what waits for a task of no time waits for what that waited for", "[compile][stg]") {
  const TaskGraph graph =
      ParseStg("4\n0 0 0\n1 3 1 0\n2 4 1 0\n3 0 2 1 2\n4 5 1 3\n5 0 1 4\n", "g.stg").value();
  REQUIRE(graph.tasks.size() == 3);
  CHECK(graph.tasks[2].after == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("what is wrong with a task graph is told with its line", "[compile][stg]") {
  CHECK(Refusal("") == "g.stg:1: the text ends where the number of tasks should be");
  CHECK(Refusal("three") == "g.stg:1: the number of tasks is no whole number");
  CHECK(Refusal("1.5") == "g.stg:1: the number of tasks is no whole number");
  CHECK(Refusal("-1") == "g.stg:1: the number of tasks is not between 0 and 1048576");
  CHECK(Refusal("99999999999999999999") ==
        "g.stg:1: the number of tasks is not between 0 and 1048576");
  CHECK(Refusal("1000000\n0 0 0\n") == "g.stg:1: 1000000 tasks do not fit into 14 bytes");
  CHECK(Refusal("1\n0 0 0\n1 5 1 7\n2 0 1 1\n") ==
        "g.stg:3: a predecessor of task 1 is not between 0 and 2");
  CHECK(Refusal("1\n0 0 0\n0 5 0\n2 0 1 1\n") == "g.stg:3: task 0 is listed twice");
  CHECK(Refusal("1\n0 0 0\n1 5 1 0\n") == "g.stg:4: the text ends where a task's number should be");
  CHECK(Refusal("1\n0 0 0\n1 5 1 0\n2 0 1 1\n3 1 0\n") ==
        "g.stg:5: more follows after the 3 lines of 1 tasks and two dummies");
  CHECK(Refusal("2\n0 0 0\n1 5 1 2\n2 5 1 1\n3 0 1 2\n") ==
        "g.stg: task 1 waits for itself, through others");
}

TEST_CASE("spoilt task graphs are read or refused, never worse", "[compile][stg][hostile]") {
  const auto seed = GENERATE(range(0u, 500u));
  base::Prng prng(seed);
  std::string text = kText;
  for (std::uint64_t i = 0; i <= prng.Below(4); ++i) {
    text[prng.Below(text.size())] = "0123456789 \n#-x"[prng.Below(15)];
  }
  const Result<TaskGraph> graph = ParseStg(text, "g.stg");
  if (graph.ok()) {
    for (const Task& task : graph->tasks) {
      CHECK(task.time > Nanos{0});
      for (const std::uint32_t before : task.after) CHECK(before < graph->tasks.size());
    }
  } else {
    CHECK_THAT(std::string(graph.status().message()), Contains("g.stg:"));
  }
}

}  // namespace leeway::compile
