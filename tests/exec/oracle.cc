#include "tests/exec/oracle.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "plan/body.h"

namespace leeway::testing {
namespace {

using Time = std::int64_t;
using Dims = std::vector<std::int64_t>;
constexpr Time kNever = std::numeric_limits<Time>::max();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
// Places of those that go behind all others of their sub-queue, in order.
constexpr std::size_t kBehind = kNone / 2;

Time After(Time start, Time wait) { return wait >= kNever - start ? kNever : start + wait; }

// ---- The plan's graphs on the device's cores.

struct Node {
  std::size_t frame = 0;
  std::vector<std::size_t> before, after;
  const plan::Call* call = nullptr;
  std::size_t body = kNone;  // the frame that a call repeats
  const plan::Expr* shards = nullptr;
  bool preferred = false;
  std::vector<std::size_t> planned;  // shard i on planned[i mod size]; empty: anywhere allowed
  std::vector<bool> allowed;         // by core
  std::size_t domain = 0;            // distinct sets of allowed cores, in order of first mention
  bool weighed = false;              // the cores allowed are of several classes
  std::uint32_t criticality = 0;
};

struct Frame {
  std::size_t first = 0, count = 0;
  std::size_t caller = kNone;
};

struct Graph {
  const plan::Variant* variant = nullptr;  // null: operator by operator
  std::vector<Node> nodes;
  std::vector<Frame> frames;
};

class GraphMaker {
 public:
  explicit GraphMaker(const exec::SimConfig& config)
      : plan_(*config.plan), device_(*config.device) {}

  Graph Make(const plan::Entry& entry, const plan::Variant* variant) {
    Graph graph;
    graph.variant = variant;
    AddFrame(graph, entry, variant, kNone);
    return graph;
  }

 private:
  void AddFrame(Graph& graph, const plan::Entry& entry, const plan::Variant* variant,
                std::size_t caller) {
    const std::size_t frame = graph.frames.size(), first = graph.nodes.size();
    const std::size_t count = variant ? variant->groups.size() : entry.operators.size();
    graph.frames.push_back({first, count, caller});
    for (std::size_t i = 0; i < count; ++i) {
      Node node = variant ? OfGroup(entry, variant->groups[i]) : OfOperator(entry, i);
      node.frame = frame;
      for (plan::Index p :
           variant ? variant->groups[i].predecessors : entry.operators[i].predecessors) {
        node.before.push_back(first + p);
      }
      graph.nodes.push_back(std::move(node));
    }
    for (std::size_t n = first; n < first + count; ++n) {
      for (std::size_t p : graph.nodes[n].before) graph.nodes[p].after.push_back(n);
    }
    for (std::size_t n = first; n < first + count; ++n) {
      const plan::Call* call = graph.nodes[n].call;
      if (call == nullptr) continue;
      const plan::Entry& callee = plan_.entries[call->entry];
      graph.nodes[n].body = graph.frames.size();
      AddFrame(graph, callee,
               variant ? &callee.variants[*plan_.CalledVariant(*variant, call->entry)] : nullptr,
               n);
    }
  }

  Node OfGroup(const plan::Entry& entry, const plan::Group& group) {
    Node node;
    node.call = plan::CallOf(entry, group);
    if (node.call != nullptr) return node;
    node.shards = &group.shards;
    Place(group.placement, node);
    return node;
  }

  // In the fallback an operator may use the cores that its group in the first variant may.
  Node OfOperator(const plan::Entry& entry, std::size_t op) {
    Node node;
    node.call = std::get_if<plan::Call>(&entry.operators[op].work);
    if (node.call != nullptr) return node;
    for (const plan::Group& group : entry.variants.front().groups) {
      if (std::find(group.ops.begin(), group.ops.end(), op) == group.ops.end()) continue;
      node.shards = &group.shards;
      Place(group.placement, node);
      if (std::exchange(node.preferred, false)) node.planned.clear();
      return node;
    }
    Place(plan::Placement(), node);
    return node;
  }

  std::size_t ClassOf(std::size_t core) const {
    std::size_t c = 0;
    while (core >= device_.classes[c].first_core + device_.classes[c].count) ++c;
    return c;
  }

  void Place(const plan::Placement& placement, Node& node) {
    std::vector<std::size_t> named;
    for (const plan::CoreRef& ref : placement.cores) {
      for (const device::CoreClass& of : device_.classes) {
        if (!ref.core_class.empty() && ref.core_class != of.name) continue;
        for (std::size_t i = 0; i < of.count; ++i) {
          if (!ref.index || *ref.index == i) named.push_back(of.first_core + i);
        }
      }
    }
    node.preferred = placement.mode == plan::PlacementMode::kPreferred;
    node.allowed.assign(device_.core_count(), named.empty());
    for (std::size_t core = 0; core < node.allowed.size(); ++core) {
      for (std::size_t other : named) {
        if (core == other || (node.preferred && ClassOf(core) == ClassOf(other))) {
          node.allowed[core] = true;
        }
      }
    }
    if (placement.mode != plan::PlacementMode::kAny) node.planned = named;
    std::set<std::size_t> classes;
    for (std::size_t core = 0; core < node.allowed.size(); ++core) {
      if (node.allowed[core]) classes.insert(ClassOf(core));
    }
    node.weighed = classes.size() > 1;
    const auto known = std::find(domains_.begin(), domains_.end(), node.allowed);
    node.domain = static_cast<std::size_t>(known - domains_.begin());
    if (known == domains_.end()) domains_.push_back(node.allowed);
  }

  const plan::Body& plan_;
  const device::Spec& device_;
  std::vector<std::vector<bool>> domains_;
};

// Bottom level in 64 classes of the longest path: from the node's begin to the run's end.
void SetCriticalities(Graph& graph, const sched::CostTable& planned) {
  // Of one node; of a call, all its repetitions.
  std::function<double(std::size_t)> own, to_frame_end, to_run_end;
  auto longest = [&](std::size_t frame) {
    double most = 0;
    for (std::size_t i = 0; i < graph.frames[frame].count; ++i) {
      most = std::max(most, to_frame_end(graph.frames[frame].first + i));
    }
    return most;
  };
  own = [&](std::size_t n) -> double {
    const Node& node = graph.nodes[n];
    if (node.call == nullptr) return static_cast<double>(planned.predicted[n].count());
    return static_cast<double>((node.call->times)(planned.dims)) * longest(node.body);
  };
  auto after = [&](std::size_t n) {
    double most = 0;
    for (std::size_t s : graph.nodes[n].after) most = std::max(most, to_frame_end(s));
    return most;
  };
  to_frame_end = [&](std::size_t n) { return own(n) + after(n); };
  // A body's nodes have before them what follows the call, too; not its further repetitions.
  to_run_end = [&](std::size_t n) {
    const std::size_t caller = graph.frames[graph.nodes[n].frame].caller;
    double rest = 0;
    for (std::size_t c = caller; c != kNone; c = graph.frames[graph.nodes[c].frame].caller) {
      rest += after(c);
    }
    return to_frame_end(n) + rest;
  };
  const double whole = std::max(longest(0), 1.0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    graph.nodes[n].criticality =
        std::min(63u, static_cast<std::uint32_t>(to_run_end(n) / whole * 63));
  }
}

// ---- What is there at an instant.

struct Request {
  enum class State { kToCome, kWaiting, kRunning, kEnded } state = State::kToCome;
  std::size_t stream = 0;
  Time admitted = 0, expires = kNever, cancel = kNever;
  std::uint64_t urgency = 0, slot = 0;
  Dims dims;
  std::size_t graph = kNone;  // none: bound when its batch closes
  std::size_t place = 0;      // among the waiting, first in first out
  bool cancelled = false;
};

struct NodeState {
  std::size_t inputs_left = 0, shards_left = 0, unlaunched = 0;
  std::size_t core = kNone;  // where all shards launched so far went
  bool ahead = false;        // launched before its inputs had ended
  bool first = false;        // ready when its run began: waits for the run's launch
};

struct FrameState {
  std::size_t nodes_left = 0, round = 0;
  std::int64_t rounds_left = 0;
};

struct Run {
  bool live = true, failed = false;
  const Graph* graph = nullptr;
  std::shared_ptr<const sched::CostTable> costs;
  std::uint64_t urgency = 0;
  std::vector<std::size_t> members;
  std::size_t in_flight = 0;
  std::vector<NodeState> nodes;
  std::vector<FrameState> frames;
};

struct Step {
  std::size_t run = 0, node = 0, shard = 0, round = 0;
};

struct Core {
  std::vector<Step> queue;      // ready, as they came
  std::vector<Step> in_flight;  // launched; the first runs
  std::vector<Step> next;       // may be launched behind what is in flight here
  Time front_since = 0;         // when the first became the first
  std::size_t depth = 1, of_class = 0;
  enum class Phase { kNothing, kHead, kBody, kTail, kDone } phase = Phase::kNothing;
  Time began = 0, phase_end = kNever;
  std::int64_t bytes_left = 0, rate = 0;  // of a body that moves any
  device::StepCost cost;
};

using Key = std::pair<std::uint64_t, std::uint32_t>;  // (urgency, 63 − criticality)
constexpr Key kWorst{std::numeric_limits<std::uint64_t>::max(), 0};

class Oracle {
 public:
  Oracle(const exec::SimConfig& config, const std::vector<exec::SimArrival>& arrivals,
         const OracleCosts& costs);
  OracleResult Serve();

 private:
  // Requests.
  void Submit(std::size_t request);
  void Cancel(std::size_t request);
  void End(std::size_t request, Outcome outcome);
  std::size_t Bind(const Dims& dims) const;
  bool Covers(std::size_t graph, const Dims& dims) const;
  Dims Padded(std::size_t graph, Dims dims) const;
  Time TimeOf(std::size_t graph, const Dims& dims) const;
  Time TimePerRequest(std::size_t graph, const Dims& dims) const;
  std::size_t FastestFor(std::size_t bound, const Dims& dims) const;
  bool Join(Dims& batch, const Dims& member) const;

  // Batches.
  using Binding = std::tuple<std::size_t, std::size_t, Dims>;
  struct SubQueue {
    std::vector<std::size_t> members;  // in the order in which they would be taken
    std::uint64_t slot = 0;
    std::size_t oldest = 0;
    Time ripe = 0;
    std::size_t most = 0;
    bool full = false;
  };
  std::map<Binding, SubQueue> SubQueues() const;
  void CloseDue();
  void ExpireDue();
  Time NextTimer() const;
  void StartBatch(const SubQueue& queue);
  void EndRun(std::size_t run);

  // Readiness.
  struct Cascade {
    std::size_t run = 0, near = kNone;
    bool starting = false, over = false;
    std::vector<std::size_t> ended;
  };
  void StartBody(Cascade& cascade, std::size_t frame);
  void StartRound(Cascade& cascade, std::size_t frame);
  void Release(Cascade& cascade, std::size_t node);
  void EndBody(Cascade& cascade, std::size_t frame);
  void Follow(Cascade& cascade);
  std::size_t HomeOf(const Node& node, std::size_t shard, std::size_t near) const;
  std::size_t SoonestFor(const Run& run, std::size_t node, std::size_t home) const;

  // Cores.
  struct Found {
    std::size_t queue = kNone, index = 0;
    Key key = kWorst;
    Key left_to_idle = kWorst;
  };
  const Node& NodeOf(const Step& s) const { return runs_[s.run].graph->nodes[s.node]; }
  bool Alive(const Step& s) const { return runs_[s.run].live && !runs_[s.run].failed; }
  Key KeyOf(const Step& s) const { return {runs_[s.run].urgency, 63 - NodeOf(s).criticality}; }
  bool Idle(std::size_t core) const { return cores_[core].in_flight.empty(); }
  bool AnyIdle(const Node& node) const;
  Time TimeOn(std::size_t core, const Run& run, std::size_t node) const;
  Time FinishOn(std::size_t core, const Run& run, std::size_t node) const;
  bool MayMove(const Step& step, std::size_t from, std::size_t to) const;
  Found FindBest(std::size_t core) const;
  bool FollowsOn(const Run& run, std::size_t node, std::size_t core) const;
  std::size_t BestNext(std::size_t core);
  bool MayLaunch(std::size_t core);
  std::optional<Step> Take(std::size_t core);
  std::optional<Step> TakeFound(std::size_t core, const Found& found);
  void Launch(std::size_t core, const Step& step);
  void Retire(std::size_t core);
  void Look(std::size_t core);
  std::size_t WhoLooks();

  // The device.
  void Begin(std::size_t core);
  bool EndPhases();
  void ShareBandwidth();
  void GoTo(Time at);
  Time NextPhaseEnd() const;

  const exec::SimConfig& config_;
  const OracleCosts& costs_;
  const plan::Entry* entry_ = nullptr;
  std::vector<Graph> graphs_;
  std::vector<std::size_t> by_name_;
  std::size_t most_runs_ = 0;
  bool weighs_ = false;  // some step may run on cores of several classes
  bool asks_ = false;    // some core launches steps behind others, or some step is weighed

  Time now_ = 0;
  std::vector<Request> requests_;
  std::size_t places_ = 0;
  std::vector<Run> runs_;
  std::vector<Core> cores_;
  bool closing_ = false;
  OracleResult result_;

  // Who looks for a step, where that is told.
  std::set<std::size_t> asked_, deferred_;
  std::multiset<Time> timers_;
  Time timer_ = kNever;
};

Oracle::Oracle(const exec::SimConfig& config, const std::vector<exec::SimArrival>& arrivals,
               const OracleCosts& costs)
    : config_(config), costs_(costs) {
  for (const plan::Entry& entry : config.plan->entries) {
    if (!entry.internal) entry_ = &entry;
  }
  GraphMaker maker(config);
  for (const plan::Variant& variant : entry_->variants) {
    graphs_.push_back(maker.Make(*entry_, &variant));
    by_name_.push_back(by_name_.size());
  }
  std::stable_sort(by_name_.begin(), by_name_.end(), [&](std::size_t a, std::size_t b) {
    return graphs_[a].variant->name < graphs_[b].variant->name;
  });
  graphs_.push_back(maker.Make(*entry_, nullptr));
  for (std::size_t g = 0; g < graphs_.size(); ++g) {
    SetCriticalities(graphs_[g], costs.planned(g));
    for (const Node& node : graphs_[g].nodes) weighs_ = weighs_ || node.weighed;
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
                   : cores_.size();
  for (const exec::SimArrival& arrival : arrivals) {
    Request request;
    request.stream = arrival.stream;
    request.admitted = arrival.at.count();
    request.cancel = After(request.admitted, arrival.cancel_after.count());
    const Nanos timeout =
        arrival.timeout > Nanos{0} ? arrival.timeout : config.serving.queue.default_timeout;
    if (timeout > Nanos{0}) request.expires = After(request.admitted, timeout.count());
    request.dims.assign(arrival.dims.begin(), arrival.dims.end());
    for (std::size_t d = 0; d < request.dims.size(); ++d) {
      if (config.plan->dims[d].batch_rule == BatchRule::kCount) request.dims[d] = 1;
    }
    requests_.push_back(std::move(request));
  }
  result_.ends.resize(requests_.size());
}

// ---- Requests.

bool Oracle::Covers(std::size_t graph, const Dims& dims) const {
  return graphs_[graph].variant == nullptr || plan::Covers(*graphs_[graph].variant, dims);
}

Dims Oracle::Padded(std::size_t graph, Dims dims) const {
  const plan::Variant* variant = graphs_[graph].variant;
  for (std::size_t d = 0; variant != nullptr && d < dims.size(); ++d) {
    const plan::Range& range = variant->envelope[d];
    const std::int64_t up = (dims[d] + range.granule - 1) / range.granule * range.granule;
    dims[d] = range.mode == plan::ShapeMode::kPadded ? range.max : std::min(up, range.max);
  }
  return dims;
}

// Predicted for a run at these dims: the longest path, a body as often as it repeats.
Time Oracle::TimeOf(std::size_t graph, const Dims& dims) const {
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
Time Oracle::TimePerRequest(std::size_t graph, const Dims& dims) const {
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
std::size_t Oracle::FastestFor(std::size_t bound, const Dims& dims) const {
  if (graphs_[bound].variant == nullptr) return bound;
  std::size_t best = bound;
  for (std::size_t g : by_name_) {
    if (Covers(g, dims) && TimeOf(g, dims) < TimeOf(best, dims)) best = g;
  }
  return best;
}

// The variant of least predicted time per request, by name on ties; else the generic graph.
std::size_t Oracle::Bind(const Dims& dims) const {
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

bool Oracle::Join(Dims& batch, const Dims& member) const {
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

void Oracle::End(std::size_t r, Outcome outcome) {
  requests_[r].state = Request::State::kEnded;
  result_.ends[r] = {now_, outcome};
}

void Oracle::Submit(std::size_t r) {
  Request& request = requests_[r];
  const auto priority = config_.streams[request.stream].priority.level();
  const auto interval = static_cast<std::uint64_t>(config_.serving.ageing_interval.count());
  request.urgency =
      static_cast<std::uint64_t>(now_) + static_cast<std::uint64_t>(priority - 1) * interval;
  std::size_t waiting = 0;
  for (const Request& other : requests_) {
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

void Oracle::Cancel(std::size_t r) {
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

std::map<Oracle::Binding, Oracle::SubQueue> Oracle::SubQueues() const {
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

void Oracle::ExpireDue() {
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

Time Oracle::NextTimer() const {
  Time next = kNever;
  for (const Request& request : requests_) {
    if (request.state == Request::State::kWaiting) next = std::min(next, request.expires);
  }
  for (const auto& [binding, queue] : SubQueues()) {
    if (!queue.full && queue.ripe > now_) next = std::min(next, queue.ripe);
  }
  return next;
}

void Oracle::CloseDue() {
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

void Oracle::StartBatch(const SubQueue& queue) {
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

void Oracle::EndRun(std::size_t r) {
  for (std::size_t m : runs_[r].members) {
    End(m, requests_[m].cancelled ? Outcome::kCancelled : Outcome::kOk);
  }
  runs_[r].live = false;
  CloseDue();
}

// ---- Readiness.

void Oracle::StartBody(Cascade& cascade, std::size_t frame) {
  Run& run = runs_[cascade.run];
  const std::size_t caller = run.graph->frames[frame].caller;
  const std::int64_t times =
      caller == kNone ? 1 : run.graph->nodes[caller].call->times(run.costs->dims);
  // What launches nothing takes no time, however often it would repeat.
  std::function<bool(std::size_t)> launches = [&](std::size_t f) {
    const Frame& shape = run.graph->frames[f];
    for (std::size_t n = shape.first; n < shape.first + shape.count; ++n) {
      const Node& node = run.graph->nodes[n];
      if (node.call == nullptr) return true;
      if (node.call->times(run.costs->dims) > 0 && launches(node.body)) return true;
    }
    return false;
  };
  run.frames[frame].rounds_left = times;
  if (times <= 0 || !launches(frame)) {
    run.frames[frame].rounds_left = 0;
    return EndBody(cascade, frame);
  }
  StartRound(cascade, frame);
}

void Oracle::EndBody(Cascade& cascade, std::size_t frame) {
  const std::size_t caller = runs_[cascade.run].graph->frames[frame].caller;
  if (caller == kNone) {
    cascade.over = true;
  } else {
    cascade.ended.push_back(caller);
  }
}

void Oracle::StartRound(Cascade& cascade, std::size_t frame) {
  Run& run = runs_[cascade.run];
  const Frame& shape = run.graph->frames[frame];
  --run.frames[frame].rounds_left;
  ++run.frames[frame].round;
  run.frames[frame].nodes_left = shape.count;
  for (std::size_t n = shape.first; n < shape.first + shape.count; ++n) {
    const Node& node = run.graph->nodes[n];
    NodeState state;
    state.inputs_left = node.before.size();
    const std::int64_t shards = node.shards ? (*node.shards)(run.costs->dims) : 1;
    state.shards_left = state.unlaunched = static_cast<std::size_t>(shards);
    run.nodes[n] = state;
  }
  for (std::size_t n = shape.first; n < shape.first + shape.count; ++n) {
    if (run.graph->nodes[n].before.empty()) Release(cascade, n);
  }
}

void Oracle::Release(Cascade& cascade, std::size_t n) {
  Run& run = runs_[cascade.run];
  const Node& node = run.graph->nodes[n];
  run.nodes[n].first = cascade.starting;
  if (run.nodes[n].ahead) return;
  if (node.call != nullptr) return StartBody(cascade, node.body);
  for (std::size_t shard = 0; shard < run.nodes[n].unlaunched; ++shard) {
    std::size_t home = HomeOf(node, shard, cascade.near);
    if (node.weighed) home = SoonestFor(run, n, home);
    cores_[home].queue.push_back({cascade.run, n, shard, run.frames[node.frame].round});
  }
  const bool any_idle = AnyIdle(node);
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const bool room = cores_[c].in_flight.size() < cores_[c].depth;
    if (node.allowed[c] && (any_idle ? Idle(c) : room)) asked_.insert(c);
  }
}

// On its planned core; else the first shard where its input was made, the others where least waits.
std::size_t Oracle::HomeOf(const Node& node, std::size_t shard, std::size_t near) const {
  if (!node.planned.empty()) return node.planned[shard % node.planned.size()];
  if (shard == 0 && near != kNone && node.allowed[near]) return near;
  std::size_t home = kNone, least = 0;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const std::size_t load = cores_[c].queue.size() + cores_[c].in_flight.size();
    if (!node.allowed[c] || (home != kNone && load >= least)) continue;
    home = c;
    least = load;
  }
  return home;
}

// Where it would be finished first; ties at home, then on the lowest core.
std::size_t Oracle::SoonestFor(const Run& run, std::size_t n, std::size_t home) const {
  std::size_t best = home;
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    if (run.graph->nodes[n].allowed[c] && FinishOn(c, run, n) < FinishOn(best, run, n)) best = c;
  }
  return best;
}

// The node that ended last is followed first.
void Oracle::Follow(Cascade& cascade) {
  while (!cascade.ended.empty()) {
    const std::size_t ended = cascade.ended.back();
    cascade.ended.pop_back();
    Run& run = runs_[cascade.run];
    for (std::size_t s : run.graph->nodes[ended].after) {
      if (--run.nodes[s].inputs_left == 0) Release(cascade, s);
    }
    const std::size_t frame = run.graph->nodes[ended].frame;
    if (--run.frames[frame].nodes_left > 0) continue;
    if (run.frames[frame].rounds_left > 0) {
      StartRound(cascade, frame);
    } else {
      EndBody(cascade, frame);
    }
  }
  if (cascade.over) EndRun(cascade.run);
}

// ---- Cores.

bool Oracle::AnyIdle(const Node& node) const {
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    if (node.allowed[c] && Idle(c)) return true;
  }
  return false;
}

// What a shard takes on the core, launches included.
Time Oracle::TimeOn(std::size_t core, const Run& run, std::size_t node) const {
  const std::size_t at = node * run.costs->classes + cores_[core].of_class;
  const Nanos time = run.costs->costs[at].launch + run.costs->alone[at];
  return (time + (run.nodes[node].first ? config_.device->run_launch : Nanos{0})).count();
}

// From now on: what is in flight there, which has not ended and takes another nanosecond at least,
// then the step itself. What waits in the core's queue does not count.
Time Oracle::FinishOn(std::size_t c, const Run& run, std::size_t node) const {
  const Core& core = cores_[c];
  if (Idle(c)) return TimeOn(c, run, node);
  Time free = core.front_since;
  for (const Step& s : core.in_flight) free += TimeOn(c, runs_[s.run], s.node);
  return std::max(free - now_, Time{1}) + TimeOn(c, run, node);
}

// Whether a core may take a step from the queue of another one.
bool Oracle::MayMove(const Step& step, std::size_t from, std::size_t to) const {
  const Node& node = NodeOf(step);
  // What is planned for an idle core is left to it; where cores differ, a step is left to whoever
  // finishes it no later. A free step is left to no busy core.
  if (!node.weighed) return !node.preferred || !Idle(from);
  if (!node.preferred && !Idle(from)) return true;
  // Of a run that was cancelled: to be dropped.
  if (!Alive(step)) return true;
  const Run& run = runs_[step.run];
  return FinishOn(to, run, step.node) < FinishOn(from, run, step.node);
}

// The best key anywhere; ties at home, then on the next core round the device; of one core's steps
// the domain that was named first, free before preferred, first come.
Oracle::Found Oracle::FindBest(std::size_t core) const {
  Found found;
  auto best = std::tuple(kWorst, kNone, kNone, true);
  for (std::size_t away = 0; away < cores_.size(); ++away) {
    const std::size_t q = (core + away) % cores_.size();
    for (std::size_t i = 0; i < cores_[q].queue.size(); ++i) {
      const Step& step = cores_[q].queue[i];
      const Node& node = NodeOf(step);
      if (!node.allowed[core]) continue;
      // Nothing is launched behind a running step while another core could start it now.
      if (!Idle(core) && AnyIdle(node)) continue;
      if (away > 0 && !MayMove(step, q, core)) {
        if (Idle(q)) found.left_to_idle = std::min(found.left_to_idle, KeyOf(step));
        continue;
      }
      const auto rank = std::tuple(KeyOf(step), away, node.domain, node.preferred);
      if (rank >= best) continue;
      best = rank;
      found.queue = q;
      found.index = i;
      found.key = KeyOf(step);
    }
  }
  return found;
}

// Every unfinished input was launched on this in-order core before.
bool Oracle::FollowsOn(const Run& run, std::size_t n, std::size_t core) const {
  const Node& node = run.graph->nodes[n];
  const NodeState& state = run.nodes[n];
  if (node.call != nullptr || state.ahead || state.inputs_left == 0 || state.shards_left != 1 ||
      !node.allowed[core]) {
    return false;
  }
  if (node.preferred && HomeOf(node, 0, core) != core) return false;
  for (std::size_t p : node.before) {
    if (run.graph->nodes[p].call != nullptr || run.nodes[p].unlaunched > 0) return false;
    if (run.nodes[p].shards_left > 0 && run.nodes[p].core != core) return false;
  }
  return true;
}

// Of what may follow here, the index of the best.
std::size_t Oracle::BestNext(std::size_t core) {
  std::vector<Step>& next = cores_[core].next;
  std::erase_if(next, [&](const Step& s) {
    return !Alive(s) || runs_[s.run].frames[NodeOf(s).frame].round != s.round ||
           !FollowsOn(runs_[s.run], s.node, core);
  });
  std::size_t best = kNone;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (best == kNone || KeyOf(next[i]) < KeyOf(next[best])) best = i;
  }
  return best;
}

// Where nobody needs to be asked: whether there is a step, or the rest of a run that has ended,
// that the core would take.
bool Oracle::MayLaunch(std::size_t core) {
  if (!Idle(core)) return false;
  const Found found = FindBest(core);
  return found.queue != kNone && found.left_to_idle.first >= found.key.first;
}

std::optional<Step> Oracle::TakeFound(std::size_t core, const Found& found) {
  std::vector<Step>& from = cores_[found.queue].queue;
  const Step first = from[found.index];
  std::size_t take = 1;
  if (found.queue != core) {
    ++result_.steals;
    auto alike = [&](const Step& s) {
      return KeyOf(s) == found.key && NodeOf(s).domain == NodeOf(first).domain &&
             NodeOf(s).preferred == NodeOf(first).preferred;
    };
    // Half of its class, rounded up; a step with a planned core, or that was weighed, moves alone.
    const auto there = static_cast<std::size_t>(std::count_if(from.begin(), from.end(), alike));
    if (!NodeOf(first).preferred && !NodeOf(first).weighed) take = (there + 1) / 2;
    std::vector<Step> stay, go;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool goes = i >= found.index && alike(from[i]) && go.size() < take;
      (goes ? go : stay).push_back(from[i]);
    }
    from = stay;
    cores_[core].queue.insert(cores_[core].queue.end(), go.begin() + 1, go.end());
  } else {
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(found.index));
  }
  return Alive(first) ? std::optional(first) : std::nullopt;
}

std::optional<Step> Oracle::Take(std::size_t core) {
  while (true) {
    const Found found = FindBest(core);
    // Never a less urgent step than one that is left to an idle core.
    if (found.queue != kNone && found.left_to_idle.first < found.key.first) {
      deferred_.insert(core);
      return std::nullopt;
    }
    if (const std::size_t next = BestNext(core); next != kNone) {
      const Step step = cores_[core].next[next];
      if (KeyOf(step) <= found.key) {
        cores_[core].next.erase(cores_[core].next.begin() + static_cast<std::ptrdiff_t>(next));
        runs_[step.run].nodes[step.node].ahead = true;
        return step;
      }
    }
    if (found.queue == kNone) return std::nullopt;
    if (const auto step = TakeFound(core, found)) return step;
    asked_.merge(std::exchange(deferred_, {}));
  }
}

void Oracle::Launch(std::size_t c, const Step& step) {
  Core& core = cores_[c];
  Run& run = runs_[step.run];
  NodeState& node = run.nodes[step.node];
  const bool together = node.core == kNone || node.core == c;
  node.core = together ? c : cores_.size();  // of several cores: none there is
  --node.unlaunched;
  ++run.in_flight;
  core.in_flight.push_back(step);
  if (core.in_flight.size() == 1) core.front_since = now_;
  if (core.depth > 1 && node.unlaunched == 0) {
    for (std::size_t s : NodeOf(step).after) {
      if (FollowsOn(run, s, c)) core.next.push_back({step.run, s, 0, step.round});
    }
  }
  const bool may_leave = std::any_of(core.queue.begin(), core.queue.end(),
                                     [&](const Step& s) { return weighs_ || NodeOf(s).preferred; });
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    if (may_leave && Idle(other)) asked_.insert(other);
  }
  asked_.merge(std::exchange(deferred_, {}));
}

void Oracle::Retire(std::size_t c) {
  Core& core = cores_[c];
  const Step step = core.in_flight.front();
  core.in_flight.erase(core.in_flight.begin());
  core.front_since = now_;
  core.phase = Core::Phase::kNothing;
  Run& run = runs_[step.run];
  --run.in_flight;
  if (run.failed) {
    if (run.in_flight == 0) EndRun(step.run);
    return;
  }
  if (--run.nodes[step.node].shards_left > 0) return;
  Cascade cascade;
  cascade.run = step.run;
  cascade.near = c;
  cascade.ended.push_back(step.node);
  Follow(cascade);
}

// A core takes its completion, closes what has become due, launches what it may.
void Oracle::Look(std::size_t c) {
  if (cores_[c].phase == Core::Phase::kDone) Retire(c);
  if (timer_ <= now_) {
    timer_ = kNever;
    CloseDue();
  }
  while (cores_[c].in_flight.size() < cores_[c].depth) {
    const std::optional<Step> step = Take(c);
    if (!step) break;
    Launch(c, *step);
  }
  if (cores_[c].phase == Core::Phase::kNothing && !cores_[c].in_flight.empty()) Begin(c);
}

// The first core that has something to do. Where none launches ahead and no step is held that is
// whoever could; else those that were asked: what may be launched ahead need not be, and what was
// held for a run that is cancelled since is dropped by whoever looks next.
std::size_t Oracle::WhoLooks() {
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const bool done = cores_[c].phase == Core::Phase::kDone;
    const bool timer = c == 0 && timer_ <= now_;
    if (asks_ ? asked_.count(c) > 0 : done || timer || MayLaunch(c)) return c;
  }
  return kNone;
}

// ---- The device.

void Oracle::Begin(std::size_t c) {
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
bool Oracle::EndPhases() {
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
void Oracle::ShareBandwidth() {
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

Time Oracle::NextPhaseEnd() const {
  Time next = kNever;
  for (const Core& core : cores_) {
    next = std::min(next, core.phase_end);
    if (core.phase != Core::Phase::kBody || core.cost.body_bytes == 0) continue;
    next = std::min(next, now_ + (core.bytes_left + core.rate - 1) / core.rate);
  }
  return next;
}

void Oracle::GoTo(Time at) {
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
OracleResult Oracle::Serve() {
  std::size_t arrived = 0;
  while (true) {
    ShareBandwidth();
    Time at = NextPhaseEnd();
    if (!timers_.empty()) at = std::min(at, *timers_.begin());
    if (arrived < requests_.size()) at = std::min(at, requests_[arrived].admitted);
    auto live = [](const Request& r) {
      return r.state == Request::State::kWaiting || r.state == Request::State::kRunning;
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

}  // namespace

OracleResult ServeByOracle(const exec::SimConfig& config,
                           const std::vector<exec::SimArrival>& arrivals,
                           const OracleCosts& costs) {
  return Oracle(config, arrivals, costs).Serve();
}

}  // namespace leeway::testing
