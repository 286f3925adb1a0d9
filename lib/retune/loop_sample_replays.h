// What a loop experiment replays on its fixed sample: each arm's capacity, the load sweep, and
// batch formation by itself.
//
// Threading: distinct tasks may run at once; the rest is for one thread.

#ifndef LEEWAY_RETUNE_LOOP_SAMPLE_REPLAYS_H_
#define LEEWAY_RETUNE_LOOP_SAMPLE_REPLAYS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "compile/work_curve.h"
#include "leeway/loop.h"
#include "leeway/status.h"
#include "retune/loop_load.h"
#include "retune/loop_sample.h"
#include "retune/replay.h"

namespace leeway::retune {

class SampleReplays {
 public:
  static constexpr std::size_t kArms = 3;  // frozen, adapted, clairvoyant

  // All of it is borrowed but `base`, which every replay starts from.
  struct Setting {
    const ServedTraffic& traffic;
    const LoopOptions& options;
    const compile::WorkCurve& curve;
    const std::array<PlanOfWindow, kArms>& plans;
    const Replay& replay;
    ReplayRequest base;
  };

  // Takes the sample and adds the rows of the sweep and of the ablation to `summary`, whose SLO is
  // set and which the tasks fill.
  SampleReplays(Setting setting, LoopSummary& summary);

  // Tasks to run, and the requests that they replay at most.
  std::size_t tasks() const;
  std::uint64_t requests() const;

  // Three capacities, then three replays for each swept load, then four of the ablation. Errors of
  // the replay.
  Status Run(std::size_t task);
  // Fills the capacities. Requires every task to have run.
  void Finish();

 private:
  static constexpr std::size_t kAblation = 4;

  Status Sweep(LoopSweepPoint& point, std::size_t arm) const;
  Status Form(LoopFormation& formation, ReplayRequest::Formation kind) const;
  Status FormAtOnce(LoopFormation& formation, ReplayRequest::Formation kind) const;
  Result<ReplayOutcome> Replayed(const Sample::Timed& timed, ReplayRequest::Formation kind) const;

  Setting setting_;
  LoopSummary& summary_;
  Sample sample_;
  double saturated_rps_ = 0;  // mean rate at which the frozen plan is just saturated by the sample
  std::array<Capacity, kArms> capacity_;
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_SAMPLE_REPLAYS_H_
