// Any text is a task graph or a clear refusal, and whatever is a graph is scheduled within its bounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "compile/stg.h"
#include "compile/task_dag.h"
#include "compile/task_placer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leeway::compile;  // NOLINT: this file is nothing else
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = ParseStg(text, "fuzz");
  if (!graph.ok()) {
    if (graph.status().message().empty()) __builtin_trap();
    return 0;
  }
  const auto dag = TaskDag::Make(*graph);
  if (!dag.ok()) return 0;
  const std::int64_t makespan = TaskPlacer(*dag, 3).ByBottomLevel().makespan;
  if (makespan < LowerBound(*dag, 3) || makespan > dag->work()) __builtin_trap();
  return 0;
}
