#include "exec/attributor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::exec {
namespace {

using sched::CoreId;
using sched::NodeId;
using sched::RunId;
using sched::StepRef;

std::vector<telemetry::WaitClock::Domain> ClockDomains(const sched::DomainTable& domains) {
  std::vector<telemetry::WaitClock::Domain> result(domains.size());
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const sched::Domain& domain = domains[sched::DomainId(d)];
    domain.allowed.ForEach([&](CoreId core) { result[d].allowed.push_back(core.value()); });
    domain.of_class.ForEach([&](CoreId core) { result[d].of_class.push_back(core.value()); });
  }
  return result;
}

void Add(telemetry::WaitClock::Reading& sum, const telemetry::WaitClock::Reading& part) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

// Whether a preferred step runs on a core that its placement does not name.
bool Displaced(const sched::Node& node, CoreId core) {
  return node.mode == plan::PlacementMode::kPreferred &&
         std::find(node.planned.begin(), node.planned.end(), core) == node.planned.end();
}

}  // namespace

Attributor::Attributor(const device::Spec& device, const sched::DomainTable& domains, OnOk on_ok,
                       OnOther on_other, OnOk on_held)
    : device_(device),
      accelerators_(device.accelerator_count()),
      domains_(domains),
      on_ok_(std::move(on_ok)),
      on_other_(std::move(on_other)),
      on_held_(std::move(on_held)),
      clock_(device.core_count(), ClockDomains(domains)),
      on_core_(device.core_count()) {}

std::uint64_t* Attributor::CountsAt(RunTrace& trace, std::uint32_t depth) {
  return trace.counts.data() + depth * trace.nodes.size() * device_.classes.size();
}

void Attributor::OnRunStarted(RunId id, const sched::Run& run) {
  if (id.value() >= traces_.size()) traces_.resize(id.value() + 1);
  RunTrace& trace = traces_[id.value()];
  trace.run = &run;
  trace.nodes.assign(run.graph->nodes().size(), NodeTrace());
  trace.chains.assign(run.graph->frames().size(), Chain());
  trace.counts.assign(run.graph->nodes().size() * device_.classes.size() * run.graph->depth(), 0);
  trace.displaced.clear();
  trace.first_start.reset();
  trace.core_time = Nanos{0};
  trace.members_told = 0;
  trace.at_batch.reset();
}

void Attributor::OnReady(RunId id, const sched::Run& run, NodeId node, NodeId by) {
  RunTrace& trace = traces_[id.value()];
  NodeTrace& state = trace.nodes[node.value()];
  state.by = by;
  const sched::Node& shape = run.graph->nodes()[node.value()];
  if (shape.call != nullptr) {
    // A new call: what an earlier one left behind in its frame does not count again.
    const sched::Frame& frame = run.graph->frames()[shape.callee];
    trace.chains[shape.callee] = Chain();
    std::uint64_t* counts = CountsAt(trace, frame.depth);
    const std::size_t classes = device_.classes.size();
    std::fill(counts + frame.first * classes, counts + frame.subtree_end * classes, 0);
    return;
  }
  state.waiting = run.costs->shards[node.value()];
  for (std::uint32_t i = 0; i < state.waiting; ++i) state.entered = EnterWait(shape, run.slot);
}

Attributor::Reading Attributor::EnterWait(const sched::Node& node, std::uint64_t slot) {
  const Instant now = env_->Now();
  // In virtual time an idle core that could run a step and does not is one that the policy holds
  // it from, which it does only where finish times are weighed.
  if (domains_[node.domain].weighed) clock_.Hold(now, node.domain.value(), slot);
  return clock_.Enter(now, node.domain.value(), slot);
}

Attributor::Reading Attributor::LeaveWait(const sched::Node& node, std::uint64_t slot,
                                          const Reading& entered) {
  const Instant now = env_->Now();
  const Reading waited = clock_.Leave(now, node.domain.value(), slot, entered);
  if (domains_[node.domain].weighed) clock_.Unhold(now, node.domain.value(), slot);
  return waited;
}

void Attributor::OnStarted(CoreId core, const StepRef& step) {
  RunTrace& trace = traces_[step.run.value()];
  NodeTrace& node = trace.nodes[step.node.value()];
  const Instant now = env_->Now();
  const sched::Node& shape = trace.run->graph->nodes()[step.node.value()];
  node.first = trace.run->nodes[step.node.value()].first;
  if (node.waiting > 0) {
    on_core_[core.value()].waited = LeaveWait(shape, trace.run->slot, node.entered);
    --node.waiting;
  } else {
    // Launched ahead of inputs whose run has failed since: it was never ready, so it did not wait.
    on_core_[core.value()].waited = Reading{};
  }
  clock_.Started(now, core.value(), trace.run->slot);
  if (!trace.first_start) trace.first_start = now;
  if (Displaced(shape, core)) {
    trace.displaced.resize(trace.nodes.size());
    ++trace.displaced[step.node.value()];
  }
}

void Attributor::OnFinished(CoreId core, const StepRef& step, const StepTimes& times) {
  clock_.Ended(env_->Now(), core.value());
  on_core_[core.value()].executed = times;
  // Of the accelerator's cores: processors of the host, where there are any, come after them.
  if (core.value() >= accelerators_) return;
  traces_[step.run.value()].core_time += times.duration;
}

void Attributor::OnRetired(CoreId core, const StepRef& step) {
  // In virtual time a step is retired in the instant it finishes: the last shard to be retired ends
  // the node, and its wait and execution span the time since the node became ready.
  NodeTrace& node = traces_[step.run.value()].nodes[step.node.value()];
  node.waited = on_core_[core.value()].waited;
  node.executed = on_core_[core.value()].executed;
  node.core_class = device_.ClassOf(core.value());
}

void Attributor::OnRoundEnded(RunId id, const sched::Run& run, std::uint32_t frame, NodeId last) {
  RunTrace& trace = traces_[id.value()];
  const sched::RunGraph& graph = *run.graph;
  Chain& chain = trace.chains[frame];
  std::uint64_t* counts = CountsAt(trace, graph.frames()[frame].depth);
  for (NodeId n = last; n.valid(); n = trace.nodes[n.value()].by) {
    const sched::Node& shape = graph.nodes()[n.value()];
    if (shape.call == nullptr) {
      Add(chain.waited, trace.nodes[n.value()].waited);
      chain.executed.Add(trace.nodes[n.value()].executed);
      chain.run_launches += trace.nodes[n.value()].first ? 1 : 0;
      ++counts[n.value() * device_.classes.size() + trace.nodes[n.value()].core_class];
      continue;
    }
    const sched::Frame& callee = graph.frames()[shape.callee];
    Add(chain.waited, trace.chains[shape.callee].waited);
    chain.executed.Add(trace.chains[shape.callee].executed);
    chain.run_launches += trace.chains[shape.callee].run_launches;
    const std::uint64_t* inner = CountsAt(trace, callee.depth);
    const std::size_t classes = device_.classes.size();
    for (std::size_t i = callee.first * classes; i < callee.subtree_end * classes; ++i) {
      counts[i] += inner[i];
    }
  }
}

Attributor::Mark Attributor::TakeMark(RunId run) const {
  const RunTrace& trace = traces_[run.value()];
  return {trace.chains, trace.counts, trace.displaced, trace.core_time};
}

void Attributor::Repeat(RunId run, std::int64_t rounds, const Mark& before) {
  RunTrace& trace = traces_[run.value()];
  for (std::size_t f = 0; f < trace.chains.size(); ++f) {
    Chain& chain = trace.chains[f];
    for (std::size_t i = 0; i < chain.waited.size(); ++i) {
      chain.waited[i] += rounds * (chain.waited[i] - before.chains[f].waited[i]);
    }
    chain.executed.Add(chain.executed - before.chains[f].executed, rounds);
    chain.run_launches += rounds * (chain.run_launches - before.chains[f].run_launches);
  }
  const auto times = static_cast<std::uint64_t>(rounds);
  for (std::size_t i = 0; i < trace.counts.size(); ++i) {
    trace.counts[i] += times * (trace.counts[i] - before.counts[i]);
  }
  for (std::size_t n = 0; n < trace.displaced.size(); ++n) {
    const std::uint32_t earlier = n < before.displaced.size() ? before.displaced[n] : 0;
    trace.displaced[n] += static_cast<std::uint32_t>(times) * (trace.displaced[n] - earlier);
  }
  trace.core_time += rounds * (trace.core_time - before.core_time);
}

template <typename Of>
Nanos Attributor::ChainSum(RunTrace& trace, const sched::CostTable& table, Of of) {
  const std::uint64_t* counts = CountsAt(trace, 0);
  const sched::CostTable& ran = *trace.run->costs;
  Nanos sum{0};
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    const std::uint32_t frame = trace.run->graph->nodes()[n].frame;
    for (std::size_t c = 0; c < table.classes; ++c) {
      auto count = static_cast<std::int64_t>(counts[n * table.classes + c]);
      // Repetitions may depend on the dims: at other dims a body is on the chain as much more
      // often.
      if (count > 0 && table.rounds[frame] != ran.rounds[frame]) {
        count = base::MulDivFloor(count, table.rounds[frame], ran.rounds[frame]);
      }
      sum += count * of(n * table.classes + c);
    }
  }
  return sum;
}

Nanos Attributor::ChainAlone(RunTrace& trace, const sched::CostTable& table) {
  return ChainSum(trace, table,
                  [&](std::size_t at) { return table.alone[at] - table.costs[at].relayout; });
}

Status Attributor::FillRun(RunTrace& trace) {
  const sched::Run& run = *trace.run;
  LEEWAY_ASSIGN_OR_RETURN(auto batch, run.model->Served(run.graph_id, run.dims));
  trace.at_batch = ChainAlone(trace, *batch);
  trace.at_bucket = ChainAlone(trace, *run.costs);
  trace.relayouts =
      ChainSum(trace, *run.costs, [&](std::size_t at) { return run.costs->costs[at].relayout; });
  std::uint64_t steps = 0;
  const std::uint64_t* counts = CountsAt(trace, 0);
  for (std::size_t i = 0; i < trace.nodes.size() * device_.classes.size(); ++i) {
    // What the host does itself it does not launch.
    if (!run.graph->nodes()[i / device_.classes.size()].host) steps += counts[i];
  }
  trace.launches = static_cast<std::int64_t>(steps) * device_.step_launch +
                   trace.chains[0].run_launches * device_.run_launch;
  return Status();
}

Status Attributor::Explain(RunTrace& trace, const sched::Request& request, RequestRecord& record) {
  const sched::Run& run = *trace.run;
  if (!trace.at_batch) LEEWAY_RETURN_IF_ERROR(FillRun(trace));
  const Chain& chain = trace.chains[0];
  LEEWAY_ASSIGN_OR_RETURN(auto alone, run.model->Served(run.graph_id, request.dims));
  const Nanos d0 = ChainAlone(trace, *alone);
  Nanos planned = d0;
  if (run.graph_id == run.model->generic()) {
    LEEWAY_ASSIGN_OR_RETURN(const auto nearest, run.model->Nearest(request.dims));
    if (nearest) {
      LEEWAY_ASSIGN_OR_RETURN(auto fused, run.model->Served(*nearest, request.dims));
      planned = fused->critical_path;
    }
  }
  Attribution& parts = record.parts;
  parts[Cause::kBatching] = run.started - request.admitted;
  telemetry::WaitClock::AddTo(chain.waited, parts);
  parts[Cause::kPlanned] = planned;
  parts[Cause::kFallback] = d0 - planned;
  parts[Cause::kBatchMates] = *trace.at_batch - d0;
  parts[Cause::kPadding] = *trace.at_bucket - *trace.at_batch;
  parts[Cause::kLayout] = *trace.relayouts;
  parts[Cause::kResidency] = chain.executed.fetching;
  parts[Cause::kThrottle] = chain.executed.throttled;
  // A host's call is no part of what cores execute; what it waited for beyond that is the queue's.
  const Nanos issuing = run.issued - run.started;
  const Nanos called = std::min(issuing, device_.run_launch);
  parts[Cause::kDispatch] += issuing - called;
  parts[Cause::kLaunch] = called + *trace.launches;
  parts[Cause::kContention] = chain.executed.duration - *trace.at_bucket - *trace.relayouts -
                              chain.executed.fetching - *trace.launches - chain.executed.throttled;
  return Status();
}

RequestRecord Attributor::RecordOf(const sched::Request& request, const sched::Run& run) {
  const auto found = std::find_if(traces_.begin(), traces_.end(),
                                  [&](const RunTrace& t) { return t.run == &run; });
  LEEWAY_CHECK(found != traces_.end());
  RunTrace& trace = *found;
  RequestRecord record;
  record.request = &request;
  record.run = &run;
  record.ended = env_->Now();
  record.latency = record.ended - request.admitted;
  record.queue_wait = trace.first_start.value_or(record.ended) - request.admitted;
  // Equal shares; the first members take what does not divide.
  const auto members = static_cast<std::int64_t>(run.members.size());
  record.core_time = trace.core_time / members;
  if (trace.members_told < trace.core_time.count() % members) record.core_time += Nanos{1};
  ++trace.members_told;
  record.displaced = trace.displaced;
  const Status status = Explain(trace, request, record);
  if (!status.ok() && status_.ok()) status_ = status;
  if (!status.ok() || record.parts.total() != record.latency) ++missing_;
  return record;
}

void Attributor::OnResponseHeld(const sched::Request& request, const sched::Run& run) {
  RequestRecord record = RecordOf(request, run);
  if (on_held_) on_held_(record);
  record.request = nullptr;
  record.run = nullptr;
  record.displaced = {};
  held_.emplace(request.id, record);
}

void Attributor::OnRequestEnded(const sched::Request& request, Outcome outcome,
                                const sched::Run* run) {
  const auto held = held_.find(request.id);
  if (held == held_.end()) {
    return outcome == Outcome::kOk ? on_ok_(RecordOf(request, *run)) : on_other_(request, outcome);
  }
  RequestRecord record = held->second;
  held_.erase(held);
  if (outcome != Outcome::kOk) return on_other_(request, outcome);
  const Nanos waited = env_->Now() - record.ended;
  record.request = &request;
  record.ended += waited;
  record.latency += waited;
  record.parts[Cause::kResponseOrder] = waited;
  on_ok_(record);
}

void Attributor::OnRunEnded(RunId id) {
  RunTrace& trace = traces_[id.value()];
  // Steps that a failed or cancelled run leaves unlaunched wait no longer.
  for (std::size_t n = 0; n < trace.nodes.size(); ++n) {
    NodeTrace& node = trace.nodes[n];
    const sched::Node& shape = trace.run->graph->nodes()[n];
    for (; node.waiting > 0; --node.waiting) {
      (void)LeaveWait(shape, trace.run->slot, node.entered);
    }
  }
  trace.run = nullptr;
}

}  // namespace leeway::exec
