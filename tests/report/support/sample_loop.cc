#include "sample_loop.h"

namespace leeway::testing {
namespace {

LoopTail Tail(double percentile, std::uint64_t requests, Nanos capacity, Nanos padding) {
  LoopTail tail;
  tail.percentile = percentile;
  tail.requests = requests;
  tail.mean[Cause::kCapacity] = capacity;
  tail.mean[Cause::kPlanned] = 120ms;
  tail.mean[Cause::kPadding] = padding;
  tail.mean[Cause::kLaunch] = 5us;
  return tail;
}

LoopArm Arm(const std::string& name, Nanos work, Nanos p99, double accuracy) {
  LoopArm arm;
  arm.name = name;
  arm.work = work;
  arm.p50 = p99 / 4;
  arm.p95 = p99 / 2;
  arm.p99 = p99;
  arm.mean = p99 / 3;
  arm.submitted = 10000;
  arm.ok = 9990;
  arm.goodput_rps = 4.25;
  arm.capacity_rps = {{5.5, {{5.0, 6.25}}}};
  arm.slo_attainment = 0.985;
  arm.accuracy = MappingAccuracy{};
  arm.accuracy->accuracy = accuracy;
  // Thirds, so that rounding each by itself would not add up.
  arm.accuracy->lost_envelope = (1 - accuracy) / 3;
  arm.accuracy->lost_variant = (1 - accuracy) / 3;
  arm.accuracy->lost_cost = (1 - accuracy) / 3;
  arm.accuracy->over_seeds = {accuracy - 0.02, accuracy + 0.01};
  arm.fallback_rate = 0.01;
  arm.fallback_time = 0.03;
  arm.padding_waste = 0.2;
  arm.energy_j = 1234.5;
  arm.runs = 4000;
  arm.steps = 160000;
  arm.tails = {Tail(0, 9990, 10ms, 30ms), Tail(0.95, 500, 200ms, 50ms),
               Tail(0.99, 100, p99 - 300ms, p99 / 10)};
  arm.telemetry_digest = std::string(64, 'a');
  return arm;
}

void AddWindows(LoopSummary& summary, int windows) {
  for (int w = 0; w <= windows; ++w) {
    LoopWindow window;
    window.from = Instant(w * Nanos(1h));
    window.to = Instant((w + 1) * Nanos(1h));
    window.median = 400 + w;
    window.p95 = 3000 - w;
    if (w > 0) {
      window.requests = 1000;
      window.load = 0.7;
      window.frozen_work = 10s;
      window.adapted_work = 9s;
      window.clairvoyant_work = 8s;
      window.cross_fitted_work = 8500ms;
      window.frozen_p99 = 2s + w * Nanos(1ms);
      window.adapted_p99 = 1900ms;
      window.frozen_accuracy = 0.6;
      window.adapted_accuracy = 0.75;
      window.plan = w > 2 ? 1 : 0;
    }
    summary.windows.push_back(window);
  }
  summary.windows.back().overloaded = true;
  summary.overloaded_windows = 1;
}

void AddActions(LoopSummary& summary) {
  LoopAction action;
  action.window = 3;
  action.at = Instant(3h);
  action.plan = 1;
  action.edges = {128, 512, 2048, 8192};
  action.expected_gain = 0.08;
  action.observed_gain = 0.06;
  summary.actions.push_back(action);
  action.kind = LoopAction::Kind::kSwitch;
  action.window = 5;
  action.at = Instant(5h);
  action.plan = 0;
  action.observed_gain = -0.01;
  summary.actions.push_back(action);
  summary.compiles = 1;
  summary.switches = 1;
}

void AddSample(LoopSummary& summary) {
  summary.formation.resize(2);
  summary.formation[0] = {"by bucket", 500ms, 2s, 6.5, 0.2, 700};
  summary.formation[1] = {"first come", 900ms, 5s, 3.5, 0.7, 300};
  summary.sweep = {{0.3, 2.5, 1s, 900ms, 800ms}, {0.9, 7.5, 9s, 6s, Nanos::max()}};
}

}  // namespace

LoopSummary SampleLoop(int windows) {
  LoopSummary summary;
  summary.model = "toy_prefill";
  summary.device = "pair";
  summary.traffic = "chat";
  summary.dim = "seq";
  summary.seed = 7;
  summary.requests = 11000;
  summary.scored_requests = 10000;
  summary.window = 1h;
  summary.span = (windows + 1) * Nanos(1h);
  summary.compile_time = 30s;
  summary.rate = "flat";
  summary.load = 0.7;
  summary.phi = 2;
  summary.fallback_stretch = 3.5;
  summary.time_compression = 12.5;
  summary.clamped_rate = 0.001;
  summary.variants = 4;
  summary.slo = 4s;
  summary.reality = "noise, seed 0";
  summary.headroom.gain = {0.18, std::pair(0.11, 0.25)};
  summary.headroom.verdict = LoopHeadroom::Verdict::kPresent;
  summary.frozen = Arm("frozen", 100s, 2s, 0.6);
  summary.adapted = Arm("adapted", 90s, 1900ms, 0.75);
  summary.clairvoyant = Arm("clairvoyant", 80s, 1800ms, 0.8);
  summary.gain.work = {100.0 / 90 - 1, std::pair(0.05, 0.15)};
  summary.gain.p50 = {0.05, std::nullopt};
  summary.gain.p95 = {0.05, std::pair(0.01, 0.1)};
  summary.gain.p99 = {0.0526, std::pair(-0.01, 0.12)};
  summary.gain.capacity = {{0.04, {{-0.1, 0.2}}}};
  summary.gain.captured = {{0.5, {{0.375, 0.625}}}};
  summary.gain.captured_cf = {{0.62, {{0.5, 0.75}}}};
  summary.gain.captured_by_switching = 0.31;
  summary.gain.captured_by_reference = 0.45;
  summary.gain.reference_compiles = 3;
  summary.worst_window = 0.04;
  summary.harmed_share = 0.1;
  AddWindows(summary, windows);
  AddActions(summary);
  AddSample(summary);
  summary.frozen_buckets = {{128, 0.5, 0.4}, {512, 0.3, 0.3}, {2048, 0.2, 0.25}};
  summary.contradictions = {"work fell but energy rose when adapted"};
  summary.notes = {"dim \"seq\" takes the traffic's \"length\""};
  const std::string digest(64, 'b');
  summary.digests = {digest, digest, digest, digest, digest};
  return summary;
}

LoopSummary LoopWithoutHeadroom() {
  LoopSummary summary = SampleLoop();
  summary.headroom.gain = {0.012, std::pair(-0.003, 0.025)};
  summary.headroom.verdict = LoopHeadroom::Verdict::kNone;
  summary.gain.captured.reset();
  summary.gain.captured_cf.reset();
  summary.gain.captured_by_switching.reset();
  summary.gain.captured_by_reference.reset();
  summary.actions.clear();
  summary.compiles = 0;
  summary.switches = 0;
  return summary;
}

LoopSummary LoopOfNames(const std::string& name) {
  LoopSummary summary = SampleLoop();
  for (std::string* text :
       {&summary.model, &summary.device, &summary.traffic, &summary.dim, &summary.rate,
        &summary.reality, &summary.frozen.name, &summary.adapted.name, &summary.clairvoyant.name,
        &summary.formation[0].name, &summary.formation[1].name, &summary.digests.model,
        &summary.digests.device, &summary.digests.traffic, &summary.digests.frozen_plan,
        &summary.digests.adapted_plan, &summary.frozen.telemetry_digest,
        &summary.adapted.telemetry_digest}) {
    *text = name;
  }
  summary.contradictions = {name, name};
  summary.notes = {name};
  return summary;
}

}  // namespace leeway::testing
