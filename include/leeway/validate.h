// The model held to figures that others measured or simulated.
//
// Threading: pure functions.
// Errors:    a check that fails is a result, not an error.

#ifndef LEEWAY_VALIDATE_H_
#define LEEWAY_VALIDATE_H_

#include <string>
#include <vector>

#include "leeway/status.h"

namespace leeway {
inline namespace v0 {

enum class CheckKind {
  kPrediction,  // the reference is no input of the model: evidence
  // No evidence about a device: a preset was fitted to it, or it is mathematics. Shows only that
  // the figure arrives.
  kPlumbing,
};
// "prediction", "plumbing"
const char* CheckKindName(CheckKind kind);

enum class CheckRule {
  kWithin,  // ours is the reference, but for the tolerance
  kAtMost,  // the reference is a bound that ours stays below, but for the tolerance
};

struct ModelCheck {
  // Which check of docs/cost_model.md, and of what: "V5", "[128, 128]² on four arrays".
  std::string name, what;
  double ours = 0, reference = 0;
  std::string unit = {};
  // Accepted relative error; 0: exact.
  double tolerance = 0;
  CheckKind kind = CheckKind::kPrediction;
  CheckRule rule = CheckRule::kWithin;
  // Where the reference comes from.
  std::string source = {};
  // Of a check that fails: why.
  std::string note = {};

  // ours / reference − 1.
  double error() const;
  bool ok() const;
};

struct ValidateOptions {
  // Content and name of a file of SCALE-Sim results, a row a layer, with the columns dataflow, R,
  // C, M, N, K, scalesim_compute_cycles, ifmap_sram_reads, filter_sram_reads and ofmap_sram_writes:
  // checked row by row. Empty: none.
  std::string scalesim_rows, scalesim_name;
};

// Returns every check, in the order of their names. kInvalidArgument for rows that cannot be read,
// with their line.
Result<std::vector<ModelCheck>> ValidateModel(const ValidateOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_VALIDATE_H_
