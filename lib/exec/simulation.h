// Serves arrivals on a simulated device in virtual time: the loop around the policy.
//
// Threading: one thread at a time; simulations share nothing.
// Memory:    does not depend on the number of arrivals.

#ifndef LEEWAY_EXEC_SIMULATION_H_
#define LEEWAY_EXEC_SIMULATION_H_

#include <memory>

#include "exec/sim_config.h"
#include "exec/sim_record.h"
#include "leeway/status.h"

namespace leeway::exec {

// Returns the record of the whole trace. kInvalidArgument names an option out of range, or swaps
// out of order or of other dims; kFailedPrecondition if the plan does not fit the device; otherwise
// what the model, the arrivals or the cost model answer.
Result<std::shared_ptr<SimRecord>> RunSimulation(const SimConfig& config, const NextArrival& next);

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_SIMULATION_H_
