#include "tests/exec/random_system.h"

#include <string>
#include <utility>

namespace leeway::testing {
namespace {

// One or two classes more, with slower or faster ports than the first.
std::vector<ClassShape> MoreClasses(base::Prng& prng) {
  std::vector<ClassShape> classes(1 + prng.Below(2));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].name = "more" + std::to_string(i);
    classes[i].cores = 1 + static_cast<std::uint32_t>(prng.Below(3));
    classes[i].dma_bytes_per_second = 250'000'000 << prng.Below(3);
  }
  return classes;
}

}  // namespace

System RandomSystem(std::uint64_t seed, GraphShape::Bytes bytes, std::uint32_t depth,
                    Classes classes) {
  base::Prng prng(seed);
  System system;
  DeviceShape shape;
  shape.cores = 1 + static_cast<std::uint32_t>(prng.Below(5));
  shape.launch_depth = depth;
  if (classes == Classes::kSeveral) shape.more_classes = MoreClasses(prng);
  shape.run_launch_ns = static_cast<std::int64_t>(prng.Below(20));
  shape.step_launch_ns = static_cast<std::int64_t>(prng.Below(10));
  system.device = DeviceOf(shape);
  GraphShape graph;
  graph.tasks = 1 + static_cast<std::uint32_t>(prng.Below(12));
  graph.cores = shape.cores;
  graph.bytes = bytes;
  if (classes == Classes::kSeveral) {
    graph.classes = shape.more_classes;
    graph.classes.push_back({"core", shape.cores, shape.dram_bytes_per_second});
  }
  TaskGraph small = RandomGraph(prng, graph);
  TaskGraph large = small;
  for (Task& task : large) task.time_ns *= 2;
  system.plan = PlanOf({{"s", 16, 4, small}, {"t", 48, 8, large}});
  system.options.batching.max_batch_size = 1 + static_cast<std::uint32_t>(prng.Below(6));
  system.options.batching.max_queue_delay = Nanos{static_cast<std::int64_t>(prng.Below(3)) * 500};
  if (prng.Below(2) == 0) system.options.batching.preferred_batch_size = {2, 4};
  if (prng.Below(4) == 0) {
    system.options.batching.formation = sched::BatchPolicy::Formation::kFirstCome;
  }
  system.options.ageing_interval = Nanos{1000 + static_cast<std::int64_t>(prng.Below(100000))};
  system.options.max_concurrent_runs = static_cast<std::uint32_t>(prng.Below(6));
  std::int64_t at = 0;
  const std::size_t requests = 1 + prng.Below(60);
  for (std::size_t i = 0; i < requests; ++i) {
    at += static_cast<std::int64_t>(prng.Below(1500));
    HarnessArrival arrival;
    arrival.at_ns = at;
    arrival.stream = static_cast<std::uint32_t>(prng.Below(system.streams));
    arrival.seq = 1 + static_cast<std::int64_t>(prng.Below(52));
    if (prng.Below(5) == 0)
      arrival.timeout = Nanos{1 + static_cast<std::int64_t>(prng.Below(4000))};
    system.arrivals.push_back(arrival);
  }
  return system;
}

void OpenStreams(Harness& harness, const System& system, std::uint64_t seed) {
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    const bool bounded = (seed + s) % 3 == 0;
    harness.Open(Priority(static_cast<int>(s) + 1), bounded ? 4 : 0, Nanos{0},
                 s == 1 ? sched::TimeoutAction::kDelay : sched::TimeoutAction::kReject);
  }
}

}  // namespace leeway::testing
