#include "sched/batcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace leeway::sched {
namespace {

DimValues EqualDims(const Model& model, const DimValues& dims) {
  DimValues equal;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (model.plan().dims[d].batch_rule == BatchRule::kEqual) equal.push_back(dims[d]);
  }
  return equal;
}

}  // namespace

Batcher::Batcher(const BatchPolicy& policy, const std::vector<StreamSpec>& streams)
    : policy_(policy), streams_(streams) {}

std::uint32_t Batcher::QueueOf(const Request& request) {
  const Model& model = *streams_[request.stream.value()].model;
  Binding binding(request.stream, request.graph, EqualDims(model, request.dims));
  const auto [it, fresh] = index_.try_emplace(binding, static_cast<std::uint32_t>(queues_.size()));
  if (fresh) {
    SubQueue& queue = queues_.emplace_back();
    queue.binding = std::move(binding);
    // The fallback runs requests one by one, at their own dims.
    queue.max_batch = request.graph == model.generic() ? 1 : policy_.max_batch_size;
  }
  return it->second;
}

bool Batcher::Full(const SubQueue& queue) const {
  if (queue.size() >= queue.max_batch) return true;
  const auto& preferred = policy_.preferred_batch_size;
  return !preferred.empty() && queue.size() >= preferred.front();
}

void Batcher::Index(std::uint32_t q) {
  const SubQueue& queue = queues_[q];
  if (queue.size() == 0) return;
  const Request& head = queue.head();
  if (Full(queue) || head.admitted + policy_.max_queue_delay <= now_) {
    due_.insert({head.slot, head.id, q});
  } else {
    ripening_.insert({head.admitted + policy_.max_queue_delay, q});
  }
}

void Batcher::Unindex(std::uint32_t q) {
  const SubQueue& queue = queues_[q];
  if (queue.size() == 0) return;
  const Request& head = queue.head();
  due_.erase({head.slot, head.id, q});
  ripening_.erase({head.admitted + policy_.max_queue_delay, q});
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
  where_.erase(request.id);
  if (request.expires != Instant::Max()) expiring_.erase({request.expires, request.id});
}

std::size_t Batcher::BatchLimit(const SubQueue& queue) const {
  const bool ripe = now_ >= queue.head().admitted + policy_.max_queue_delay;
  std::size_t limit = std::min<std::size_t>(queue.size(), queue.max_batch);
  if (ripe || limit == queue.max_batch) return limit;
  std::size_t preferred = limit;
  for (std::uint32_t size : policy_.preferred_batch_size) {
    if (size <= limit) preferred = size;
  }
  return preferred;
}

Status Batcher::BindFirstCome(SubQueue& queue, Batch& batch) {
  Model& model = *streams_[batch.members.front().stream.value()].model;
  while (true) {
    LEEWAY_ASSIGN_OR_RETURN(const std::optional<GraphId> bound, model.Bind(batch.dims));
    if (bound || batch.members.size() == 1) {
      batch.graph = bound.value_or(model.generic());
      return Status();
    }
    // No variant covers so many together: the last goes back to the front.
    queue.fresh.push_front(std::move(batch.members.back()));
    batch.members.pop_back();
    batch.dims = batch.members.front().dims;
    for (std::size_t i = 1; i < batch.members.size(); ++i) {
      LEEWAY_CHECK(model.Join(batch.dims, batch.members[i].dims));
    }
  }
}

Result<Batch> Batcher::Form(SubQueue& queue, std::size_t limit) {
  Batch batch;
  batch.graph = std::get<GraphId>(queue.binding);
  Model& model = *streams_[std::get<StreamId>(queue.binding).value()].model;
  while (batch.members.size() < limit) {
    std::deque<Request>& from = queue.fresh.empty() ? queue.delayed : queue.fresh;
    if (from.empty()) break;
    if (batch.members.empty()) {
      batch.dims = from.front().dims;
    } else {
      DimValues joined = batch.dims;
      if (!model.Join(joined, from.front().dims)) break;
      if (batch.graph.valid() && !model.Covers(batch.graph, joined)) break;
      batch.dims = std::move(joined);
    }
    batch.members.push_back(std::move(from.front()));
    from.pop_front();
  }
  if (!batch.graph.valid()) LEEWAY_RETURN_IF_ERROR(BindFirstCome(queue, batch));
  for (const Request& member : batch.members) Forget(member);
  return batch;
}

std::vector<Request> Batcher::Advance(Instant now) {
  now_ = now;
  std::vector<Request> expired = Expire(now);
  while (!ripening_.empty() && ripening_.begin()->first <= now) {
    const std::uint32_t q = ripening_.begin()->second;
    ripening_.erase(ripening_.begin());
    due_.insert({queues_[q].head().slot, queues_[q].head().id, q});
  }
  return expired;
}

Result<std::optional<Batch>> Batcher::Close() {
  if (due_.empty()) return std::optional<Batch>();
  const std::uint32_t q = std::get<2>(*due_.begin());
  Unindex(q);
  Result<Batch> batch = Form(queues_[q], BatchLimit(queues_[q]));
  Index(q);
  if (!batch.ok()) return batch.status();
  return std::optional<Batch>(std::move(*batch));
}

std::vector<Request> Batcher::Expire(Instant now) {
  std::vector<Request> expired;
  while (!expiring_.empty() && expiring_.begin()->first.first <= now) {
    const RequestId id = expiring_.begin()->first.second;
    const std::uint32_t q = expiring_.begin()->second;
    std::optional<Request> request = Remove(id);
    LEEWAY_CHECK(request.has_value());
    if (streams_[request->stream.value()].timeout_action == TimeoutAction::kReject) {
      expired.push_back(std::move(*request));
      continue;
    }
    request->expires = Instant::Max();
    ++waiting_[request->stream.value()];
    where_[id] = q;
    Unindex(q);
    queues_[q].delayed.push_back(std::move(*request));
    Index(q);
  }
  return expired;
}

std::optional<Request> Batcher::Remove(RequestId id) {
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
  Index(q);
  LEEWAY_CHECK(removed.has_value());
  Forget(*removed);
  return removed;
}

Instant Batcher::next_timer() const {
  Instant next = Instant::Max();
  if (!ripening_.empty()) next = std::min(next, ripening_.begin()->first);
  if (!expiring_.empty()) next = std::min(next, expiring_.begin()->first.first);
  return next;
}

}  // namespace leeway::sched
