#include "tests/support/check_schedule.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/catch.h"

namespace leeway::testing {

Nanos CheckPlaced(const leeway::TaskGraph& graph, std::span<const Nanos> start,
                  std::span<const std::uint32_t> core, std::uint32_t cores) {
  REQUIRE(start.size() == graph.tasks.size());
  REQUIRE(core.size() == graph.tasks.size());
  std::map<std::uint32_t, std::vector<std::pair<Nanos, Nanos>>> on_core;
  Nanos last{0};
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Nanos end = start[i] + graph.tasks[i].time;
    CHECK(start[i] >= Nanos{0});
    CHECK(core[i] < cores);
    on_core[core[i]].emplace_back(start[i], end);
    last = std::max(last, end);
    for (const std::uint32_t before : graph.tasks[i].after) {
      CHECK(start[before] + graph.tasks[before].time <= start[i]);
    }
  }
  for (auto& [number, spans] : on_core) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
  }
  return last;
}

}  // namespace leeway::testing
