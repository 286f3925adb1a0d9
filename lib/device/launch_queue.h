// Asynchronous launches: the host issues calls one after the other, the device executes them in
// order, and the host blocks while as many are in flight as the queue is deep.
//
// A call occupies the host for run_launch. In the long run calls are as far apart as the slower of
// the two takes (COST_MODEL section 9): kernels shorter than a call are bound by the host, longer
// ones hide it.
//
// Threading: one thread at a time.

#ifndef LEEWAY_DEVICE_LAUNCH_QUEUE_H_
#define LEEWAY_DEVICE_LAUNCH_QUEUE_H_

#include <cstdint>
#include <deque>

#include "leeway/time.h"

namespace leeway::device {

class LaunchQueue {
 public:
  // Requires issue >= 0 and depth >= 1.
  LaunchQueue(Nanos issue, std::uint32_t depth);

  struct Call {
    Instant returns;              // the host is free again
    Instant starts, ends;         // on the device
    std::uint32_t in_flight = 0;  // when it was issued, itself included
    bool blocked = false;         // it waited for a place in the queue
  };
  // A call of a kernel that takes `kernel` on the device. Requires that `now` never goes back; a
  // host that is not free yet, or finds the queue full, begins later.
  Call Issue(Instant now, Nanos kernel);

 private:
  Nanos issue_;
  std::size_t depth_;
  Instant host_free_, device_free_;
  std::deque<Instant> ends_;  // of calls in flight, in order
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_LAUNCH_QUEUE_H_
