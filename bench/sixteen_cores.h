// BERT-base on sixteen cores that share one DRAM, one text a run, at about 80 % of its bandwidth:
// what simulation speed is measured on.
#ifndef LEEWAY_BENCH_SIXTEEN_CORES_H_
#define LEEWAY_BENCH_SIXTEEN_CORES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/prng.h"
#include "exec/simulation.h"
#include "leeway/device.h"
#include "leeway/plan.h"

namespace leeway::bench {

// Requests of evenly drawn lengths, at exponential gaps.
class Texts {
 public:
  explicit Texts(std::int64_t requests) : left_(requests) {}

  Result<std::optional<exec::SimArrival>> Next() {
    if (left_-- == 0) return std::optional<exec::SimArrival>();
    exec::SimArrival arrival;
    arrival.at = at_;
    arrival.dims = {static_cast<std::int64_t>(1 + prng_.Below(512)), 1};
    at_ += Nanos(static_cast<std::int64_t>(kMeanGapNanos * prng_.Exponential()));
    return std::optional(std::move(arrival));
  }

 private:
  static constexpr double kMeanGapNanos = 350'000;
  std::int64_t left_;
  Instant at_;
  base::Prng prng_{1};
};

// Without loops added up: every step is played.
inline exec::SimConfig SixteenCores(
    exec::SimConfig::Detail detail = exec::SimConfig::Detail::kLatencies) {
  exec::SimConfig config;
  config.plan = Plan::Load("bert_base").value().body();
  auto spec = std::make_shared<device::Spec>(*Device::Load("onnxim_tpuv4_c4").value().spec());
  spec->classes[0].count = 16;
  spec->classes[0].core_clock_hz.assign(16, spec->classes[0].clock_hz);
  config.device = std::move(spec);
  config.streams.push_back({"texts", Priority(1)});
  config.serving.batching.max_batch_size = 1;
  config.loops = exec::SimConfig::Loops::kPlay;
  config.detail = detail;
  return config;
}

inline std::uint64_t StepsOf(const exec::SimConfig& config, std::int64_t requests) {
  Texts texts(requests);
  return exec::RunSimulation(config, [&] { return texts.Next(); }).value()->summary.steps;
}

}  // namespace leeway::bench

#endif  // LEEWAY_BENCH_SIXTEEN_CORES_H_
