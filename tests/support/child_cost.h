// What some work costs, measured in a process of its own.
#ifndef LEEWAY_TESTS_SUPPORT_CHILD_COST_H_
#define LEEWAY_TESTS_SUPPORT_CHILD_COST_H_

#include <cstddef>
#include <functional>

namespace leeway::testing {

struct ChildCost {
  // The work ended and returned true.
  bool ok = false;
  double cpu_seconds = 0;
  // By how much resident memory grew at most.
  std::size_t peak_bytes = 0;
};

// True where a sanitizer multiplies what memory and time work takes.
bool IsSanitized();

// Runs `work` in a child, which ends where it would allocate more than `limit_bytes` beyond what it
// has (not with a sanitizer).
ChildCost CostOf(const std::function<bool()>& work, std::size_t limit_bytes);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_SUPPORT_CHILD_COST_H_
