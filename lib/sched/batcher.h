// Forms batches: one sub-queue per (stream, binding), so that a batch never mixes variants.
//
// A sub-queue is due when a maximum or preferred batch is there or its oldest member has waited
// max_queue_delay. Of the due, the smallest slot goes first, then the oldest. Members are taken in
// order of arrival, after them those that a DELAY stream put behind, in order of expiry. A batch
// that closes before its delay is over has the largest preferred size that is there; it ends before
// the first member with which its variant would not cover it.
//
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_BATCHER_H_
#define LEEWAY_SCHED_BATCHER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "sched/request.h"

namespace leeway::sched {

struct BatchPolicy {
  std::uint32_t max_batch_size = 8;
  std::vector<std::uint32_t> preferred_batch_size;  // rising
  Nanos max_queue_delay{0};
  enum class Formation { kByBucket, kFirstCome } formation = Formation::kByBucket;
};

struct Batch {
  // Why the members cannot run: the cost model's error while they were bound.
  Status status;
  std::vector<Request> members;  // in order of arrival
  GraphId graph;
  DimValues dims;  // the members' combined actual dims
};

// A batch that would close if no request came any more.
struct ExpectedBatch {
  const Request* first = nullptr;
  std::size_t members = 0;
  RequestId newest = 0;
};

class Batcher {
 public:
  Batcher(const BatchPolicy& policy, const std::vector<StreamSpec>& streams);

  // Takes a request in. By bucket, its graph is bound already.
  void Add(Request request);

  // Goes to `now`: sub-queues whose delay is over become due. Takes out the requests whose time ran
  // out, in order of expiry; those of a DELAY stream stay and go behind the others of their
  // sub-queue.
  std::vector<Request> Advance(Instant now);

  // Closes the next batch that is due at the time of the last Advance or Add, or returns nothing if
  // none is.
  std::optional<Batch> Close();

  // Takes a waiting request out, if it is here.
  std::optional<Request> Remove(RequestId id);

  // Calls visit(const ExpectedBatch&) for these batches in the order in which they would close if
  // all were due, until it returns false. Members of a sub-queue are taken to be like the first of
  // each batch.
  template <typename Visit>
  void ForEachExpected(Visit visit) const {
    std::vector<Front> fronts = Fronts();
    while (!fronts.empty()) {
      std::pop_heap(fronts.begin(), fronts.end(), std::greater<>());
      const Front front = fronts.back();
      fronts.pop_back();
      const SubQueue& queue = queues_[std::get<2>(front.rank)];
      const ExpectedBatch batch = Expect(queue, front.at);
      if (!visit(batch)) return;
      if (front.at + batch.members == queue.size()) continue;
      fronts.push_back(FrontOf(std::get<2>(front.rank), front.at + batch.members));
      std::push_heap(fronts.begin(), fronts.end(), std::greater<>());
    }
  }

  // When Advance next has something to do; Max if never.
  Instant next_timer() const;

  std::size_t waiting(StreamId stream) const {
    return stream.value() < waiting_.size() ? waiting_[stream.value()] : 0;
  }
  std::size_t waiting() const { return where_.size(); }
  // Sub-queues that memory is kept for: the most that have held requests at once.
  std::size_t sub_queues() const { return queues_.size(); }

 private:
  // The stream, which of its plans, the variant; EQUAL dims are part of a binding.
  using Binding = std::tuple<StreamId, std::uint32_t, GraphId, DimValues>;
  // What a sub-queue's age and urgency follow from.
  struct Head {
    RequestId id = 0;
    std::uint64_t slot = 0;
    Instant admitted;
    explicit Head(const Request& r) : id(r.id), slot(r.slot), admitted(r.admitted) {}
    friend bool operator<(const Head& a, const Head& b) { return a.id < b.id; }
  };
  struct SubQueue {
    Binding binding;
    // In order of arrival, and in order of expiry: timeouts of their own let requests overtake.
    std::deque<Request> fresh, delayed;
    absl::btree_set<Head> delayed_heads;
    std::uint32_t max_batch = 1;
    Head oldest() const {
      if (delayed.empty()) return Head(fresh.front());
      const Head& late = *delayed_heads.begin();
      return fresh.empty() || late < Head(fresh.front()) ? late : Head(fresh.front());
    }
    std::size_t size() const { return fresh.size() + delayed.size(); }
    // In the order in which they leave.
    const Request& at(std::size_t i) const {
      return i < fresh.size() ? fresh[i] : delayed[i - fresh.size()];
    }
  };
  // Order among the due.
  using Rank = std::tuple<std::uint64_t, RequestId, std::uint32_t>;

  // Where an expected batch of a sub-queue begins.
  struct Front {
    Rank rank;
    std::size_t at = 0;
    friend bool operator>(const Front& a, const Front& b) { return a.rank > b.rank; }
  };

  Front FrontOf(std::uint32_t queue, std::size_t at) const {
    const Request& first = queues_[queue].at(at);
    return {{first.slot, first.id, queue}, at};
  }
  std::vector<Front> Fronts() const;  // a heap
  ExpectedBatch Expect(const SubQueue& queue, std::size_t at) const;
  std::uint32_t QueueOf(const Request& request);
  Rank RankOf(std::uint32_t queue) const {
    const Head oldest = queues_[queue].oldest();
    return {oldest.slot, oldest.id, queue};
  }
  // When the oldest member has waited the delay; Max if it never will have.
  Instant RipeAt(const SubQueue& queue) const;
  bool Full(const SubQueue& queue) const;
  void Index(std::uint32_t queue);
  void Unindex(std::uint32_t queue);
  // Frees a sub-queue that has emptied.
  void Recycle(std::uint32_t queue);
  std::optional<Request> TakeOut(RequestId id);
  std::size_t BatchLimit(const SubQueue& queue) const;
  Batch Form(SubQueue& queue, std::size_t limit);
  std::vector<Request> Expire(Instant now);
  void Forget(const Request& request);

  BatchPolicy policy_;
  const std::vector<StreamSpec>& streams_;
  std::vector<SubQueue> queues_;
  std::vector<std::uint32_t> free_;
  absl::btree_map<Binding, std::uint32_t> index_;
  absl::btree_set<Rank> due_;                                    // of them, the due ones
  absl::btree_set<std::pair<Instant, std::uint32_t>> ripening_;  // the others, by when they are due
  absl::btree_map<std::pair<Instant, RequestId>, std::uint32_t> expiring_;
  absl::btree_map<RequestId, std::uint32_t> where_;
  std::vector<std::size_t> waiting_;
  Instant now_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_BATCHER_H_
