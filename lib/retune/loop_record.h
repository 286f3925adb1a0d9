// What the loop experiment leaves behind: its figures and the plans and telemetry they rest on.

#ifndef LEEWAY_RETUNE_LOOP_RECORD_H_
#define LEEWAY_RETUNE_LOOP_RECORD_H_

#include <memory>
#include <string>

#include "leeway/loop_result.h"
#include "plan/body.h"

namespace leeway::retune {

struct LoopRecord {
  LoopSummary summary;
  std::shared_ptr<const plan::Body> frozen_plan, adapted_plan;
  std::string frozen_telemetry, adapted_telemetry;
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_RECORD_H_
