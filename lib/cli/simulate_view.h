// What `leeway simulate` shows: a screen, or a JSON document.

#ifndef LEEWAY_CLI_SIMULATE_VIEW_H_
#define LEEWAY_CLI_SIMULATE_VIEW_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/invocation.h"
#include "cli/options.h"
#include "cli/table.h"
#include "leeway/attribution.h"
#include "leeway/simulate.h"

namespace leeway::cli {

// A latency objective, and the percentile that is to keep it, if one was named: "p99".
struct Objective {
  Nanos latency{0};
  std::string percentile;
};

// Throws UsageError unless the text is a duration, or one after "p99=".
Objective ParseObjective(const std::string& text);

// The measured value of the objective's percentile.
Nanos Measured(const Objective& objective, const LatencyStats& latency);

struct SimulateArguments {
  std::string plan;
  std::string device = "onnxim_tpuv4_c4";
  std::string telemetry;
  TrafficArguments traffic;
  std::optional<Nanos> window;
  std::optional<Objective> slo;
};

struct SimulateView {
  const Plan& plan;
  const Device& device;
  const Traffic& traffic;
  const SimulateArguments& arguments;
  const SimulateOptions& options;
  const SimResult& result;
};

std::string SimulateScreen(const SimulateView& view, const Ink& ink);
std::string SimulateJson(const SimulateView& view, const Stopwatch& watch);

// The causes as people name them, in families.
struct Family {
  const char* name;
  std::vector<Cause> causes;
};
const std::vector<Family>& Families();

// Share of the submitted requests, 0 of none.
double ShareOf(std::uint64_t part, std::uint64_t whole);
double ClampedRate(const SimSummary& summary);
// Clamped requests above this share come first on the screen.
inline constexpr double kManyClamped = 0.05;

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_SIMULATE_VIEW_H_
