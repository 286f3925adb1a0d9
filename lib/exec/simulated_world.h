// Virtual time: a device whose steps take as long as the cost model and the shared DRAM bandwidth
// say.
//
// The core of the simulator is a loop over instants: finish what is due, tell of cancels in the
// order of their times, deliver arrivals in theirs, let the woken cores act, the lowest first,
// until none is woken, go to the next instant. So what comes in at an instant is known before what
// ended there is taken. Everything is integer and in a fixed order, so that equal inputs give equal
// results everywhere.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_SIMULATED_WORLD_H_
#define LEEWAY_EXEC_SIMULATED_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "base/prng.h"
#include "device/fluid_link.h"
#include "device/resident_weights.h"
#include "device/shared_link.h"
#include "device/spec.h"
#include "exec/core_clocks.h"
#include "exec/earliest.h"
#include "leeway/time.h"
#include "sched/env.h"
#include "sched/scheduler.h"

namespace leeway::exec {

// How long steps were on their cores. Of that: by how much the cores' clocks lengthened them, and
// what fetching weights takes with the DRAM to itself.
struct StepTimes {
  Nanos duration{0}, throttled{0}, fetching{0};

  // Adds `times` of `part`.
  void Add(const StepTimes& part, std::int64_t times = 1) {
    duration += times * part.duration;
    throttled += times * part.throttled;
    fetching += times * part.fetching;
  }
  friend StepTimes operator-(StepTimes a, const StepTimes& b) {
    a.Add(b, -1);
    return a;
  }
};

// When steps really begin and end on their cores, which at launch depth > 1 is not when they are
// launched and retired.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void OnStarted(sched::CoreId core, const sched::StepRef& step) = 0;
  virtual void OnFinished(sched::CoreId core, const sched::StepRef& step,
                          const StepTimes& times) = 0;
  virtual void OnRunEnded(sched::RunId run) = 0;
};

struct CoreUse {
  Nanos busy{0};
  std::uint64_t steps = 0;
  std::int64_t dram_bytes = 0;
  // Two days at 50 W exceed 63 bits.
  absl::int128 energy_pj = 0;
  device::WeightUse weights;

  // Adds `times` what has been used since `before`.
  void Repeat(std::int64_t times, const CoreUse& before);
};

class SimulatedWorld final : public sched::Env {
 public:
  // `device` and the listener (may be null) outlive the world. Without heat no core throttles.
  // Where the DRAM is arbitrated by lot, the draws are always the same.
  SimulatedWorld(const device::Spec& device, StepListener* listener,
                 CoreClocks::Heat heat = CoreClocks::Heat::kModelled);

  // Must be called once, before anything else.
  void Attach(sched::Scheduler& scheduler) { scheduler_ = &scheduler; }

  Instant Now() const override { return now_; }
  void Launch(sched::CoreId core, sched::StepRef step) override;
  void SetTimer(sched::CoreId core, Instant due) override;
  void Wake(sched::CoreSet cores) override { woken_ = woken_ | cores; }
  void Ended(sched::RunId run) override;

  // What the cores are at, relative to now, and what they have done so far.
  struct Mark {
    struct Core {
      std::vector<sched::StepRef> launched;
      std::uint8_t phase = 0;
      Nanos since_began{0}, to_phase_end{0}, fetching{0};
    };
    std::vector<Core> cores;
    std::vector<std::vector<std::uint64_t>> held;  // weights, by core
    std::vector<CoreUse> use;

    // Whether the cores are at the same, but for the number of the repetition.
    bool Alike(const Mark& other) const;
  };
  // Requires calm().
  Mark TakeMark() const;
  // Whether nothing is being transferred, no step waits behind another on its core, and nothing
  // heats up.
  bool calm() const;
  Instant next_timer() const { return timers_.empty() ? Instant::Max() : timers_.top().first; }
  // Goes on by `rounds` periods in which the cores do each time what they did since `before`, and
  // then are at what they are at.
  void Repeat(std::int64_t rounds, Nanos period, const Mark& before);

  // When something next happens by itself; Instant::Max() if nothing will.
  Instant next_event();
  // Goes to `at`, which must not be past or beyond next_event(), and finishes what is due there.
  void AdvanceTo(Instant at);
  // Lets the policy act on every woken core until none is woken.
  void PumpWoken();

  // Whether some core keeps weights between runs.
  bool keeps_weights() const { return !held_.empty(); }
  // How long a step of the node would fetch weights on a core if it began now, with the DRAM to
  // itself; of the step that runs there, what it does.
  Nanos FetchTime(const sched::Run& run, sched::NodeId node, sched::CoreId core) const;

  const std::vector<CoreUse>& use() const { return use_; }
  // The last instant at which a step finished.
  Instant last_finish() const { return last_finish_; }
  // Null where every core keeps its nominal clock.
  const CoreClocks* clocks() const { return clocks_.get(); }

 private:
  // A step that has to fetch weights does so once it is launched.
  enum class Phase : std::uint8_t { kIdle, kLaunch, kFetch, kHead, kBody, kTail };
  struct Core {
    std::vector<sched::StepRef> launched;  // in order; the first is running unless idle
    Phase phase = Phase::kIdle;
    Instant began;
    device::StepCost cost;
    std::int64_t fetch_bytes = 0;
    Nanos fetching{0};  // with the DRAM to itself
  };

  void Begin(std::size_t core);
  void UseWeights(std::size_t core, const sched::Run& run, sched::NodeId node);
  std::int64_t MissingBytes(std::size_t core, const sched::Run& run, sched::NodeId node) const;
  Nanos FetchAlone(std::size_t core, std::int64_t bytes) const;
  void EnterFetch(std::size_t core);
  void EnterHead(std::size_t core);
  void EnterBody(std::size_t core);
  void EnterTail(std::size_t core);
  void Finish(std::size_t core);
  // Ends what the core is at, other than a transfer.
  void EndPhase(std::size_t core);
  // Of the transfers of bodies, by core.
  void StartTransfer(std::size_t core, device::ByteUnits bytes, device::ByteUnits cap,
                     std::uint64_t rank);
  device::ByteUnits StopTransfer(std::size_t core) {
    return lots_ ? lots_->Stop(now_, core) : link_.Stop(now_, core);
  }
  Instant next_transfer_end() { return lots_ ? lots_->next_end() : link_.next_end(); }
  void EndPeriod();
  void Reclock(std::size_t core);

  const device::Spec& device_;
  StepListener* listener_;
  sched::Scheduler* scheduler_ = nullptr;
  Instant now_;
  Instant last_finish_;
  device::FluidLink link_;
  // In its place where each transfer draws a rank as it begins.
  std::unique_ptr<device::SharedLink> lots_;
  base::Prng ranks_{0};
  std::vector<Core> cores_;
  std::vector<std::size_t> class_of_;
  std::vector<device::ResidentWeights> held_;  // by core; empty where none keeps weights
  double fetched_byte_pj_;
  Earliest phase_end_;  // by core; Max while the link decides or idle
  std::vector<CoreUse> use_;
  std::unique_ptr<CoreClocks> clocks_;
  Instant period_end_ = Instant::Max();  // of the power loop; Max while nothing runs
  sched::CoreSet woken_;
  using Timer = std::pair<Instant, std::uint32_t>;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_SIMULATED_WORLD_H_
