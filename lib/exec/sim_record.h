// What a simulation leaves behind: its figures, latency profiles by stream, and a snapshot.

#ifndef LEEWAY_EXEC_SIM_RECORD_H_
#define LEEWAY_EXEC_SIM_RECORD_H_

#include <string>
#include <vector>

#include "leeway/sim_result.h"
#include "telemetry/executed_steps.h"
#include "telemetry/exponential_histogram.h"
#include "telemetry/tail_profile.h"

namespace leeway::exec {

struct SimRecord {
  SimSummary summary;
  telemetry::TailProfile all;
  std::vector<telemetry::TailProfile> by_stream;
  std::vector<telemetry::ExecutedSteps> executed;  // where they were asked for
  std::string telemetry;                           // a serialized leeway.telemetry snapshot
  std::string telemetry_digest;                    // its SHA-256 in hexadecimal
};

LatencyStats StatsOf(const telemetry::ExponentialHistogram& histogram);

// Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984): (Σx)² / (n·Σx²); 1 for no values
// or all zero.
double JainIndex(const std::vector<double>& values);

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_SIM_RECORD_H_
