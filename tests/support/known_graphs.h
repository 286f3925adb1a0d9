// Task graphs to judge schedulers by: some whose optimum is known because they were cut out of an
// ideal schedule, and the usual shapes.

#ifndef LEEWAY_TESTS_SUPPORT_KNOWN_GRAPHS_H_
#define LEEWAY_TESTS_SUPPORT_KNOWN_GRAPHS_H_

#include <cstdint>

#include "base/prng.h"
#include "leeway/task_graph.h"

namespace leeway::testing {

// Cuts the schedule of `cores` cores that are busy from 0 to `length` into `tasks` tasks, and lets
// tasks wait for ones that end before they start, about `edges` of them a task on average. No
// schedule is shorter than `length`, and one is as long. Requires cores <= tasks and a length of
// several times tasks / cores.
leeway::TaskGraph CutFromIdeal(base::Prng& prng, std::uint32_t tasks, std::uint32_t cores,
                               double edges, std::int64_t length);

// Every earlier task before every later one with a probability.
leeway::TaskGraph RandomOrder(base::Prng& prng, std::uint32_t tasks, double probability);
// Layers of random width; each task waits for some of the layer before.
leeway::TaskGraph Layered(base::Prng& prng, std::uint32_t tasks);
// `width` tasks between two, again and again.
leeway::TaskGraph ForkJoin(base::Prng& prng, std::uint32_t rounds, std::uint32_t width);
// Two parts one after the other or side by side, down to single tasks.
leeway::TaskGraph SeriesParallel(base::Prng& prng, std::uint32_t tasks);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_SUPPORT_KNOWN_GRAPHS_H_
