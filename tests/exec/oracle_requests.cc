// Requests and batches of the brute-force simulator.

#include <algorithm>
#include <functional>

#include "tests/exec/oracle_simulator.h"

namespace leeway::testing::oracle {
namespace {

// Places of those that go behind all others of their sub-queue, in order.
constexpr std::size_t kBehind = kNone / 2;

}  // namespace

bool Simulator::Covers(std::size_t graph, const Dims& dims) const {
  return graphs_[graph].variant == nullptr || plan::Covers(*graphs_[graph].variant, dims);
}

Dims Simulator::Padded(std::size_t graph, Dims dims) const {
  const plan::Variant* variant = graphs_[graph].variant;
  for (std::size_t d = 0; variant != nullptr && d < dims.size(); ++d) {
    const plan::Range& range = variant->envelope[d];
    const std::int64_t up = (dims[d] + range.granule - 1) / range.granule * range.granule;
    dims[d] = range.mode == plan::ShapeMode::kPadded ? range.max : std::min(up, range.max);
  }
  return dims;
}

// Predicted for a run at these dims: the longest path, a body as often as it repeats.
Time Simulator::TimeOf(std::size_t graph, const Dims& dims) const {
  const auto table = costs_.at(graph, Padded(graph, dims));
  const Graph& g = graphs_[graph];
  std::function<Time(std::size_t)> path = [&](std::size_t frame) {
    std::map<std::size_t, Time> end;
    Time longest = 0;
    for (std::size_t n = g.frames[frame].first; n < g.frames[frame].first + g.frames[frame].count;
         ++n) {
      Time start = 0;
      for (std::size_t p : g.nodes[n].before) start = std::max(start, end[p]);
      const plan::Call* call = g.nodes[n].call;
      end[n] = start + (call ? call->times(table->dims) * path(g.nodes[n].body)
                             : table->predicted[n].count());
      longest = std::max(longest, end[n]);
    }
    return longest;
  };
  return path(0);
}

// Predicted for one of as many requests as the opt batch has room for.
Time Simulator::TimePerRequest(std::size_t graph, const Dims& dims) const {
  const plan::Variant& variant = *graphs_[graph].variant;
  Dims batch = dims;
  std::int64_t requests = kNever;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!plan::IsBatchDim(config_.plan->dims[d])) continue;
    requests = std::min(requests, std::max<std::int64_t>(variant.envelope[d].opt / dims[d], 1));
  }
  if (requests == kNever) requests = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (plan::IsBatchDim(config_.plan->dims[d])) batch[d] *= requests;
  }
  return TimeOf(graph, batch) / requests;
}

// Of the variants that cover a closed batch the fastest for it; of equals the one that was bound,
// then by name.
std::size_t Simulator::FastestFor(std::size_t bound, const Dims& dims) const {
  if (graphs_[bound].variant == nullptr) return bound;
  std::size_t best = bound;
  for (std::size_t g : by_name_) {
    if (Covers(g, dims) && TimeOf(g, dims) < TimeOf(best, dims)) best = g;
  }
  return best;
}

// The variant of least predicted time per request, by name on ties; else the generic graph.
std::size_t Simulator::Bind(const Dims& dims) const {
  std::size_t best = graphs_.size() - 1;
  Time least = kNever;
  for (std::size_t g : by_name_) {
    if (!Covers(g, dims)) continue;
    const Time time = TimePerRequest(g, dims);
    if (time >= least) continue;
    best = g;
    least = time;
  }
  return best;
}

bool Simulator::Join(Dims& batch, const Dims& member) const {
  for (std::size_t d = 0; d < batch.size(); ++d) {
    switch (config_.plan->dims[d].batch_rule) {
      case BatchRule::kMax:
        batch[d] = std::max(batch[d], member[d]);
        break;
      case BatchRule::kEqual:
        if (batch[d] != member[d]) return false;
        break;
      case BatchRule::kSum:
      case BatchRule::kCount:
        batch[d] += member[d];
        break;
    }
  }
  return true;
}

// Whether an earlier request of the stream has not ended, and its order is kept.
bool Simulator::MustWait(std::size_t r) const {
  const exec::SimStream& stream = config_.streams[requests_[r].stream];
  if (!stream.preserve_ordering.value_or(false)) return false;
  for (std::size_t earlier = 0; earlier < r; ++earlier) {
    if (requests_[earlier].stream != requests_[r].stream) continue;
    if (requests_[earlier].state != Request::State::kEnded) return true;
  }
  return false;
}

void Simulator::End(std::size_t r, Outcome outcome) {
  if (outcome == Outcome::kOk && MustWait(r)) {
    requests_[r].state = Request::State::kHeld;
    ++result_.held_responses;
    return;
  }
  requests_[r].state = Request::State::kEnded;
  result_.ends[r] = {now_, outcome};
  for (std::size_t later = r + 1; later < requests_.size(); ++later) {
    if (requests_[later].state == Request::State::kHeld && !MustWait(later)) {
      return End(later, Outcome::kOk);
    }
  }
}

void Simulator::Submit(std::size_t r) {
  Request& request = requests_[r];
  const auto priority = config_.streams[request.stream].priority.level();
  const auto interval = static_cast<std::uint64_t>(config_.serving.ageing_interval.count());
  request.urgency =
      static_cast<std::uint64_t>(now_) + static_cast<std::uint64_t>(priority - 1) * interval;
  std::size_t waiting = 0;
  for (const Request& other : requests_) {
    waiting += other.state == Request::State::kHeld && other.stream == request.stream;
    if (other.state != Request::State::kWaiting && other.state != Request::State::kRunning) {
      continue;
    }
    // At most 63 intervals behind the most urgent live one.
    request.urgency = std::min(request.urgency, other.urgency + 63 * interval);
    waiting += other.state == Request::State::kWaiting && other.stream == request.stream;
  }
  request.slot = request.urgency / interval;
  request.graph = Bind(request.dims);
  request.place = places_++;
  if (request.graph + 1 == graphs_.size()) {
    ++result_.fallbacks;
    if (config_.serving.fallback == Fallback::kReject) return End(r, Outcome::kRejected);
  } else if (config_.serving.batching.formation == BatchingOptions::Formation::kFirstCome) {
    request.graph = kNone;
  }
  const int bound = config_.serving.queue.max_queue_size;
  if (bound > 0 && waiting >= static_cast<std::size_t>(bound)) return End(r, Outcome::kRejected);
  request.state = Request::State::kWaiting;
  CloseDue();
}

void Simulator::Cancel(std::size_t r) {
  if (requests_[r].state == Request::State::kHeld) return End(r, Outcome::kCancelled);
  if (requests_[r].state == Request::State::kWaiting) {
    End(r, Outcome::kCancelled);
    return CloseDue();
  }
  requests_[r].cancelled = true;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    if (!run.live || std::count(run.members.begin(), run.members.end(), r) == 0) continue;
    // Nobody waits for the rest once all members are gone: what runs is left to end.
    run.failed = std::all_of(run.members.begin(), run.members.end(),
                             [&](std::size_t m) { return requests_[m].cancelled; });
    if (run.failed && run.in_flight == 0) EndRun(i);
    return;
  }
}

// ---- Batches.

std::map<Simulator::Binding, Simulator::SubQueue> Simulator::SubQueues() const {
  std::map<Binding, SubQueue> queues;
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    const Request& request = requests_[r];
    if (request.state != Request::State::kWaiting) continue;
    Dims equal;
    for (std::size_t d = 0; d < request.dims.size(); ++d) {
      if (config_.plan->dims[d].batch_rule == BatchRule::kEqual) equal.push_back(request.dims[d]);
    }
    SubQueue& queue = queues[{request.stream, request.graph, equal}];
    if (queue.members.empty()) queue.oldest = r, queue.slot = request.slot;
    queue.slot = std::min(queue.slot, request.slot);
    queue.members.push_back(r);
  }
  const BatchingOptions& batching = config_.serving.batching;
  for (auto& [binding, queue] : queues) {
    std::stable_sort(queue.members.begin(), queue.members.end(), [&](std::size_t a, std::size_t b) {
      return requests_[a].place < requests_[b].place;
    });
    queue.ripe = After(requests_[queue.oldest].admitted, batching.max_queue_delay.count());
    // The most that the variant, or where none is bound yet any of them, has room for.
    std::int64_t room = 1;
    for (std::size_t g : by_name_) {
      if (std::get<1>(binding) != kNone && std::get<1>(binding) != g) continue;
      std::int64_t of_variant = kNever;
      for (std::size_t d = 0; d < config_.plan->dims.size(); ++d) {
        if (config_.plan->dims[d].batch_rule != BatchRule::kCount) continue;
        of_variant = std::min(of_variant, graphs_[g].variant->envelope[d].max);
      }
      room = std::max(room, of_variant);
    }
    queue.most = static_cast<std::size_t>(std::min<std::int64_t>(room, batching.max_batch_size));
    queue.full = queue.members.size() >= queue.most;
    for (int size : batching.preferred_batch_size) {
      queue.full = queue.full || queue.members.size() >= static_cast<std::size_t>(size);
    }
  }
  return queues;
}

void Simulator::ExpireDue() {
  while (true) {
    std::size_t first = kNone;
    for (std::size_t r = 0; r < requests_.size(); ++r) {
      if (requests_[r].state != Request::State::kWaiting || requests_[r].expires > now_) continue;
      if (first == kNone || requests_[r].expires < requests_[first].expires) first = r;
    }
    if (first == kNone) return;
    if (config_.serving.queue.timeout_action == TimeoutAction::kReject) {
      End(first, Outcome::kExpired);
    } else {
      requests_[first].expires = kNever;
      requests_[first].place = kBehind + places_++;
    }
  }
}

Time Simulator::NextTimer() const {
  Time next = kNever;
  for (const Request& request : requests_) {
    if (request.state == Request::State::kWaiting) next = std::min(next, request.expires);
  }
  for (const auto& [binding, queue] : SubQueues()) {
    if (!queue.full && queue.ripe > now_) next = std::min(next, queue.ripe);
  }
  return next;
}

void Simulator::CloseDue() {
  // A run that ends as it begins frees its place for the batch that is looked for next.
  if (closing_) return;
  closing_ = true;
  ExpireDue();
  while (true) {
    const auto live =
        std::count_if(runs_.begin(), runs_.end(), [](const Run& r) { return r.live; });
    if (static_cast<std::size_t>(live) >= most_runs_) break;
    const auto queues = SubQueues();
    const SubQueue* best = nullptr;
    for (const auto& [binding, queue] : queues) {
      if (!queue.full && queue.ripe > now_) continue;
      if (best == nullptr ||
          std::pair(queue.slot, queue.oldest) < std::pair(best->slot, best->oldest)) {
        best = &queue;
      }
    }
    if (best == nullptr) break;
    StartBatch(*best);
  }
  if (const Time next = NextTimer(); next != timer_) {
    timer_ = next;
    if (next != kNever) timers_.insert(std::max(next, now_));
  }
  closing_ = false;
}

void Simulator::StartBatch(const SubQueue& queue) {
  std::size_t limit = std::min(queue.members.size(), queue.most);
  if (queue.ripe > now_ && limit < queue.most) {
    // Not for its age: the largest preferred size that is there.
    std::size_t preferred = 0;
    for (int size : config_.serving.batching.preferred_batch_size) {
      if (static_cast<std::size_t>(size) <= limit) {
        preferred = std::max(preferred, static_cast<std::size_t>(size));
      }
    }
    limit = preferred;
  }
  std::size_t graph = requests_[queue.members.front()].graph;
  Run run;
  Dims dims = requests_[queue.members.front()].dims;
  run.urgency = requests_[queue.members.front()].urgency;
  for (std::size_t m : queue.members) {
    if (run.members.size() == limit) break;
    Dims joined = dims;
    if (!run.members.empty()) {
      if (!Join(joined, requests_[m].dims)) break;
      const bool covered = graph != kNone
                               ? Covers(graph, joined)
                               : std::any_of(by_name_.begin(), by_name_.end(),
                                             [&](std::size_t g) { return Covers(g, joined); });
      if (!covered) break;
    }
    dims = joined;
    run.members.push_back(m);
    run.urgency = std::min(run.urgency, requests_[m].urgency);
  }
  if (graph == kNone) graph = Bind(dims);
  graph = FastestFor(graph, dims);
  for (std::size_t m : run.members) requests_[m].state = Request::State::kRunning;
  run.graph = &graphs_[graph];
  run.costs = costs_.at(graph, Padded(graph, dims));
  run.nodes.resize(run.graph->nodes.size());
  run.frames.resize(run.graph->frames.size());
  runs_.push_back(std::move(run));
  Cascade cascade;
  cascade.run = runs_.size() - 1;
  cascade.starting = true;
  StartBody(cascade, 0);
  Follow(cascade);
}

void Simulator::EndRun(std::size_t r) {
  for (std::size_t m : runs_[r].members) {
    End(m, requests_[m].cancelled ? Outcome::kCancelled : Outcome::kOk);
  }
  runs_[r].live = false;
  CloseDue();
}

}  // namespace leeway::testing::oracle
