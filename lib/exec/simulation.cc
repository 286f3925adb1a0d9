#include "exec/simulation.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "device/plan_fit.h"
#include "exec/ledger.h"
#include "exec/round_skipper.h"
#include "sched/model.h"
#include "sched/scheduler.h"

namespace leeway::exec {
namespace {

constexpr std::uint64_t kInstantsPerProgress = 1 << 15;

Status CheckQueue(const QueueOptions& queue, const std::string& where) {
  if (queue.max_queue_size >= 0 && queue.default_timeout >= Nanos{0}) return Status();
  return base::InvalidArgument(absl::StrCat(where, "a queue size or timeout is negative"));
}

Status CheckPriorities(const BatchingOptions& batching, const std::vector<SimStream>& streams) {
  const int levels = batching.priority_levels;
  if (levels < Priority::kMostUrgent || levels > Priority::kLeastUrgent) {
    return base::InvalidArgument(
        absl::StrCat("priority_levels is ", levels, "; between 1 and ", Priority::kLeastUrgent));
  }
  if (batching.default_priority_level < 1 || batching.default_priority_level > levels) {
    return base::InvalidArgument(absl::StrCat("default_priority_level is ",
                                              batching.default_priority_level,
                                              "; between 1 and priority_levels ", levels));
  }
  for (const SimStream& stream : streams) {
    if (stream.priority.level() <= levels) continue;
    return base::InvalidArgument(absl::StrCat("stream \"", stream.name, "\": priority_level ",
                                              stream.priority.level(), " exceeds priority_levels ",
                                              levels));
  }
  return Status();
}

Status CheckStreams(const SimConfig& config) {
  LEEWAY_RETURN_IF_ERROR(CheckPriorities(config.serving.batching, config.streams));
  for (const SimStream& stream : config.streams) {
    if (!stream.queue) continue;
    LEEWAY_RETURN_IF_ERROR(
        CheckQueue(*stream.queue, absl::StrCat("stream \"", stream.name, "\": ")));
  }
  return Status();
}

Status CheckServing(const ServingOptions& serving) {
  auto positive = [](const char* name, std::int64_t value) {
    return value >= 1 ? Status()
                      : base::InvalidArgument(absl::StrCat(name, " is ", value, "; at least 1"));
  };
  LEEWAY_RETURN_IF_ERROR(positive("max_batch_size", serving.batching.max_batch_size));
  LEEWAY_RETURN_IF_ERROR(positive("ageing_interval in ns", serving.ageing_interval.count()));
  LEEWAY_RETURN_IF_ERROR(CheckQueue(serving.queue, ""));
  if (serving.batching.max_queue_delay < Nanos{0} || serving.max_concurrent_runs < 0) {
    return base::InvalidArgument("a queue delay or run count is negative");
  }
  for (int size : serving.batching.preferred_batch_size) {
    if (size >= 1 && size <= serving.batching.max_batch_size) continue;
    return base::InvalidArgument(absl::StrCat("preferred_batch_size is ", size,
                                              "; at least 1 and at most max_batch_size ",
                                              serving.batching.max_batch_size));
  }
  if (serving.queue.predicted_deadline_admission && serving.slo <= Nanos{0}) {
    return base::InvalidArgument(absl::StrCat("predicted_deadline_admission needs an slo; it is ",
                                              serving.slo.count(), " ns"));
  }
  if (!(serving.phi >= 1 && serving.phi <= 1000)) {
    return base::InvalidArgument(absl::StrCat("phi is ", serving.phi, "; between 1 and 1000"));
  }
  if (serving.fallback == Fallback::kNearest) {
    return base::Unimplemented("fallback NEAREST is not run: choose GENERIC or REJECT");
  }
  return Status();
}

sched::SchedulerOptions PolicyOptions(const ServingOptions& serving) {
  sched::SchedulerOptions options;
  options.policy = serving.policy;
  options.concurrent_completions = false;
  options.batching.max_batch_size = static_cast<std::uint32_t>(serving.batching.max_batch_size);
  for (int size : serving.batching.preferred_batch_size) {
    options.batching.preferred_batch_size.push_back(static_cast<std::uint32_t>(size));
  }
  std::sort(options.batching.preferred_batch_size.begin(),
            options.batching.preferred_batch_size.end());
  options.batching.max_queue_delay = serving.batching.max_queue_delay;
  options.batching.formation = serving.batching.formation == BatchingOptions::Formation::kFirstCome
                                   ? sched::BatchPolicy::Formation::kFirstCome
                                   : sched::BatchPolicy::Formation::kByBucket;
  options.max_concurrent_runs = static_cast<std::uint32_t>(serving.max_concurrent_runs);
  options.ageing_interval = serving.ageing_interval;
  options.fallback = serving.fallback == Fallback::kReject ? sched::FallbackKind::kReject
                                                           : sched::FallbackKind::kGeneric;
  return options;
}

Status CheckFit(const SimConfig& config, const plan::Body& plan) {
  const int runs = config.serving.max_concurrent_runs > 0
                       ? config.serving.max_concurrent_runs
                       : static_cast<int>(config.device->accelerator_count());
  for (const Finding& finding : device::CheckFit(plan, *config.device, runs)) {
    if (finding.severity != Severity::kError) continue;
    return base::FailedPrecondition(absl::StrCat(finding.path, ": ", finding.message));
  }
  return Status();
}

Status CheckSwaps(const SimConfig& config) {
  auto same = [](const plan::Dim& a, const plan::Dim& b) {
    return a.name == b.name && a.min == b.min && a.max == b.max && a.batch_rule == b.batch_rule;
  };
  Instant last;
  for (const PlanSwap& swap : config.swaps) {
    if (swap.at < last) return base::InvalidArgument("plan swaps are not in order of time");
    last = swap.at;
    if (!std::equal(swap.plan->dims.begin(), swap.plan->dims.end(), config.plan->dims.begin(),
                    config.plan->dims.end(), same)) {
      return base::InvalidArgument(
          absl::StrCat("the plan swapped in at ", swap.at.count(), " ns has other dims"));
    }
    LEEWAY_RETURN_IF_ERROR(CheckFit(config, *swap.plan));
  }
  return Status();
}

Status AddModel(const SimConfig& config, const std::shared_ptr<const plan::Body>& plan,
                sched::DomainTable& domains, std::vector<std::shared_ptr<sched::Model>>& models) {
  LEEWAY_ASSIGN_OR_RETURN(
      std::shared_ptr<sched::Model> model,
      sched::Model::Create(plan, config.device, config.entry, config.serving.phi, domains));
  if (config.reality) model->ServeOn(config.reality);
  models.push_back(std::move(model));
  return Status();
}

constexpr Instant kNever = Instant::Max();
// Reports hold times as numbers that are exact in double precision.
constexpr Instant kEndOfTime{Nanos{std::int64_t{1} << 53}};

sched::StreamSpec SpecOf(const SimStream& stream, const ServingOptions& serving,
                         std::shared_ptr<sched::Model> model) {
  sched::StreamSpec spec;
  spec.name = stream.name;
  spec.priority = stream.priority;
  spec.weight = stream.weight;
  const QueueOptions& queue = stream.queue ? *stream.queue : serving.queue;
  spec.max_queue_size = static_cast<std::uint32_t>(queue.max_queue_size);
  spec.timeout = queue.default_timeout;
  spec.timeout_action = queue.timeout_action == TimeoutAction::kDelay
                            ? sched::TimeoutAction::kDelay
                            : sched::TimeoutAction::kReject;
  spec.allow_timeout_override = queue.allow_timeout_override;
  spec.preserve_ordering = stream.preserve_ordering.value_or(serving.batching.preserve_ordering);
  if (queue.predicted_deadline_admission) spec.admission_deadline = serving.slo;
  spec.model = std::move(model);
  return spec;
}

// Tells of ends and nothing else.
class Ends final : public sched::Observer {
 public:
  Ends(Attributor::OnOk on_ok, Attributor::OnOther on_other, Attributor::OnOk on_held)
      : on_ok_(std::move(on_ok)), on_other_(std::move(on_other)), on_held_(std::move(on_held)) {}

  void Attach(const sched::Env& env) { env_ = &env; }

  void OnRequestEnded(const sched::Request& request, Outcome outcome,
                      const sched::Run* run) override {
    if (outcome != Outcome::kOk) return on_other_(request, outcome);
    on_ok_(RecordOf(request, run));
  }
  void OnResponseHeld(const sched::Request& request, const sched::Run& run) override {
    on_held_(RecordOf(request, &run));
  }

 private:
  RequestRecord RecordOf(const sched::Request& request, const sched::Run* run) const {
    RequestRecord record;
    record.request = &request;
    record.run = run;
    record.ended = env_->Now();
    record.latency = record.ended - request.admitted;
    return record;
  }

  Attributor::OnOk on_ok_;
  Attributor::OnOther on_other_;
  Attributor::OnOk on_held_;
  const sched::Env* env_ = nullptr;
};

// One simulation: the policy, the world it runs in, and who watches them.
class Simulation {
 public:
  // `models` are the plan's and those of the swaps.
  Simulation(const SimConfig& config, const sched::DomainTable& domains,
             std::vector<std::shared_ptr<sched::Model>> models)
      : config_(config),
        models_(std::move(models)),
        ledger_(config, *models_.front()),
        ends_(Ok(), Other(), Held()),
        attributor_(
            config.detail == SimConfig::Detail::kAttributed
                ? std::make_unique<Attributor>(*config.device, domains, Ok(), Other(), Held())
                : nullptr),
        world_(*config.device, attributor_.get(), config.heat),
        scheduler_(world_, *config.device, domains, Options(), observer()),
        skipper_(scheduler_, world_, attributor_.get()) {
    world_.Attach(scheduler_);
    ends_.Attach(world_);
    if (attributor_) attributor_->Attach(world_);
  }

  Status Run(const NextArrival& next);
  Result<std::shared_ptr<SimRecord>> Finish() {
    return ledger_.Finish(config_, scheduler_, world_, attributor_ ? attributor_->missing() : 0);
  }

 private:
  Attributor::OnOk Ok() {
    return [this](const RequestRecord& request) {
      ForgetCancel(*request.request);
      ledger_.Ok(request);
    };
  }
  Attributor::OnOk Held() {
    return [this](const RequestRecord& request) { ledger_.Held(request); };
  }
  Attributor::OnOther Other() {
    return [this](const sched::Request& request, Outcome outcome) {
      ForgetCancel(request);
      ledger_.Other(request, outcome);
    };
  }

  sched::SchedulerOptions Options() const {
    sched::SchedulerOptions options = PolicyOptions(config_.serving);
    if (world_.keeps_weights()) {
      options.moving = [this](const sched::Run& run, sched::NodeId node, sched::CoreId core) {
        return world_.FetchTime(run, node, core);
      };
    }
    return options;
  }

  sched::Observer* observer() {
    if (attributor_) return attributor_.get();
    return &ends_;
  }

  Status Open();
  // When the next plan takes over; never after the last.
  Instant next_swap() const {
    return swapped_ < config_.swaps.size() ? config_.swaps[swapped_].at : kNever;
  }
  void SwapDue(Instant now);

  Status Submit(const SimArrival& arrival) {
    skipper_.Disturb();
    LEEWAY_RETURN_IF_ERROR(ledger_.Submitted(arrival));
    const std::uint64_t user = ledger_.submitted();
    if (arrival.cancel_after < kNever - arrival.at) {
      cancel_at_[user] = arrival.at + arrival.cancel_after;
    }
    // A refusal has been counted; it is not an error of the simulation.
    const Result<sched::RequestId> id =
        scheduler_.Submit(sched::StreamId(arrival.stream), arrival.dims, arrival.timeout, user);
    // What has ended already, refused or without a step to run, is forgotten by now.
    const auto cancel = cancel_at_.find(user);
    if (cancel != cancel_at_.end()) cancels_[{cancel->second, user}] = id.value();
    return Status();
  }

  Instant next_cancel() const { return cancels_.empty() ? kNever : cancels_.begin()->first.first; }
  // Cancels what its caller gave up on by now.
  void CancelDue(Instant now) {
    skipper_.Disturb();
    while (next_cancel() <= now) {
      const sched::RequestId id = cancels_.begin()->second;
      cancels_.erase(cancels_.begin());
      (void)scheduler_.Cancel(id);
    }
  }

  // The request has ended: nothing is left to cancel, and time need not go on for it.
  void ForgetCancel(const sched::Request& request) {
    const auto cancel = cancel_at_.find(request.user);
    if (cancel == cancel_at_.end()) return;
    cancels_.erase({cancel->second, request.user});
    cancel_at_.erase(cancel);
  }

  Status Report() {
    if (!config_.progress) return Status();
    const Progress progress{ledger_.submitted(), scheduler_.counters().steps, world_.Now()};
    if (config_.progress(progress)) return Status();
    return Status(StatusCode::kCancelled, "the simulation was cancelled");
  }

  const SimConfig& config_;
  std::vector<std::shared_ptr<sched::Model>> models_;  // those still to come, null once they serve
  std::size_t swapped_ = 0;
  Ledger ledger_;
  Ends ends_;
  std::unique_ptr<Attributor> attributor_;  // null where only latencies are asked for
  SimulatedWorld world_;
  sched::Scheduler scheduler_;
  RoundSkipper skipper_;
  // Of live requests, by the count of arrivals at their submit: when they are cancelled.
  absl::flat_hash_map<std::uint64_t, Instant> cancel_at_;
  absl::btree_map<std::pair<Instant, std::uint64_t>, sched::RequestId> cancels_;
};

Status Simulation::Open() {
  for (const SimStream& stream : config_.streams) {
    LEEWAY_RETURN_IF_ERROR(
        scheduler_.OpenStream(SpecOf(stream, config_.serving, models_.front())).status());
  }
  ledger_.Serve(std::move(models_.front()));
  return Status();
}

void Simulation::SwapDue(Instant now) {
  skipper_.Disturb();
  for (; next_swap() <= now; ++swapped_) {
    std::shared_ptr<sched::Model> model = std::move(models_[swapped_ + 1]);
    for (std::size_t s = 0; s < config_.streams.size(); ++s) {
      scheduler_.Swap(sched::StreamId(s), model);
    }
    ledger_.Serve(std::move(model));
  }
}

Status Simulation::Run(const NextArrival& next) {
  LEEWAY_RETURN_IF_ERROR(Open());
  LEEWAY_ASSIGN_OR_RETURN(std::optional<SimArrival> arrival, next());
  if (!arrival) return base::InvalidArgument("the traffic holds no request");
  for (std::uint64_t instants = 1;; ++instants) {
    if (instants % kInstantsPerProgress == 0) LEEWAY_RETURN_IF_ERROR(Report());
    Instant at = std::min({world_.next_event(), arrival ? arrival->at : kNever, next_cancel()});
    if (at == kNever) break;  // plans that come after the last end serve nobody
    if (at > kEndOfTime) {
      return base::OutOfRange(
          absl::StrCat("virtual time passes 2^53 ns (104 days) after ", ledger_.submitted(),
                       " requests: the trace is too long or the device too slow for it"));
    }
    at = std::min(at, next_swap());
    world_.AdvanceTo(at);
    if (next_swap() <= at) SwapDue(at);
    if (next_cancel() <= at) CancelDue(at);
    while (arrival && arrival->at <= at) {
      LEEWAY_RETURN_IF_ERROR(Submit(*arrival));
      LEEWAY_ASSIGN_OR_RETURN(arrival, next());
    }
    world_.PumpWoken();
    LEEWAY_RETURN_IF_ERROR(scheduler_.status());
    if (world_.clocks()) LEEWAY_RETURN_IF_ERROR(world_.clocks()->status());
    if (attributor_) LEEWAY_RETURN_IF_ERROR(attributor_->status());
    if (config_.loops == SimConfig::Loops::kSkip && skipper_.due()) {
      skipper_.OnRound(std::min({arrival ? arrival->at : kEndOfTime, next_swap(), next_cancel()}));
    }
  }
  if (scheduler_.idle()) return Status();
  return Status(StatusCode::kInternal, "the simulation stalled with requests in flight");
}

Result<std::shared_ptr<SimRecord>> Serve(const SimConfig& config, const NextArrival& next) {
  LEEWAY_RETURN_IF_ERROR(CheckServing(config.serving));
  LEEWAY_RETURN_IF_ERROR(CheckStreams(config));
  LEEWAY_RETURN_IF_ERROR(CheckSwaps(config));
  LEEWAY_RETURN_IF_ERROR(CheckFit(config, *config.plan));
  sched::DomainTable domains;
  std::vector<std::shared_ptr<sched::Model>> models;
  LEEWAY_RETURN_IF_ERROR(AddModel(config, config.plan, domains, models));
  for (const PlanSwap& swap : config.swaps) {
    LEEWAY_RETURN_IF_ERROR(AddModel(config, swap.plan, domains, models));
  }
  Simulation simulation(config, domains, std::move(models));
  LEEWAY_RETURN_IF_ERROR(simulation.Run(next));
  return simulation.Finish();
}

}  // namespace

Result<std::shared_ptr<SimRecord>> RunSimulation(const SimConfig& config, const NextArrival& next) {
  const bool host = device::HasHostWork(*config.plan) ||
                    std::any_of(config.swaps.begin(), config.swaps.end(), [](const PlanSwap& swap) {
                      return device::HasHostWork(*swap.plan);
                    });
  if (!host) return Serve(config, next);
  SimConfig with_host = config;
  with_host.device = std::make_shared<const device::Spec>(device::WithHost(*config.device));
  return Serve(with_host, next);
}

}  // namespace leeway::exec
