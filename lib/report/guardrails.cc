#include "leeway/guardrails.h"

#include <cmath>

namespace leeway {
inline namespace v0 {
namespace {

constexpr double kMostExcess = 0.20;

Guardrail WorstWindow(const LoopSummary& summary) {
  Guardrail guardrail;
  guardrail.name = "worst_window";
  guardrail.rule = "in no window adapted needs more than 20 % more work than frozen";
  guardrail.limit = kMostExcess;
  if (std::isfinite(summary.worst_window)) guardrail.value = summary.worst_window;
  guardrail.ok = !guardrail.value || *guardrail.value <= guardrail.limit;
  return guardrail;
}

Guardrail TailLatency(const LoopSummary& summary) {
  Guardrail guardrail;
  guardrail.name = "p99";
  guardrail.rule = "adapted's p99 is not above frozen's by more than its 95 % interval";
  const auto interval = summary.gain.p99 ? summary.gain.p99->interval : std::nullopt;
  // A gain is frozen/adapted − 1, so that 1 + gain is positive.
  if (interval && std::isfinite(interval->second) && interval->second > -1) {
    guardrail.value = 1 / (1 + interval->second) - 1;
  }
  guardrail.ok = !guardrail.value || *guardrail.value <= guardrail.limit;
  return guardrail;
}

}  // namespace

std::vector<Guardrail> CheckGuardrails(const LoopSummary& summary) {
  return {WorstWindow(summary), TailLatency(summary)};
}

}  // namespace v0
}  // namespace leeway
