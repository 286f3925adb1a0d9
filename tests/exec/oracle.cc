#include "tests/exec/oracle.h"

#include <algorithm>
#include <utility>

#include "tests/exec/oracle_simulator.h"

namespace leeway::testing {
namespace oracle {

Simulator::Simulator(const exec::SimConfig& config, const std::vector<exec::SimArrival>& arrivals,
                     const OracleCosts& costs)
    : config_(config), costs_(costs) {
  for (const plan::Entry& entry : config.plan->entries) {
    if (!entry.internal) entry_ = &entry;
  }
  for (std::size_t v = 0; v < entry_->variants.size(); ++v) by_name_.push_back(v);
  std::stable_sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
    return entry_->variants[a].name < entry_->variants[b].name;
  });
  graphs_ = MakeGraphs(config, *entry_, costs);
  for (const Graph& graph : graphs_) {
    for (const Node& node : graph.nodes) weighs_ = weighs_ || node.weighed;
  }
  asks_ = weighs_;
  for (std::size_t c = 0; c < config.device->classes.size(); ++c) {
    const device::CoreClass& of = config.device->classes[c];
    for (std::size_t i = 0; i < of.count; ++i) {
      Core core;
      core.of_class = c;
      core.depth = std::max(1u, of.launch_depth);
      asks_ = asks_ || core.depth > 1;
      cores_.push_back(std::move(core));
    }
  }
  most_runs_ = config.serving.max_concurrent_runs > 0
                   ? static_cast<std::size_t>(config.serving.max_concurrent_runs)
                   : config.device->accelerator_count();
  for (const exec::SimArrival& arrival : arrivals) {
    Request request;
    request.stream = arrival.stream;
    request.admitted = arrival.at.count();
    request.cancel = After(request.admitted, arrival.cancel_after.count());
    const QueueOptions& queue = config.serving.queue;
    const bool own = queue.allow_timeout_override && arrival.timeout > Nanos{0};
    const Nanos timeout = own ? arrival.timeout : queue.default_timeout;
    if (timeout > Nanos{0}) request.expires = After(request.admitted, timeout.count());
    request.dims.assign(arrival.dims.begin(), arrival.dims.end());
    for (std::size_t d = 0; d < request.dims.size(); ++d) {
      if (config.plan->dims[d].batch_rule == BatchRule::kCount) request.dims[d] = 1;
    }
    requests_.push_back(std::move(request));
  }
  result_.ends.resize(requests_.size());
}

// ---- The device.

void Simulator::Begin(std::size_t c) {
  Core& core = cores_[c];
  const Step& step = core.in_flight.front();
  const Run& run = runs_[step.run];
  core.cost = run.costs->costs[step.node * run.costs->classes + core.of_class];
  core.phase = Core::Phase::kHead;
  core.began = now_;
  core.phase_end = now_ + (core.cost.launch + core.cost.fill).count();
  if (run.nodes[step.node].first) core.phase_end += config_.device->run_launch.count();
}

// Ends what is due; true if anything was.
bool Simulator::EndPhases() {
  bool any = false;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    Core& core = cores_[c];
    const bool moves = core.phase == Core::Phase::kBody && core.cost.body_bytes > 0;
    if (moves ? core.bytes_left > 0 : core.phase_end > now_) continue;
    any = true;
    if (core.phase == Core::Phase::kHead) {
      core.phase = Core::Phase::kBody;
      core.bytes_left = core.cost.body_bytes;
      core.phase_end = core.bytes_left > 0 ? kNever : now_ + core.cost.compute.count();
    } else if (core.phase == Core::Phase::kBody) {
      core.phase = Core::Phase::kTail;
      core.phase_end = now_ + core.cost.drain.count();
    } else {
      core.phase = Core::Phase::kDone;
      core.phase_end = kNever;
      const Step& step = core.in_flight.front();
      result_.steps.push_back({step.run, step.node, step.shard, step.round, c, core.began, now_});
      asked_.insert(c);
    }
  }
  return any;
}

// Max–min fair: whoever wants no more than an equal part of what is left gets what it wants; when
// all others want more, they get equal parts.
void Simulator::ShareBandwidth() {
  std::vector<Core*> sharing;
  for (Core& core : cores_) {
    if (core.phase == Core::Phase::kBody && core.cost.body_bytes > 0) sharing.push_back(&core);
  }
  std::int64_t left = config_.device->dram_rate();
  while (!sharing.empty()) {
    const std::int64_t part = left / static_cast<std::int64_t>(sharing.size());
    const auto modest = std::find_if(sharing.begin(), sharing.end(),
                                     [&](const Core* core) { return core->cost.cap <= part; });
    if (modest == sharing.end()) {
      for (Core* core : sharing) core->rate = part;
      return;
    }
    (*modest)->rate = (*modest)->cost.cap;
    left -= (*modest)->rate;
    sharing.erase(modest);
  }
}

Time Simulator::NextPhaseEnd() const {
  Time next = kNever;
  for (const Core& core : cores_) {
    next = std::min(next, core.phase_end);
    if (core.phase != Core::Phase::kBody || core.cost.body_bytes == 0) continue;
    next = std::min(next, now_ + (core.bytes_left + core.rate - 1) / core.rate);
  }
  return next;
}

void Simulator::GoTo(Time at) {
  for (Core& core : cores_) {
    if (core.phase != Core::Phase::kBody || core.cost.body_bytes == 0) continue;
    core.bytes_left = std::max<std::int64_t>(0, core.bytes_left - core.rate * (at - now_));
  }
  now_ = at;
  while (EndPhases()) {
  }
}

// An instant: what ends; who gives up, in the order of giving up; who comes; then cores look, the
// first first, until none has anything to do.
OracleResult Simulator::Serve() {
  std::size_t arrived = 0;
  while (true) {
    ShareBandwidth();
    Time at = NextPhaseEnd();
    if (!timers_.empty()) at = std::min(at, *timers_.begin());
    if (arrived < requests_.size()) at = std::min(at, requests_[arrived].admitted);
    auto live = [](const Request& r) {
      return r.state == Request::State::kWaiting || r.state == Request::State::kRunning ||
             r.state == Request::State::kHeld;
    };
    for (const Request& r : requests_) {
      if (live(r) && !r.cancelled) at = std::min(at, r.cancel);
    }
    if (at == kNever) break;
    GoTo(at);
    for (; !timers_.empty() && *timers_.begin() <= now_; timers_.erase(timers_.begin())) {
      asked_.insert(0);
    }
    while (true) {
      std::size_t first = kNone;
      for (std::size_t r = 0; r < arrived; ++r) {
        if (!live(requests_[r]) || requests_[r].cancelled || requests_[r].cancel > now_) continue;
        if (first == kNone || requests_[r].cancel < requests_[first].cancel) first = r;
      }
      if (first == kNone) break;
      Cancel(first);
    }
    while (arrived < requests_.size() && requests_[arrived].admitted <= now_) Submit(arrived++);
    for (std::size_t c = WhoLooks(); c != kNone; c = WhoLooks()) {
      asked_.erase(c);
      Look(c);
    }
  }
  result_.runs = runs_.size();
  return std::move(result_);
}

}  // namespace oracle

OracleResult ServeByOracle(const exec::SimConfig& config,
                           const std::vector<exec::SimArrival>& arrivals,
                           const OracleCosts& costs) {
  return oracle::Simulator(config, arrivals, costs).Serve();
}

}  // namespace leeway::testing
