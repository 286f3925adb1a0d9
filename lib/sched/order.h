// What a policy decides: which request is more urgent, and which ready step goes first. All else of
// the scheduler is the same for every policy.
//
//             urgency of a request                 key of a step             a core takes
// leeway      admission + (priority − 1) · ageing  urgency, criticality      the best anywhere
// fifo        none: order of arrival               when it became ready      the best anywhere
// lifo-steal  none: order of arrival               the latest ready first    its own, else the
//                                                                            oldest of another's
// wfq         start tag of its stream              urgency, criticality      the best anywhere
//
// A slot is an ageing interval of urgency: ⌊admission / ageing⌋ + priority − 1. Who waits for whom
// is told, and requests are batched, by slots; within one the older run goes first, so that a run
// that has begun is not set back by a fresh one whose steps are all still critical.
//
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_ORDER_H_
#define LEEWAY_SCHED_ORDER_H_

#include <algorithm>
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
  // An interval beyond 2⁵¹ ns (26 days) counts as that.
  Order(Policy policy, Nanos ageing_interval)
      : policy_(policy),
        ageing_(static_cast<std::uint64_t>(std::min(ageing_interval, kLongest).count())) {}

  // A request comes: returns its urgency. Each is told of to Left() when it ends.
  std::uint64_t Admit(Instant now, StreamId stream, Priority priority);
  std::uint64_t SlotOf(std::uint64_t urgency) const {
    return policy_ == Policy::kLeeway ? urgency / ageing_ : urgency;
  }
  // Whether admission needs to know how long requests are.
  bool by_work() const { return policy_ == Policy::kWfq; }
  // The request just admitted will take the device `work` of core time.
  void Charge(StreamId stream, std::uint32_t weight, Nanos work) {
    tags_.Charge(stream, weight, work);
  }
  // A step of a run of this urgency starts.
  void Started(std::uint64_t urgency) {
    if (by_work()) tags_.Serve(urgency);
  }
  void Left(std::uint64_t urgency);

  // The key of a step that becomes ready now.
  Key KeyOf(std::uint64_t urgency, std::uint32_t criticality) const {
    if (by_urgency()) return Key::Of(urgency, criticality);
    return Key::Of(policy_ == Policy::kFifo ? readied_ : kNewest - readied_, 0);
  }
  // A step has become ready: the next one is newer.
  void Readied() { ++readied_; }
  // Whether a core takes the best of its own queue before it looks at others.
  bool own_first() const { return policy_ == Policy::kLifoSteal; }

 private:
  // A key holds urgency · 64: 2⁵³ ns of time and 63 intervals stay below 2⁵⁸.
  static constexpr Nanos kLongest{std::int64_t{1} << 51};
  static constexpr std::uint64_t kNewest = std::uint64_t{1} << 57;

  bool by_urgency() const { return policy_ == Policy::kLeeway || policy_ == Policy::kWfq; }

  Policy policy_;
  std::uint64_t ageing_;
  std::uint64_t readied_ = 0;
  // Live requests by urgency.
  absl::btree_map<std::uint64_t, std::uint64_t> live_;
  FairTags tags_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_ORDER_H_
