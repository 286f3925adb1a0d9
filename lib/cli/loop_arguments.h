// What `leeway loop` takes from the command line.

#ifndef LEEWAY_CLI_LOOP_ARGUMENTS_H_
#define LEEWAY_CLI_LOOP_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "leeway/loop.h"

namespace leeway::cli {

struct LoopArguments {
  std::string model;
  std::string device = "onnxim_tpuv4_c4";
  TrafficArguments traffic;
  bool force = false;

  void Declare(CLI::App& app);
  // The options that these mean, with the seed that every command has.
  LoopOptions Options(std::uint64_t seed) const;

 private:
  void DeclareExperiment(CLI::App& app);
  void DeclareBinding(CLI::App& app);

  LoopOptions options_;
  std::int64_t variants_ = 8;
  std::int64_t jobs_ = 0;
  std::optional<Nanos> window_, compile_time_, slo_;
  std::string rate_;
  bool strict_ = false;
};

// The main load and those to sweep over.
struct Loads {
  double main = 0.7;
  std::vector<double> sweep;
};

// "0.7", or several with commas between: all are swept, and the main one is the default's where it
// is among them, else the first. Throws UsageError.
Loads ParseLoads(const std::string& text);
// "exact", "noise" or "noise:SEED". Throws UsageError.
LoopReality ParseReality(const std::string& text);
// A duration, or "p99=" and one. Throws UsageError.
Nanos ParseTailObjective(const std::string& text);

// Processors that this process may run on; at least 1.
int UsableProcessors();

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_LOOP_ARGUMENTS_H_
