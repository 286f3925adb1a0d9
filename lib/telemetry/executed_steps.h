// Which steps ran, in how many kinds: what mapping accuracy is computed from.

#ifndef LEEWAY_TELEMETRY_EXECUTED_STEPS_H_
#define LEEWAY_TELEMETRY_EXECUTED_STEPS_H_

#include <cstdint>

#include "leeway/time.h"

namespace leeway::telemetry {

// Steps of one kind: equal in all that is told here.
struct ExecutedSteps {
  std::uint32_t window = 0;  // in which their run started
  std::uint32_t plan = 0;    // in the order in which plans served
  // One of a request that no variant covers.
  bool fallback = false;
  // Their run is of another variant than its members were bound to.
  bool rebound = false;
  std::uint64_t op_key = 0;  // plan/op_key.h
  std::uint32_t size_quarter = 0;
  Nanos planned{0};   // the plan's prediction at the executed dims and batch
  Nanos launch{0};    // of the time, what no error of the model changes
  Nanos modelled{0};  // the cost model's time, alone, the launch included
  std::uint64_t steps = 0;
  // Of the steps: on a core outside the placement's set.
  std::uint64_t displaced = 0;
};

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_EXECUTED_STEPS_H_
