// Serves arrivals on a simulated device in virtual time: the loop around the policy.
//
// Threading: one thread at a time; simulations share nothing.
// Memory:    does not depend on the number of arrivals.

#ifndef LEEWAY_EXEC_SIMULATION_H_
#define LEEWAY_EXEC_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/spec.h"
#include "exec/attributor.h"
#include "exec/sim_record.h"
#include "exec/simulated_world.h"
#include "leeway/simulate.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "sched/cost_table.h"

namespace leeway::exec {

struct SimStream {
  std::string name;
  Priority priority{1};
};

struct SimArrival {
  Instant at;
  std::uint32_t stream = 0;
  sched::DimValues dims;  // by the plan's dim index, within its domain
  Nanos timeout{0};       // 0: the stream's
  Nanos cancel_after = Nanos::max();
};

// Arrivals in order of time; nothing at the end.
using NextArrival = std::function<Result<std::optional<SimArrival>>()>;

struct SimConfig {
  std::shared_ptr<const plan::Body> plan;
  std::shared_ptr<const device::Spec> device;
  std::string entry;  // empty: the only one that is not internal
  std::vector<SimStream> streams;
  ServingOptions serving;
  // Told of every OK request, in order of completion; may be null.
  Attributor::OnOk on_ok;
  // Called every few thousand instants; false ends the simulation with kCancelled.
  std::function<bool(const Progress&)> progress;
};

// Returns the record of the whole trace. kInvalidArgument names an option out of range;
// kFailedPrecondition if the plan does not fit the device; otherwise what the model, the arrivals
// or the cost model answer.
Result<std::shared_ptr<SimRecord>> RunSimulation(const SimConfig& config, const NextArrival& next);

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_SIMULATION_H_
