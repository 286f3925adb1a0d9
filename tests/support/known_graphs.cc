#include "tests/support/known_graphs.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace leeway::testing {
namespace {

Nanos RandomTime(base::Prng& prng) {
  return Nanos{1 + static_cast<std::int64_t>(prng.Below(1000))};
}

}  // namespace

TaskGraph CutFromIdeal(base::Prng& prng, std::uint32_t tasks, std::uint32_t cores, double edges,
                       std::int64_t length) {
  std::vector<std::uint32_t> on_core(cores, 1);
  for (std::uint32_t i = cores; i < tasks; ++i) ++on_core[prng.Below(cores)];
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (std::uint32_t count : on_core) {
    std::set<std::int64_t> cuts = {0, length};
    while (cuts.size() < count + 1) {
      cuts.insert(1 +
                  static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(length - 1))));
    }
    for (auto at = cuts.begin(); std::next(at) != cuts.end(); ++at) {
      spans.emplace_back(*at, *std::next(at));
    }
  }
  // In no order that tells where they were.
  for (std::size_t i = spans.size(); i-- > 1;) std::swap(spans[i], spans[prng.Below(i + 1)]);
  TaskGraph graph;
  for (const auto& [from, to] : spans) {
    graph.tasks.push_back({std::to_string(graph.tasks.size()), Nanos{to - from}, {}});
  }
  const auto wanted = static_cast<std::size_t>(edges * tasks);
  std::set<std::pair<std::uint32_t, std::uint32_t>> made;
  for (std::size_t tries = 0; made.size() < wanted && tries < 50 * wanted; ++tries) {
    const auto before = static_cast<std::uint32_t>(prng.Below(tasks));
    const auto after = static_cast<std::uint32_t>(prng.Below(tasks));
    if (spans[before].second > spans[after].first) continue;
    if (made.emplace(before, after).second) graph.tasks[after].after.push_back(before);
  }
  return graph;
}

TaskGraph RandomOrder(base::Prng& prng, std::uint32_t tasks, double probability) {
  TaskGraph graph;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    Task task{"", RandomTime(prng), {}};
    for (std::uint32_t before = 0; before < i; ++before) {
      if (prng.Unit() < probability) task.after.push_back(before);
    }
    graph.tasks.push_back(std::move(task));
  }
  return graph;
}

TaskGraph Layered(base::Prng& prng, std::uint32_t tasks) {
  TaskGraph graph;
  std::uint32_t first = 0, last = 0;  // the layer before
  while (graph.tasks.size() < tasks) {
    const auto begin = static_cast<std::uint32_t>(graph.tasks.size());
    const auto width =
        std::min<std::uint32_t>(tasks - begin, 1 + static_cast<std::uint32_t>(prng.Below(8)));
    for (std::uint32_t i = 0; i < width; ++i) {
      Task task{"", RandomTime(prng), {}};
      for (std::uint32_t before = first; before < last; ++before) {
        if (prng.Below(3) == 0) task.after.push_back(before);
      }
      if (task.after.empty() && last > first) {
        task.after.push_back(first + static_cast<std::uint32_t>(prng.Below(last - first)));
      }
      graph.tasks.push_back(std::move(task));
    }
    first = begin;
    last = static_cast<std::uint32_t>(graph.tasks.size());
  }
  return graph;
}

TaskGraph ForkJoin(base::Prng& prng, std::uint32_t rounds, std::uint32_t width) {
  TaskGraph graph;
  graph.tasks.push_back({"", RandomTime(prng), {}});
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const auto fork = static_cast<std::uint32_t>(graph.tasks.size() - 1);
    Task join{"", RandomTime(prng), {}};
    for (std::uint32_t i = 0; i < width; ++i) {
      join.after.push_back(static_cast<std::uint32_t>(graph.tasks.size()));
      graph.tasks.push_back({"", RandomTime(prng), {fork}});
    }
    graph.tasks.push_back(std::move(join));
  }
  return graph;
}

TaskGraph SeriesParallel(base::Prng& prng, std::uint32_t tasks) {
  TaskGraph graph;
  // Depth is the logarithm of the tasks on average.
  const auto build = [&](auto&& self, std::uint32_t count,
                         std::vector<std::uint32_t> after) -> std::vector<std::uint32_t> {
    if (count == 1) {
      graph.tasks.push_back({"", RandomTime(prng), std::move(after)});
      return {static_cast<std::uint32_t>(graph.tasks.size() - 1)};
    }
    const auto left = 1 + static_cast<std::uint32_t>(prng.Below(count - 1));
    if (prng.Below(2) == 0) return self(self, count - left, self(self, left, std::move(after)));
    std::vector<std::uint32_t> both = self(self, left, after);
    const std::vector<std::uint32_t> right = self(self, count - left, std::move(after));
    both.insert(both.end(), right.begin(), right.end());
    return both;
  };
  build(build, tasks, {});
  return graph;
}

}  // namespace leeway::testing
