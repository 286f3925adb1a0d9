// What a simulation's figures are summed from, counted apart from the policy's own counters.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_LEDGER_H_
#define LEEWAY_EXEC_LEDGER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exec/attributor.h"
#include "exec/run_census.h"
#include "exec/sim_config.h"
#include "exec/sim_record.h"
#include "exec/simulated_world.h"
#include "exec/work_meter.h"
#include "leeway/simulate.h"
#include "leeway/status.h"
#include "sched/scheduler.h"
#include "telemetry/length_recorder.h"
#include "telemetry/snapshot.h"

namespace leeway::exec {

class Ledger {
 public:
  Ledger(const SimConfig& config, const sched::Model& model);

  // From now on arrivals are met by `model`, the next of the plans.
  void Serve(std::shared_ptr<sched::Model> model);

  // Counts an arrival and its work before it is submitted. The cost model's errors.
  Status Submitted(const SimArrival& arrival);
  // The work of a request is done; Ok() or Other() follows, and the run is gone by then.
  void Held(const RequestRecord& request) { Count(request); }
  void Ok(const RequestRecord& request);
  void Other(const sched::Request& request, Outcome outcome);

  std::uint64_t submitted() const { return submitted_; }

  // kInternal if the policy's counters tell another story than these; the snapshot's own errors.
  Result<std::shared_ptr<SimRecord>> Finish(const SimConfig& config,
                                            const sched::Scheduler& scheduler,
                                            const SimulatedWorld& world,
                                            std::uint64_t attribution_missing);

 private:
  void Count(const RequestRecord& request);
  StreamSummary& stream(std::uint32_t index) { return record_->summary.streams[index]; }
  Status FinishStreams(const sched::Scheduler& scheduler);
  void FinishCores(const device::Spec& device, const SimulatedWorld& world);
  void FinishTotals(const device::Spec& device, const SimulatedWorld& world);
  Status TakeSnapshot(const SimConfig& config, const sched::Scheduler& scheduler,
                      const SimulatedWorld& world, std::uint64_t attribution_missing);

  bool attributed() const { return config_.detail == SimConfig::Detail::kAttributed; }

  const SimConfig& config_;
  const ServingOptions& serving_;
  Attributor::OnOk on_ok_;
  std::optional<WorkMeter> meter_;
  RunCensus census_;
  Status status_;
  // What serves, and the number of every model that has; those freed are not looked up any more.
  std::shared_ptr<sched::Model> model_;
  absl::flat_hash_map<const sched::Model*, std::uint32_t> plans_;
  std::shared_ptr<SimRecord> record_;
  std::uint64_t submitted_ = 0;
  Nanos useful_{0};
  Instant last_end_;
  telemetry::ExponentialHistogram all_waits_;
  std::vector<telemetry::ExponentialHistogram> waits_;  // by stream
  std::vector<Nanos> in_service_;  // by stream: Σ latency − waiting before and after
  telemetry::LengthRecorder lengths_;
  // By stream × dim of the plan that requests bind.
  std::vector<std::vector<telemetry::LengthRecorder::Series>> series_;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_LEDGER_H_
