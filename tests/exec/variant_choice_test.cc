// Which variant a batch runs in, once it is formed.

#include <memory>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/random_system.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::Harness;
using testing::HarnessArrival;
using testing::System;

// "alone" takes 100 ns for a batch of one and 100 ns for each member more; "many" takes `many_ns`
// whatever the batch. Requests bind "alone" while a single one is no slower there.
std::shared_ptr<const plan::Body> AloneOrMany(std::int64_t many_ns) {
  const testing::TaskGraph one = {testing::Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}};
  auto body =
      std::make_shared<plan::Body>(*testing::PlanOf({{"alone", 64, 8, one}, {"many", 64, 8, one}}));
  auto& variants = body->entries[0].variants;
  plan::ProfilePoint full = variants[0].groups[0].profile[0];
  full.dims = {1, 8};
  full.p50_ns = 800;
  variants[0].groups[0].profile.push_back(full);
  variants[1].groups[0].profile[0].p50_ns = many_ns;
  return body;
}

// The graphs of the runs of batches of these sizes.
std::vector<std::uint32_t> GraphsOf(std::shared_ptr<const plan::Body> plan,
                                    const std::vector<std::size_t>& sizes) {
  sched::SchedulerOptions options;
  options.batching.max_queue_delay = Nanos{10};
  Harness harness(std::move(plan), testing::DeviceOf({}), options);
  harness.Open(Priority(1));
  std::vector<std::uint32_t> graphs;
  harness.watch.on_run_started = [&](sched::RunId, const sched::Run& run) {
    graphs.push_back(run.graph_id.value());
  };
  std::vector<HarnessArrival> arrivals;
  std::int64_t at = 0;
  for (std::size_t size : sizes) {
    for (std::size_t i = 0; i < size; ++i) arrivals.push_back({at, 0, 1, Nanos{0}});
    at += 10'000;
  }
  harness.Serve(arrivals);
  return graphs;
}

}  // namespace

TEST_CASE("a batch runs in the variant that is fastest for as many as it has",
          "[exec][variant_choice]") {
  using Graphs = std::vector<std::uint32_t>;
  // A batch of three is 300 ns in "alone".
  CHECK(GraphsOf(AloneOrMany(250), {1, 2, 3, 8}) == Graphs{0, 0, 1, 1});
  // Of equals the one that was bound stays.
  CHECK(GraphsOf(AloneOrMany(300), {1, 2, 3, 4}) == Graphs{0, 0, 0, 1});
  CHECK(GraphsOf(AloneOrMany(900), {1, 2, 3, 8}) == Graphs{0, 0, 0, 0});
}

TEST_CASE(
    "no batch runs in a variant that another one is predicted to beat, or that cannot hold it",
    "[exec][variant_choice][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  System system = testing::RandomSystem(seed, testing::GraphShape::Bytes::kSome);
  if (seed % 2 == 0) {
    // Large batches are faster in the wider variant.
    auto body = std::make_shared<plan::Body>(*system.plan);
    for (plan::Group& group : body->entries[0].variants[0].groups) {
      if (group.profile.empty()) continue;
      plan::ProfilePoint full = group.profile[0];
      full.dims = {1, 4};
      full.p50_ns *= 4;
      group.profile.push_back(full);
    }
    system.plan = body;
  }
  Harness harness(system.plan, system.device, system.options);
  testing::OpenStreams(harness, system, seed);
  std::size_t beaten = 0, uncovered = 0;
  harness.watch.on_run_started = [&](sched::RunId, const sched::Run& run) {
    sched::Model& model = harness.model();
    if (!model.Covers(run.graph_id, run.dims)) ++uncovered;
    if (run.graph_id == model.generic()) return;
    for (std::size_t g = 0; g < model.variant_count(); ++g) {
      const sched::GraphId graph(g);
      if (!model.Covers(graph, run.dims)) continue;
      const auto costs = model.Costs(graph, model.Padded(graph, run.dims)).value();
      if (costs->predicted_path < run.costs->predicted_path) ++beaten;
    }
  };
  harness.Serve(system.arrivals);
  CHECK(beaten == 0);
  CHECK(uncovered == 0);
}

}  // namespace leeway
