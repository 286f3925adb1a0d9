// The loop experiment: one traffic served by a plan frozen at its first window, by plans adapted
// window by window, and by plans that knew, on the same arrivals.
//
// Threading: RunExperiment() replays on up to `jobs` threads; results do not depend on how many.

#ifndef LEEWAY_RETUNE_LOOP_EXPERIMENT_H_
#define LEEWAY_RETUNE_LOOP_EXPERIMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/spec.h"
#include "leeway/loop.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "retune/loop_record.h"
#include "retune/replay.h"
#include "traffic/body.h"

namespace leeway::retune {

struct ExperimentInput {
  std::shared_ptr<const plan::Body> model;
  std::shared_ptr<const device::Spec> device;
  std::shared_ptr<const traffic::Body> traffic;
  std::size_t traffic_dim = 0;  // what feeds the bucketed dim
  const LoopOptions* options = nullptr;
};

// Returns the record, without notes of what was bound to what. Errors as RunLoop().
Result<std::shared_ptr<LoopRecord>> RunExperiment(const ExperimentInput& input,
                                                  compile::Compiler& compiler,
                                                  const Replay& replay);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_EXPERIMENT_H_
