// Admission and the life of runs.

#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace leeway::sched {

Scheduler::Scheduler(Env& env, const device::Spec& device, const DomainTable& domains,
                     const SchedulerOptions& options, Observer* observer)
    : env_(env),
      device_(device),
      domains_(domains),
      options_(options),
      observer_(observer),
      order_(options.policy, options.ageing_interval),
      batcher_(options.batching, streams_),
      cores_(device.core_count()),
      inboxes_(device.core_count()) {
  if (options_.max_concurrent_runs == 0) {
    options_.max_concurrent_runs = static_cast<std::uint32_t>(device.accelerator_count());
  }
  for (Inbox& inbox : inboxes_) {
    if (!options_.concurrent_completions) inbox.UseByOneThread();
  }
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    const std::size_t core_class = device.ClassOf(static_cast<device::CoreIndex>(c));
    cores_[c].launch_depth = std::max(1u, device.classes[core_class].launch_depth);
    cores_[c].core_class = core_class;
    idle_.Add(CoreId(c));
    room_.Add(CoreId(c));
  }
  if (device.issue == device::Issue::kHost) {
    launches_.emplace(device.run_launch, device.launch_queue_depth);
  }
}

Result<StreamId> Scheduler::OpenStream(StreamSpec spec) {
  if (spec.model == nullptr) {
    return base::InvalidArgument(absl::StrCat("stream \"", spec.name, "\" has no model"));
  }
  LearnDomains();
  watches_fronts_ = watches_fronts_ || weighs_ || spec.admission_deadline > Nanos{0};
  streams_.push_back(std::move(spec));
  stream_counters_.emplace_back();
  responses_.emplace_back();
  return StreamId(streams_.size() - 1);
}

void Scheduler::Swap(StreamId stream, std::shared_ptr<Model> model) {
  LEEWAY_CHECK(model != nullptr && known_domains_ == domains_.size());
  streams_[stream.value()].model = std::move(model);
  ++streams_[stream.value()].version;
}

Result<RequestId> Scheduler::Submit(StreamId stream, std::span<const std::int64_t> dims,
                                    Nanos timeout, std::uint64_t user) {
  const StreamSpec& spec = streams_[stream.value()];
  StreamCounters& counters = stream_counters_[stream.value()];
  const Instant now = env_.Now();
  Request request;
  request.id = next_request_++;
  request.stream = stream;
  request.admitted = now;
  request.urgency = order_.Admit(now, stream, spec.priority);
  request.slot = order_.SlotOf(request.urgency);
  request.model = spec.model;
  request.version = spec.version;
  request.dims = spec.model->Alone(dims);
  request.user = user;
  ++counters.submitted;
  ++counters.in_flight;
  auto refuse = [&](Outcome outcome, Status status) {
    EndRequest(request, outcome, nullptr);
    return status;
  };

  Result<std::optional<GraphId>> bound = spec.model->Bind(request.dims);
  if (!bound.ok()) return refuse(Outcome::kFailed, bound.status());
  if (!*bound) {
    ++counters.fallback;
    if (options_.fallback == FallbackKind::kReject) {
      ++counters.rejected_no_variant;
      return refuse(Outcome::kRejected, base::FailedPrecondition(absl::StrCat(
                                            "no variant of entry \"", spec.model->entry().name,
                                            "\" covers the request")));
    }
  }
  const bool first_come = options_.batching.formation == BatchPolicy::Formation::kFirstCome;
  request.graph = !*bound ? spec.model->generic() : first_come ? GraphId::None() : **bound;
  // A held response waits too: what a caller is yet to be told of is bounded with the queue.
  const std::size_t waiting = batcher_.waiting(stream) + responses_[stream.value()].held();
  if (spec.max_queue_size > 0 && waiting >= spec.max_queue_size) {
    ++counters.rejected_queue_full;
    return refuse(Outcome::kRejected, base::ResourceExhausted(absl::StrCat(
                                          "stream \"", spec.name, "\": ", spec.max_queue_size,
                                          " requests wait already")));
  }
  const bool overridden = timeout > Nanos{0} && spec.allow_timeout_override;
  const Nanos limit = overridden ? timeout : spec.timeout;
  if (limit > Nanos{0} && limit < Instant::Max() - now) request.expires = now + limit;
  Nanos work{0};
  if (order_.by_work()) {
    const GraphId graph = bound->value_or(spec.model->generic());
    const auto alone = spec.model->Costs(graph, spec.model->Padded(graph, request.dims));
    if (!alone.ok()) return refuse(Outcome::kFailed, alone.status());
    work = (*alone)->core_time;
  }
  const RequestId id = request.id;
  if (spec.preserve_ordering) responses_[stream.value()].Submitted(id);
  batcher_.Add(std::move(request));
  if (spec.admission_deadline > Nanos{0} && Late(id, spec.admission_deadline)) {
    ++counters.rejected_deadline;
    EndRequest(*batcher_.Remove(id), Outcome::kRejected, nullptr);
    return Status(
        StatusCode::kDeadlineExceeded,
        absl::StrCat("stream \"", spec.name, "\": the request is predicted to end more than ",
                     spec.admission_deadline.count(), " ns after its submit"));
  }
  if (order_.by_work()) order_.Charge(stream, WeightOf(spec), work);
  CloseBatches();
  return id;
}

Status Scheduler::Cancel(RequestId id) {
  if (std::optional<Request> waiting = batcher_.Remove(id)) {
    EndRequest(*waiting, Outcome::kCancelled, nullptr);
    // What was behind it may be due by now.
    CloseBatches();
    return Status();
  }
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    Run& run = runs_[RunId(r)];
    if (run.state == Run::State::kFree) continue;
    for (Request& member : run.members) {
      if (member.id != id) continue;
      member.state = Request::State::kCancelled;
      const bool all = std::all_of(run.members.begin(), run.members.end(), [](const Request& m) {
        return m.state == Request::State::kCancelled;
      });
      // Nobody waits for the rest: what is queued is dropped, what runs is left to end.
      if (all) run.state = Run::State::kFailed;
      if (all && run.steps_in_flight == 0) EndRun(RunId(r), Outcome::kCancelled);
      return Status();
    }
  }
  for (ResponseOrder& responses : responses_) {
    // Nothing waits for it alone: an earlier one holds those behind it, too.
    if (const std::optional<Request> held = responses.Take(id)) {
      TellEnd(*held, Outcome::kCancelled, nullptr);
      return Status();
    }
  }
  return base::NotFound(absl::StrCat("request ", id, " is not live"));
}

void Scheduler::EndRequest(const Request& request, Outcome outcome, const Run* run) {
  order_.Left(request.urgency);
  if (!streams_[request.stream.value()].preserve_ordering) return TellEnd(request, outcome, run);
  ResponseOrder& responses = responses_[request.stream.value()];
  if (outcome == Outcome::kOk && responses.MustWait(request.id)) {
    if (observer_) observer_->OnResponseHeld(request, *run);
    responses.Hold(request);
    return;
  }
  TellEnd(request, outcome, run);
  responses.Ended(request.id);
  while (const std::optional<Request> next = responses.Next()) {
    TellEnd(*next, Outcome::kOk, nullptr);
  }
}

void Scheduler::TellEnd(const Request& request, Outcome outcome, const Run* run) {
  StreamCounters& counters = stream_counters_[request.stream.value()];
  switch (outcome) {
    case Outcome::kOk:
      ++counters.ok;
      break;
    case Outcome::kRejected:
      ++counters.rejected;
      break;
    case Outcome::kExpired:
      ++counters.expired;
      break;
    case Outcome::kCancelled:
      ++counters.cancelled;
      break;
    case Outcome::kFailed:
      ++counters.failed;
      break;
  }
  --counters.in_flight;
  if (observer_) observer_->OnRequestEnded(request, outcome, run);
}

void Scheduler::CloseBatches() {
  // A run without steps ends while it starts, and its end comes back here.
  if (closing_) return;
  closing_ = true;
  for (const Request& expired : batcher_.Advance(env_.Now())) {
    EndRequest(expired, Outcome::kExpired, nullptr);
  }
  while (runs_.live() < options_.max_concurrent_runs) {
    std::optional<Batch> batch = batcher_.Close();
    if (!batch) break;
    if (batch->status.ok()) {
      StartRun(std::move(*batch));
    } else {
      FailBatch(*batch, batch->status);
    }
  }
  SetBatchTimer();
  closing_ = false;
}

void Scheduler::SetBatchTimer() {
  const Instant next = batcher_.next_timer();
  if (next == batch_timer_) return;
  batch_timer_ = next;
  if (next != Instant::Max()) env_.SetTimer(CoreId(0), next);
}

void Scheduler::FailBatch(const Batch& batch, const Status& status) {
  if (status_.ok()) status_ = status;
  for (const Request& member : batch.members) EndRequest(member, Outcome::kFailed, nullptr);
}

void Scheduler::StartRun(Batch batch) {
  Model& model = *batch.members.front().model;
  batch.graph = model.ForBatch(batch.graph, batch.dims);
  auto costs = model.Served(batch.graph, model.Padded(batch.graph, batch.dims));
  if (!costs.ok()) return FailBatch(batch, costs.status());
  const RunId id = runs_.Start(model.graph(batch.graph));
  Run& run = runs_[id];
  run.model = &model;
  run.graph_id = batch.graph;
  run.costs = std::move(*costs);
  run.dims = std::move(batch.dims);
  run.members = std::move(batch.members);
  run.started = env_.Now();
  run.urgency = run.members.front().urgency;
  for (const Request& member : run.members) run.urgency = std::min(run.urgency, member.urgency);
  run.slot = order_.SlotOf(run.urgency);
  ++counters_.runs;
  run.issued = run.started;
  if (observer_) observer_->OnRunStarted(id, run);
  // What launches nothing is over without the host.
  if (!launches_ || run.costs->steps == 0) return Launch(id);
  run.issued = Instant::Max();
  launches_->Ask(id.value(), run.urgency);
  IssueRuns();
}

void Scheduler::Launch(RunId id) {
  Cascade cascade;
  cascade.run = id;
  // Where a host issues runs it has paid for the launch.
  cascade.starting = !launches_;
  StartFrame(cascade, 0);
  Follow(cascade);
}

void Scheduler::IssueRuns() {
  while (const auto call = launches_->Next(env_.Now())) {
    const RunId id(*call);
    runs_[id].issued = env_.Now();
    Launch(id);
  }
  if (launches_->due() == issue_timer_) return;
  issue_timer_ = launches_->due();
  if (issue_timer_ != Instant::Max()) env_.SetTimer(CoreId(0), issue_timer_);
}

void Scheduler::EndRun(RunId id, Outcome outcome) {
  Run& run = runs_[id];
  for (const Request& member : run.members) {
    EndRequest(member, member.state == Request::State::kCancelled ? Outcome::kCancelled : outcome,
               &run);
  }
  env_.Ended(id);
  const bool issued = run.issued != Instant::Max();
  const bool through_host = launches_ && run.costs->steps > 0;
  runs_.Free(id);
  if (through_host) {
    if (issued) {
      launches_->Ended();
    } else {
      launches_->Drop(id.value());
    }
    IssueRuns();
  }
  CloseBatches();
}

}  // namespace leeway::sched
