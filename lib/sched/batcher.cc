#include "sched/batcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace leeway::sched {
namespace {

DimValues EqualDims(const Model& model, const DimValues& dims) {
  DimValues equal;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (model.plan().dims[d].batch_rule == BatchRule::kEqual) equal.push_back(dims[d]);
  }
  return equal;
}

// Whether a batch of a variant, or of none yet, may grow to `dims`.
bool MayGrow(const Model& model, GraphId graph, const DimValues& dims) {
  return graph.valid() ? model.Covers(graph, dims) : model.AnyCovers(dims);
}

}  // namespace

Batcher::Batcher(const BatchPolicy& policy, const std::vector<StreamSpec>& streams)
    : policy_(policy), streams_(streams) {}

std::uint32_t Batcher::QueueOf(const Request& request) {
  const Model& model = *request.model;
  Binding binding(request.stream, request.version, request.graph, EqualDims(model, request.dims));
  if (const auto it = index_.find(binding); it != index_.end()) return it->second;
  // Emptied sub-queues are used again: bindings come and go with the values of EQUAL dims.
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(queues_.size()));
    queues_.emplace_back();
  }
  const std::uint32_t q = free_.back();
  free_.pop_back();
  queues_[q] = SubQueue();
  // The fallback runs requests one by one, at their own dims.
  queues_[q].max_batch = request.graph == model.generic()
                             ? 1
                             : std::min(policy_.max_batch_size, model.MaxBatch(request.graph));
  index_.emplace(binding, q);
  queues_[q].binding = std::move(binding);
  return q;
}

bool Batcher::Full(const SubQueue& queue) const {
  if (queue.size() >= queue.max_batch) return true;
  const auto& preferred = policy_.preferred_batch_size;
  return !preferred.empty() && queue.size() >= preferred.front();
}

Instant Batcher::RipeAt(const SubQueue& queue) const {
  const Instant oldest = queue.oldest().admitted;
  if (policy_.max_queue_delay >= Instant::Max() - oldest) return Instant::Max();
  return oldest + policy_.max_queue_delay;
}

void Batcher::Index(std::uint32_t q) {
  const SubQueue& queue = queues_[q];
  if (queue.size() == 0) return;
  if (Full(queue) || RipeAt(queue) <= now_) {
    due_.insert(RankOf(q));
  } else {
    ripening_.insert({RipeAt(queue), q});
  }
}

void Batcher::Recycle(std::uint32_t q) {
  if (queues_[q].size() > 0) return;
  index_.erase(queues_[q].binding);
  free_.push_back(q);
}

void Batcher::Unindex(std::uint32_t q) {
  const SubQueue& queue = queues_[q];
  if (queue.size() == 0) return;
  due_.erase(RankOf(q));
  ripening_.erase({RipeAt(queue), q});
}

void Batcher::Add(Request request) {
  now_ = std::max(now_, request.admitted);
  const std::uint32_t q = QueueOf(request);
  if (waiting_.size() < streams_.size()) waiting_.resize(streams_.size());
  ++waiting_[request.stream.value()];
  where_[request.id] = q;
  if (request.expires != Instant::Max()) expiring_[{request.expires, request.id}] = q;
  Unindex(q);
  queues_[q].fresh.push_back(std::move(request));
  Index(q);
}

void Batcher::Forget(const Request& request) {
  --waiting_[request.stream.value()];
  const auto where = where_.find(request.id);
  queues_[where->second].delayed_heads.erase(Head(request));
  where_.erase(where);
  if (request.expires != Instant::Max()) expiring_.erase({request.expires, request.id});
}

std::size_t Batcher::BatchLimit(const SubQueue& queue) const {
  const bool ripe = now_ >= RipeAt(queue);
  std::size_t limit = std::min<std::size_t>(queue.size(), queue.max_batch);
  if (ripe || limit == queue.max_batch) return limit;
  std::size_t preferred = limit;
  for (std::uint32_t size : policy_.preferred_batch_size) {
    if (size <= limit) preferred = size;
  }
  return preferred;
}

Batch Batcher::Form(SubQueue& queue, std::size_t limit) {
  Batch batch;
  batch.graph = std::get<GraphId>(queue.binding);
  const std::shared_ptr<Model> model =
      (queue.fresh.empty() ? queue.delayed : queue.fresh).front().model;
  while (batch.members.size() < limit) {
    std::deque<Request>& from = queue.fresh.empty() ? queue.delayed : queue.fresh;
    if (from.empty()) break;
    if (batch.members.empty()) {
      batch.dims = from.front().dims;
    } else {
      DimValues joined = batch.dims;
      // Of rule EQUAL a sub-queue holds one value, so that its members always join.
      LEEWAY_CHECK(model->Join(joined, from.front().dims));
      if (!MayGrow(*model, batch.graph, joined)) break;
      batch.dims = std::move(joined);
    }
    batch.members.push_back(std::move(from.front()));
    from.pop_front();
  }
  for (const Request& member : batch.members) Forget(member);
  if (batch.graph.valid()) return batch;
  // First come, first served: bound now, to what covers the members together.
  Result<std::optional<GraphId>> bound = model->Bind(batch.dims);
  if (bound.ok()) {
    batch.graph = bound->value_or(model->generic());
  } else {
    batch.status = bound.status();
  }
  return batch;
}

std::vector<Batcher::Front> Batcher::Fronts() const {
  std::vector<Front> fronts;
  for (std::uint32_t q = 0; q < queues_.size(); ++q) {
    if (queues_[q].size() > 0) fronts.push_back(FrontOf(q, 0));
  }
  std::make_heap(fronts.begin(), fronts.end(), std::greater<>());
  return fronts;
}

ExpectedBatch Batcher::Expect(const SubQueue& queue, std::size_t at) const {
  ExpectedBatch batch;
  batch.first = &queue.at(at);
  const Model& model = *batch.first->model;
  const std::size_t fits = model.MaxBatch(std::get<GraphId>(queue.binding), batch.first->dims);
  batch.members = std::min({queue.size() - at, std::size_t{queue.max_batch}, fits});
  // Fresh members come first, and the last of them is the newest.
  const std::size_t end = at + batch.members;
  const std::size_t fresh_end = std::min(end, queue.fresh.size());
  batch.newest = queue.at(at < fresh_end ? fresh_end - 1 : end - 1).id;
  return batch;
}

std::vector<Request> Batcher::Advance(Instant now) {
  now_ = now;
  std::vector<Request> expired = Expire(now);
  while (!ripening_.empty() && ripening_.begin()->first <= now) {
    const std::uint32_t q = ripening_.begin()->second;
    ripening_.erase(ripening_.begin());
    due_.insert(RankOf(q));
  }
  return expired;
}

std::optional<Batch> Batcher::Close() {
  if (due_.empty()) return std::nullopt;
  const std::uint32_t q = std::get<2>(*due_.begin());
  Unindex(q);
  Batch batch = Form(queues_[q], BatchLimit(queues_[q]));
  Index(q);
  Recycle(q);
  return batch;
}

std::vector<Request> Batcher::Expire(Instant now) {
  std::vector<Request> expired;
  while (!expiring_.empty() && expiring_.begin()->first.first <= now) {
    const RequestId id = expiring_.begin()->first.second;
    const std::uint32_t q = expiring_.begin()->second;
    std::optional<Request> request = TakeOut(id);
    LEEWAY_CHECK(request.has_value());
    if (streams_[request->stream.value()].timeout_action == TimeoutAction::kReject) {
      expired.push_back(std::move(*request));
      Recycle(q);
      continue;
    }
    request->expires = Instant::Max();
    ++waiting_[request->stream.value()];
    where_[id] = q;
    Unindex(q);
    queues_[q].delayed_heads.insert(Head(*request));
    queues_[q].delayed.push_back(std::move(*request));
    Index(q);
  }
  return expired;
}

std::optional<Request> Batcher::Remove(RequestId id) {
  const auto it = where_.find(id);
  if (it == where_.end()) return std::nullopt;
  const std::uint32_t q = it->second;
  std::optional<Request> removed = TakeOut(id);
  Recycle(q);
  return removed;
}

std::optional<Request> Batcher::TakeOut(RequestId id) {
  const auto it = where_.find(id);
  if (it == where_.end()) return std::nullopt;
  const std::uint32_t q = it->second;
  Unindex(q);
  std::optional<Request> removed;
  for (std::deque<Request>* part : {&queues_[q].fresh, &queues_[q].delayed}) {
    const auto found =
        std::find_if(part->begin(), part->end(), [&](const Request& r) { return r.id == id; });
    if (found == part->end()) continue;
    removed = std::move(*found);
    part->erase(found);
    break;
  }
  LEEWAY_CHECK(removed.has_value());
  Forget(*removed);
  Index(q);
  return removed;
}

Instant Batcher::next_timer() const {
  Instant next = Instant::Max();
  if (!ripening_.empty()) next = std::min(next, ripening_.begin()->first);
  if (!expiring_.empty()) next = std::min(next, expiring_.begin()->first.first);
  return next;
}

}  // namespace leeway::sched
