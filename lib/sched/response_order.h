// Responses of one stream in the order of its submits (Triton's preserve_ordering): what is done
// waits here until every request that was submitted before it has ended, however it did.
//
// Memory:    that of the stream's requests that have not ended.
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_RESPONSE_ORDER_H_
#define LEEWAY_SCHED_RESPONSE_ORDER_H_

#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "sched/request.h"

namespace leeway::sched {

class ResponseOrder {
 public:
  void Submitted(RequestId request) { open_.insert(request); }

  // Whether a request that was submitted before has not ended.
  bool MustWait(RequestId request) const { return !open_.empty() && *open_.begin() < request; }
  void Hold(const Request& request) { held_.emplace(request.id, request); }

  // A request has ended that is not held.
  void Ended(RequestId request) { open_.erase(request); }

  // The next held request that nothing precedes any more, which ends with this.
  std::optional<Request> Next() {
    if (held_.empty() || MustWait(held_.begin()->first)) return std::nullopt;
    return Take(held_.begin()->first);
  }

  // Takes a held request out before its turn, or nothing if it is not here.
  std::optional<Request> Take(RequestId request) {
    const auto held = held_.find(request);
    if (held == held_.end()) return std::nullopt;
    std::optional<Request> taken(std::move(held->second));
    held_.erase(held);
    open_.erase(request);
    return taken;
  }

  std::size_t held() const { return held_.size(); }

 private:
  absl::btree_set<RequestId> open_;  // have not ended, held ones included
  absl::btree_map<RequestId, Request> held_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_RESPONSE_ORDER_H_
