// Whole simulations of a config and a list of arrivals, and all that they tell. Of each that ends,
// Little's law and the cores' time are checked.

#ifndef LEEWAY_TESTS_EXEC_SERVED_H_
#define LEEWAY_TESTS_EXEC_SERVED_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/simulation.h"
#include "tests/catch.h"
#include "tests/support/task_graphs.h"

namespace leeway::testing {

struct Served {
  struct Ended {
    std::uint64_t request = 0;  // counted from 1 in order of arrival
    Instant at;
    Nanos latency{0};
    Attribution parts;
    friend bool operator==(const Ended&, const Ended&) = default;
  };
  std::vector<Ended> ok;  // in order of their ends
  std::shared_ptr<exec::SimRecord> record;
};

// Little's law for the requests that ended OK: their number, integrated over time, is the sum of
// the latencies told. No core is busier than there is time, and each step is some core's.
inline void CheckLaws(const Served& served, const std::vector<exec::SimArrival>& arrivals) {
  std::multimap<Instant, int> changes;
  Nanos told{0}, integral{0};
  for (const Served::Ended& ended : served.ok) {
    changes.emplace(arrivals[ended.request - 1].at, 1);
    changes.emplace(ended.at, -1);
    told += ended.latency;
  }
  int in_system = 0;
  Instant last;
  for (const auto& [at, change] : changes) {
    integral += in_system * (at - last);
    in_system += change;
    last = at;
  }
  CHECK(integral == told);
  const SimSummary& summary = served.record->summary;
  std::uint64_t steps = 0;
  for (const CoreSummary& core : summary.cores) {
    CHECK(core.busy <= summary.makespan);
    steps += core.steps;
  }
  for (const CoreSummary& host : summary.hosts) {
    CHECK(host.busy <= summary.makespan);
    steps += host.steps;
  }
  CHECK(steps == summary.steps);
}

inline Result<Served> Serve(exec::SimConfig config, const std::vector<exec::SimArrival>& arrivals) {
  Served served;
  const exec::Attributor::OnOk also = config.on_ok;
  config.on_ok = [&](const exec::RequestRecord& record) {
    served.ok.push_back({record.request->user, record.ended, record.latency, record.parts});
    if (also) also(record);
  };
  std::size_t next = 0;
  auto record = exec::RunSimulation(config, [&]() -> Result<std::optional<exec::SimArrival>> {
    if (next == arrivals.size()) return std::optional<exec::SimArrival>();
    return std::optional(arrivals[next++]);
  });
  if (!record.ok()) return record.status();
  served.record = *record;
  CheckLaws(served, arrivals);
  return served;
}

inline exec::SimArrival ArrivalAt(std::int64_t at_ns, std::int64_t seq, std::uint32_t stream = 0) {
  exec::SimArrival arrival;
  arrival.at = Instant(Nanos{at_ns});
  arrival.stream = stream;
  arrival.dims = {seq, 1};
  return arrival;
}

// Requests of one graph of tasks, one a run.
inline exec::SimConfig OneByOne(TaskGraph tasks, const DeviceShape& shape) {
  exec::SimConfig config;
  config.plan = PlanOf({{"v", 64, 1, std::move(tasks)}});
  config.device = DeviceOf(shape);
  config.streams = {{"stream", Priority(1)}};
  config.serving.batching.max_batch_size = 1;
  return config;
}

// The config's device, as a copy of its own to change.
inline device::Spec& OwnDevice(exec::SimConfig& config) {
  auto spec = std::make_shared<device::Spec>(*config.device);
  device::Spec& own = *spec;
  config.device = std::move(spec);
  return own;
}

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_SERVED_H_
