// What both forms of the report read out of a loop's figures.

#ifndef LEEWAY_REPORT_LOOP_READING_H_
#define LEEWAY_REPORT_LOOP_READING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/loop_result.h"

namespace leeway::report {

// Clamped requests above this share make every figure one of other requests.
inline constexpr double kManyClamped = 0.05;

// "none", "present" or "insufficient".
const char* VerdictName(LoopHeadroom::Verdict verdict);

// The family that people know a cause by: "queueing", "imbalance", "fallback", "execution",
// "unexplained".
const char* FamilyName(Cause cause);
// All of them, in the order of the enumeration.
std::vector<Cause> AllCauses();

// Null where the arm was not attributed at that percentile.
const LoopTail* FindTail(const LoopArm& arm, double percentile);

// A part of the latency before and after.
struct CauseChange {
  Cause cause = Cause::kAdmission;
  Nanos before{0}, after{0};
  Nanos change() const { return after - before; }
};
// Causes that are not zero on both sides, the largest change first.
std::vector<CauseChange> Changes(const Attribution& before, const Attribution& after);

// False for the latency of no request, and where too many did not end ok to tell.
bool IsLatency(Nanos latency);
// As Duration(); a dash for what is no latency.
std::string Latency(Nanos latency);

// Least and most of something in a group of windows.
struct Range {
  std::int64_t low = 0, high = 0;
};

// Scored windows that follow each other, as one row of a table.
struct WindowGroup {
  Instant from, to;
  std::uint64_t windows = 0, overloaded = 0, requests = 0;
  double load = 0;  // mean
  Nanos frozen_work{0}, adapted_work{0}, clairvoyant_work{0};
  Nanos frozen_p99{0}, adapted_p99{0};  // the largest
  // Means weighted by each arm's work.
  std::optional<double> frozen_accuracy, adapted_accuracy;
  std::uint64_t compiles = 0, switches = 0;  // that took effect in it
  std::size_t plan = 0;                      // that served its last window
  Range median, p95;                         // of the windows' lengths
};

// At most `rows` groups of equally many scored windows; the last may have fewer.
std::vector<WindowGroup> GroupedWindows(const LoopSummary& summary, std::size_t rows);
std::uint64_t ScoredWindows(const LoopSummary& summary);

}  // namespace leeway::report

#endif  // LEEWAY_REPORT_LOOP_READING_H_
