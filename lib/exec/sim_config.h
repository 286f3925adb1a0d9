// What a simulation is asked: plans, device, streams, how they serve, and who is told.

#ifndef LEEWAY_EXEC_SIM_CONFIG_H_
#define LEEWAY_EXEC_SIM_CONFIG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/reality.h"
#include "device/spec.h"
#include "exec/attributor.h"
#include "exec/core_clocks.h"
#include "leeway/simulate.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "sched/cost_table.h"

namespace leeway::exec {

struct SimStream {
  std::string name;
  Priority priority{1};
  std::uint32_t weight = 0;  // 0: by the priority
  // Nothing: the serving options'.
  std::optional<QueueOptions> queue = {};
  std::optional<bool> preserve_ordering = {};
};

struct SimArrival {
  Instant at;
  std::uint32_t stream = 0;
  sched::DimValues dims;  // by the plan's dim index, within its domain
  Nanos timeout{0};       // 0: the stream's
  Nanos cancel_after = Nanos::max();
};

// From `at` on new requests bind to `plan`; those bound before finish on what they have.
struct PlanSwap {
  Instant at;
  std::shared_ptr<const plan::Body> plan;
};

// Arrivals in order of time; nothing at the end.
using NextArrival = std::function<Result<std::optional<SimArrival>>()>;

struct SimConfig {
  std::shared_ptr<const plan::Body> plan;
  // In order of time; of the same dims and entry as `plan`.
  std::vector<PlanSwap> swaps;
  std::shared_ptr<const device::Spec> device;
  // The device as it is, where it differs from its model; may be null.
  std::shared_ptr<const device::Reality> reality;
  std::string entry;  // empty: the only one that is not internal
  std::vector<SimStream> streams;
  ServingOptions serving;
  // kLatencies is for many replays: counts and latencies alone, at about twice the speed. Records
  // told of have no parts, queue wait or core time, a census does not tell displaced steps, and
  // there is neither work nor telemetry.
  enum class Detail { kAttributed, kLatencies } detail = Detail::kAttributed;
  // kSkip adds up the repetitions of a loop that nothing can disturb (round_skipper.h), kPlay plays
  // each: the same results, more slowly.
  enum class Loops { kSkip, kPlay } loops = Loops::kSkip;
  // kModelled has effect on devices that state a thermal ladder or a clock loop; kOff leaves every
  // core at its own clock and heat out of account.
  CoreClocks::Heat heat = CoreClocks::Heat::kModelled;
  // Bounds of windows by which executed steps are told apart; empty: they are not kept.
  std::vector<Instant> census;
  // Told of every OK request, in order of completion; may be null.
  Attributor::OnOk on_ok;
  // Called every few thousand instants; false ends the simulation with kCancelled.
  std::function<bool(const Progress&)> progress;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_SIM_CONFIG_H_
