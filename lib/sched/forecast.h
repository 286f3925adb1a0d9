// When the last of some runs would end if nothing more came.
//
// Runs take run slots in the order given, each as soon as one is free, and share the cores like a
// fluid: a run wants as many as its work fills on average along its longest path; the more urgent
// get what they want, equally urgent ones share what is left in proportion. Transfers are taken at
// the speed at which the plan predicted them. Of chains of steps on as many cores as run slots, in
// order of urgency, the ends are exact.
//
// Threading: one thread at a time.
// Numbers:   doubles, by + − × ÷ alone; exact while nobody has to share and times are below 2^53.

#ifndef LEEWAY_SCHED_FORECAST_H_
#define LEEWAY_SCHED_FORECAST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leeway/time.h"

namespace leeway::sched {

// What a run still has to do.
struct RunLoad {
  std::uint64_t urgency = 0;
  Nanos work{0};     // core time
  double width = 1;  // work / longest path
};

class Forecast {
 public:
  // Time counts from now. Nothing beyond `horizon` is worked out.
  Forecast(std::size_t cores, std::size_t run_slots, Nanos horizon);

  // The next run begins as soon as a slot is free. False if that is past the horizon.
  bool Add(const RunLoad& run);
  // Whether the run that was added last ends within the horizon.
  bool LastEndsInTime();

 private:
  struct Active {
    std::uint64_t urgency = 0;
    double left = 0;  // ns along the path, at full speed
    double width = 1;
    double speed = 0;
    std::size_t number = 0;
  };

  void SetSpeeds();
  // Goes to the next end of a run.
  void Step();
  bool past() const { return clock_ > horizon_; }

  double cores_;
  std::size_t run_slots_;
  double horizon_;
  double clock_ = 0;
  std::vector<Active> active_;  // by urgency, then number
  std::size_t added_ = 0;
  bool last_active_ = false;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_FORECAST_H_
