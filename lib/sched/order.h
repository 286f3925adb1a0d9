// What a policy decides: which request is more urgent, and which ready step goes first. All else of
// the scheduler is the same for every policy.
//
//             urgency of a request                 key of a step             a core takes
// leeway      admission / ageing + priority        urgency, criticality      the best anywhere
// fifo        none: order of arrival               when it became ready      the best anywhere
// lifo-steal  none: order of arrival               the latest ready first    its own, else the
//                                                                            oldest of another's
// wfq         start tag of its stream              urgency, criticality      the best anywhere
//
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_ORDER_H_
#define LEEWAY_SCHED_ORDER_H_

#include <cstdint>

#include "absl/container/btree_map.h"
#include "leeway/policy.h"
#include "leeway/time.h"
#include "sched/fair_tags.h"
#include "sched/ready_queue.h"
#include "sched/request.h"

namespace leeway::sched {

// Of a stream that was given none: 1024 for priority 1, half for each level less urgent, at least
// 1.
std::uint32_t WeightOf(const StreamSpec& stream);

class Order {
 public:
  Order(Policy policy, Nanos ageing_interval) : policy_(policy), ageing_(ageing_interval) {}

  // A request comes: returns its slot. Each is told of to Left() when it ends.
  std::uint64_t Admit(Instant now, StreamId stream, Priority priority);
  // Whether admission needs to know how long requests are.
  bool by_work() const { return policy_ == Policy::kWfq; }
  // The request just admitted will take the device `work` of core time.
  void Charge(StreamId stream, std::uint32_t weight, Nanos work) {
    tags_.Charge(stream, weight, work);
  }
  // A step of this slot starts.
  void Started(std::uint64_t slot) {
    if (by_work()) tags_.Serve(slot);
  }
  void Left(std::uint64_t slot);

  // The key of a step that becomes ready now.
  Key KeyOf(std::uint64_t slot, std::uint32_t criticality) const {
    if (by_urgency()) return Key::Of(slot, criticality);
    return Key::Of(policy_ == Policy::kFifo ? readied_ : kNewest - readied_, 0);
  }
  // A step has become ready: the next one is newer.
  void Readied() { ++readied_; }
  // Whether a core takes the best of its own queue before it looks at others.
  bool own_first() const { return policy_ == Policy::kLifoSteal; }

 private:
  static constexpr std::uint64_t kNewest = std::uint64_t{1} << 57;

  bool by_urgency() const { return policy_ == Policy::kLeeway || policy_ == Policy::kWfq; }

  Policy policy_;
  Nanos ageing_;
  std::uint64_t readied_ = 0;
  // Live requests by slot.
  absl::btree_map<std::uint64_t, std::uint64_t> live_slots_;
  FairTags tags_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_ORDER_H_
