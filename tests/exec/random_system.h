// Random small systems: a plan of two variants, a device, options of the policy and arrivals.

#ifndef LEEWAY_TESTS_EXEC_RANDOM_SYSTEM_H_
#define LEEWAY_TESTS_EXEC_RANDOM_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/sim_config.h"
#include "sched/scheduler.h"
#include "tests/exec/harness.h"
#include "tests/support/task_graphs.h"

namespace leeway::testing {

struct System {
  std::shared_ptr<const plan::Body> plan;
  std::shared_ptr<const device::Spec> device;
  sched::SchedulerOptions options;
  std::vector<HarnessArrival> arrivals;
  std::uint32_t streams = 3;
};

enum class Classes { kOne, kSeveral };

// Two variants over one graph, so that batches form by bucket; some seqs are covered by none.
System RandomSystem(std::uint64_t seed, GraphShape::Bytes bytes, std::uint32_t depth = 1,
                    Classes classes = Classes::kOne);

// The plan with about half of the placed groups on a core of another of the device's classes, too,
// named before or after those that they have.
std::shared_ptr<const plan::Body> AcrossClasses(const plan::Body& plan, const device::Spec& device,
                                                std::uint64_t seed);

// The plan with about a third of its operators, calls excepted, as HOST work.
std::shared_ptr<const plan::Body> WithHostWork(const plan::Body& plan, std::uint64_t seed);

// What a whole simulation is asked.
struct ServedSystem {
  exec::SimConfig config;
  std::vector<exec::SimArrival> arrivals;
};

// Nearly all that a simulation knows, little of each: streams of any priorities, classes of cores
// that differ in speed and launch depth, every placement, shards and bytes that follow the dims,
// loops in loops, batches by every rule and preference, full queues, timeouts, cancels, requests
// that no variant covers; at loads from idle to several times what the device can do.
ServedSystem RandomServedSystem(std::uint64_t seed);

// Opens the system's streams of priority 1, 2 and 3: some have bounded queues, one delays.
void OpenStreams(Harness& harness, const System& system, std::uint64_t seed);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_RANDOM_SYSTEM_H_
