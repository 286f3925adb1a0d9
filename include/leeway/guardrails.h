// What an adapted way of serving must keep before anyone believes its gain.
//
// Threading: pure functions.

#ifndef LEEWAY_GUARDRAILS_H_
#define LEEWAY_GUARDRAILS_H_

#include <optional>
#include <string>
#include <vector>

#include "leeway/loop_result.h"

namespace leeway {
inline namespace v0 {

struct Guardrail {
  std::string name;  // "worst_window", "p99"
  std::string rule;  // in words
  // Both say how much worse adapted is than frozen: adapted/frozen − 1. Kept while value <= limit.
  double limit = 0;
  // Absent where it cannot be told; that is not held against the plan.
  std::optional<double> value;
  bool ok = true;
};

// The guardrails of the loop, always the same in the same order:
//   worst_window  in no window adapted needs more than 20 % more work than frozen;
//   p99           adapted's p99 is not above frozen's beyond doubt: the 95 % interval of the gain
//   in
//                 p99 does not lie below 0 as a whole. Its value is taken at the interval's end
//                 that favours adapted.
std::vector<Guardrail> CheckGuardrails(const LoopSummary& summary);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_GUARDRAILS_H_
