// What makes a schedule of a task graph valid.

#ifndef LEEWAY_TESTS_SUPPORT_CHECK_SCHEDULE_H_
#define LEEWAY_TESTS_SUPPORT_CHECK_SCHEDULE_H_

#include <cstdint>
#include <span>

#include "leeway/task_graph.h"
#include "leeway/time.h"

namespace leeway::testing {

// Checks that tasks start after what they wait for has ended and that no two overlap on a core; all
// by task. Returns when the last ends.
Nanos CheckPlaced(const leeway::TaskGraph& graph, std::span<const Nanos> start,
                  std::span<const std::uint32_t> core, std::uint32_t cores);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_SUPPORT_CHECK_SCHEDULE_H_
