#include "exec/ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "exec/simulation.h"

namespace leeway::exec {
namespace {

void AddCounts(Counts& sum, const Counts& part) {
  sum.submitted += part.submitted;
  sum.ok += part.ok;
  sum.rejected += part.rejected;
  sum.expired += part.expired;
  sum.cancelled += part.cancelled;
  sum.failed += part.failed;
  sum.in_flight += part.in_flight;
  sum.fallback += part.fallback;
  sum.rejected_queue_full += part.rejected_queue_full;
  sum.rejected_no_variant += part.rejected_no_variant;
  sum.rejected_deadline += part.rejected_deadline;
  sum.within_slo += part.within_slo;
}

double Share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Bytes(const base::Digest& digest) {
  return std::string(digest.bytes.begin(), digest.bytes.end());
}

telemetry::Counters ToCounters(const sched::StreamCounters& from) {
  telemetry::Counters counters;
  counters.submitted = from.submitted;
  counters.ok = from.ok;
  counters.rejected = from.rejected;
  counters.expired = from.expired;
  counters.cancelled = from.cancelled;
  counters.failed = from.failed;
  counters.in_flight = from.in_flight;
  counters.fallback = from.fallback;
  auto reason = [](std::vector<telemetry::ReasonCount>& list, const char* name,
                   std::uint64_t count) {
    if (count > 0) list.push_back({name, count, Nanos{0}});
  };
  reason(counters.rejected_by, "deadline", from.rejected_deadline);
  reason(counters.rejected_by, "no_variant", from.rejected_no_variant);
  reason(counters.rejected_by, "queue_full", from.rejected_queue_full);
  reason(counters.fallback_by, "out_of_envelope", from.fallback);
  return counters;
}

void AddTo(telemetry::Counters& sum, const telemetry::Counters& part) {
  sum.submitted += part.submitted;
  sum.ok += part.ok;
  sum.rejected += part.rejected;
  sum.expired += part.expired;
  sum.cancelled += part.cancelled;
  sum.failed += part.failed;
  sum.in_flight += part.in_flight;
  sum.fallback += part.fallback;
  // Canonical form sums equal reasons.
  for (const auto& reason : part.rejected_by) sum.rejected_by.push_back(reason);
  for (const auto& reason : part.fallback_by) sum.fallback_by.push_back(reason);
}

}  // namespace

Ledger::Ledger(const SimConfig& config, const sched::Model& model)
    : config_(config),
      serving_(config.serving),
      on_ok_(config.on_ok),
      census_(config.census),
      record_(std::make_shared<SimRecord>()),
      waits_(config.streams.size()),
      in_service_(config.streams.size()) {
  record_->by_stream.resize(config.streams.size());
  for (const SimStream& stream : config.streams) {
    StreamSummary summary;
    summary.name = stream.name;
    summary.priority_level = stream.priority.level();
    record_->summary.streams.push_back(std::move(summary));
    std::vector<telemetry::LengthRecorder::Series>& series = series_.emplace_back();
    for (const plan::Dim& dim : model.plan().dims) {
      series.push_back(plan::IsBatchDim(dim)
                           ? telemetry::LengthRecorder::Series()
                           : lengths_.AddSeries(model.entry().name, dim.name, stream.name));
    }
  }
}

void Ledger::Serve(std::shared_ptr<sched::Model> model) {
  const auto number = static_cast<std::uint32_t>(plans_.size());
  plans_[model.get()] = number;
  model_ = std::move(model);
  meter_.emplace(*model_);
}

Status Ledger::Submitted(const SimArrival& arrival) {
  ++submitted_;
  Counts& counts = stream(arrival.stream).counts;
  ++counts.submitted;
  ++counts.in_flight;
  if (!attributed()) return Status();
  LEEWAY_ASSIGN_OR_RETURN(const RequestWork work, meter_->Of(arrival.dims));
  record_->summary.work += work.at_bucket;
  useful_ += work.at_dims;
  for (std::size_t d = 0; d < arrival.dims.size(); ++d) {
    const auto series = series_[arrival.stream][d];
    if (series.valid()) lengths_.Record(series, arrival.at, arrival.dims[d]);
  }
  return Status();
}

void Ledger::Ok(const RequestRecord& request) {
  const std::uint32_t s = request.request->stream.value();
  StreamSummary& summary = stream(s);
  ++summary.counts.ok;
  --summary.counts.in_flight;
  if (serving_.slo == Nanos{0} || request.latency <= serving_.slo) ++summary.counts.within_slo;
  summary.core_time += request.core_time;
  last_end_ = std::max(last_end_, request.ended);
  if (on_ok_) on_ok_(request);
  if (request.run != nullptr) Count(request);
  if (!attributed()) return;
  record_->all.Record(request.latency, request.parts);
  record_->by_stream[s].Record(request.latency, request.parts);
  all_waits_.Record(request.queue_wait.count());
  waits_[s].Record(request.queue_wait.count());
  in_service_[s] +=
      request.latency - request.queue_wait - request.parts.part(Cause::kResponseOrder);
}

void Ledger::Count(const RequestRecord& request) {
  // Once a run: with the first of its members that is told of.
  const sched::Run& run = *request.run;
  const auto first = std::find_if(
      run.members.begin(), run.members.end(),
      [](const sched::Request& member) { return member.state == sched::Request::State::kLive; });
  if (request.request != &*first) return;
  const Status status = census_.Add(run, plans_[first->model.get()], request.displaced);
  if (status_.ok()) status_ = status;
}

void Ledger::Other(const sched::Request& request, Outcome outcome) {
  Counts& counts = stream(request.stream.value()).counts;
  --counts.in_flight;
  switch (outcome) {
    case Outcome::kOk:
      break;
    case Outcome::kRejected:
      ++counts.rejected;
      break;
    case Outcome::kExpired:
      ++counts.expired;
      break;
    case Outcome::kCancelled:
      ++counts.cancelled;
      break;
    case Outcome::kFailed:
      ++counts.failed;
      break;
  }
}

Status Ledger::FinishStreams(const sched::Scheduler& scheduler) {
  std::vector<double> slowdowns;
  for (std::size_t s = 0; s < record_->summary.streams.size(); ++s) {
    StreamSummary& summary = record_->summary.streams[s];
    const sched::StreamCounters& told = scheduler.counters(sched::StreamId(s));
    Counts& counts = summary.counts;
    counts.fallback = told.fallback;
    counts.rejected_queue_full = told.rejected_queue_full;
    counts.rejected_no_variant = told.rejected_no_variant;
    counts.rejected_deadline = told.rejected_deadline;
    if (counts.submitted != told.submitted || counts.ok != told.ok ||
        counts.rejected != told.rejected || counts.expired != told.expired ||
        counts.cancelled != told.cancelled || counts.failed != told.failed ||
        counts.in_flight != told.in_flight ||
        counts.submitted != counts.ok + counts.rejected + counts.expired + counts.cancelled +
                                counts.failed + counts.in_flight ||
        counts.rejected !=
            counts.rejected_queue_full + counts.rejected_no_variant + counts.rejected_deadline) {
      return Status(StatusCode::kInternal, absl::StrCat("stream \"", summary.name,
                                                        "\": two counts of its requests differ"));
    }
    summary.latency = StatsOf(record_->by_stream[s].latency());
    summary.queue_wait = StatsOf(waits_[s]);
    summary.slo_attainment = Share(counts.within_slo, counts.submitted);
    if (in_service_[s] > Nanos{0}) {
      slowdowns.push_back(static_cast<double>(record_->by_stream[s].latency().sum()) /
                          static_cast<double>(in_service_[s].count()));
    }
    AddCounts(record_->summary.counts, counts);
  }
  record_->summary.fairness_streams = JainIndex(slowdowns);
  return Status();
}

void Ledger::FinishCores(const device::Spec& device, const SimulatedWorld& world) {
  std::vector<double> busy;
  for (std::size_t c = 0; c < world.use().size(); ++c) {
    CoreSummary core;
    core.name = device.CoreName(static_cast<device::CoreIndex>(c));
    core.busy = world.use()[c].busy;
    core.steps = world.use()[c].steps;
    core.dram_bytes = world.use()[c].dram_bytes;
    const device::WeightUse& weights = world.use()[c].weights;
    if (weights.hits + weights.misses > 0) {
      core.weights =
          WeightUse{weights.hits, weights.misses, weights.evictions, weights.fetched_bytes};
    }
    if (c >= device.accelerator_count()) {
      record_->summary.hosts.push_back(std::move(core));
      continue;
    }
    busy.push_back(static_cast<double>(core.busy.count()));
    record_->summary.cores.push_back(std::move(core));
  }
  record_->summary.fairness_cores = JainIndex(busy);
}

void Ledger::FinishTotals(const device::Spec& device, const SimulatedWorld& world) {
  SimSummary& summary = record_->summary;
  summary.latency = StatsOf(record_->all.latency());
  summary.queue_wait = StatsOf(all_waits_);
  summary.makespan = std::max(world.last_finish(), last_end_).since_origin();
  summary.fallback_rate = Share(summary.counts.fallback, summary.counts.submitted);
  summary.slo_attainment = Share(summary.counts.within_slo, summary.counts.submitted);
  if (summary.work > Nanos{0}) {
    summary.padding_waste =
        1 - static_cast<double>(useful_.count()) / static_cast<double>(summary.work.count());
  }
  const double seconds = static_cast<double>(summary.makespan.count()) * 1e-9;
  if (seconds > 0) {
    summary.goodput_rps = static_cast<double>(summary.counts.within_slo) / seconds;
  }
  absl::int128 dynamic_pj = 0;
  for (const CoreUse& use : world.use()) dynamic_pj += use.energy_pj;
  const device::PowerLoop* power = world.clocks() ? world.clocks()->power() : nullptr;
  if (power == nullptr) {
    summary.energy_j =
        static_cast<double>(dynamic_pj) * 1e-12 + device.power.static_watts * seconds;
    // A device that states no power: energy is not known, not none.
    if (summary.energy_j > 0) {
      summary.energy_origin = "per-event energy and static power; no heat, no clock changes";
    }
    return;
  }
  dynamic_pj += power->BackgroundPj(Instant(summary.makespan));
  summary.energy_j = static_cast<double>(dynamic_pj) * 1e-12;
  summary.energy_origin = "per-event energy, static power and leakage; heat and clock modelled";
  summary.heat = HeatSummary{
      power->summary().max_celsius, power->summary().max_watts,
      static_cast<double>(power->summary().min_clock) / static_cast<double>(device::kNominalClock),
      power->summary().throttled};
}

Status Ledger::TakeSnapshot(const SimConfig& config, const sched::Scheduler& scheduler,
                            const SimulatedWorld& world, std::uint64_t attribution_missing) {
  telemetry::Snapshot snapshot;
  if (submitted_ > 0) snapshot.ranges.push_back({"simulation", 0, 1, submitted_});
  snapshot.origin = config.device->calibration_residual ? Origin::kSimulatedCalibrated
                                                        : Origin::kSimulatedUncalibrated;
  snapshot.plan_digest = Bytes(config.plan->digest);
  snapshot.device_digest = Bytes(config.device->digest);
  for (std::size_t s = 0; s < config.streams.size(); ++s) {
    telemetry::StreamTelemetry stream;
    stream.name = config.streams[s].name;
    stream.priority_level = static_cast<std::uint32_t>(config.streams[s].priority.level());
    stream.counters = ToCounters(scheduler.counters(sched::StreamId(s)));
    stream.latency_ns = record_->by_stream[s].latency();
    stream.queue_wait_ns = waits_[s];
    stream.attribution = record_->by_stream[s].total();
    AddTo(snapshot.counters, stream.counters);
    snapshot.streams.push_back(std::move(stream));
  }
  for (std::size_t c = 0; c < config.device->accelerator_count(); ++c) {
    const CoreUse& use = world.use()[c];
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    const auto energy_pj = static_cast<std::int64_t>(std::min<absl::int128>(use.energy_pj, kMax));
    snapshot.cores.push_back({config.device->CoreName(static_cast<device::CoreIndex>(c)), use.busy,
                              use.steps, use.dram_bytes, energy_pj, use.weights.hits,
                              use.weights.misses, use.weights.evictions,
                              use.weights.fetched_bytes});
  }
  snapshot.counters.runs = scheduler.counters().runs;
  snapshot.counters.steps = scheduler.counters().steps;
  snapshot.counters.steals = scheduler.counters().steals;
  snapshot.counters.stray_completions = scheduler.counters().stray_completions;
  snapshot.counters.attribution_missing = attribution_missing;
  snapshot.lengths = lengths_.Windows();
  LEEWAY_ASSIGN_OR_RETURN(record_->telemetry, snapshot.Serialize());
  record_->telemetry_digest = base::DigestOf(record_->telemetry).ToHex();
  return Status();
}

Result<std::shared_ptr<SimRecord>> Ledger::Finish(const SimConfig& config,
                                                  const sched::Scheduler& scheduler,
                                                  const SimulatedWorld& world,
                                                  std::uint64_t attribution_missing) {
  SimSummary& summary = record_->summary;
  summary.runs = scheduler.counters().runs;
  summary.steps = scheduler.counters().steps;
  summary.steals = scheduler.counters().steals;
  summary.holds = scheduler.counters().holds;
  summary.stray_completions = scheduler.counters().stray_completions;
  summary.attribution_missing = attribution_missing;
  LEEWAY_RETURN_IF_ERROR(FinishStreams(scheduler));
  FinishCores(*config.device, world);
  FinishTotals(*config.device, world);
  LEEWAY_RETURN_IF_ERROR(status_);
  record_->executed = census_.Steps();
  if (!attributed()) return record_;
  LEEWAY_RETURN_IF_ERROR(TakeSnapshot(config, scheduler, world, attribution_missing));
  return record_;
}

}  // namespace leeway::exec
