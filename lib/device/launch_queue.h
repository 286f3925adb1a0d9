// Asynchronous launches: one host thread issues calls one after the other, the device executes what
// was issued, and the host blocks while as many are in flight as the queue is deep.
//
// A call occupies the host for a fixed time and then until there is a place for it. So in the long
// run calls are as far apart as the slower of host and device takes (COST_MODEL section 9): kernels
// shorter than a call are bound by the host, longer ones hide it.
//
// Of the calls that wait for the host the most urgent goes first, then the first that asked. One
// that the host is at stays there: a more urgent one waits until it is issued.
//
// Threading: one thread at a time.
// Time:      never goes back; nobody is late: Next() is called until it returns nothing at every
//            due(), and when a call asks, ends or is dropped.

#ifndef LEEWAY_DEVICE_LAUNCH_QUEUE_H_
#define LEEWAY_DEVICE_LAUNCH_QUEUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "leeway/time.h"

namespace leeway::device {

class LaunchQueue {
 public:
  using Call = std::uint32_t;

  // Requires issue >= 0 and depth >= 1.
  LaunchQueue(Nanos issue, std::uint32_t depth);

  // A call waits for the host. Smaller urgencies are more urgent.
  void Ask(Call call, std::uint64_t urgency);
  // A call that has not been issued is not wanted any more. One that the host is at still occupies
  // it for its time, but no place.
  void Drop(Call call);
  // An issued call has ended: its place is free.
  void Ended();

  // Returns a call that is issued now, or nothing.
  std::optional<Call> Next(Instant now);
  // When Next() returns a call if nothing else happens; Instant::Max() if that takes more.
  Instant due() const;

  std::uint32_t in_flight() const { return in_flight_; }

 private:
  struct Waiting {
    std::uint64_t urgency = 0, number = 0;
    Call call = 0;
  };
  // What the host is at, and until when it takes at least.
  struct Issuing {
    std::optional<Call> call;  // nothing once it was dropped
    Instant done;
  };

  void Begin(Instant now);
  bool HasPlace() const { return !issuing_->call || in_flight_ < depth_; }

  Nanos issue_;
  std::uint32_t depth_;
  std::uint32_t in_flight_ = 0;
  std::uint64_t asked_ = 0;
  std::vector<Waiting> waiting_;
  std::optional<Issuing> issuing_;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_LAUNCH_QUEUE_H_
