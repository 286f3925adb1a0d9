// A loop's figures as they might be, made by hand: nothing was served for them.

#ifndef LEEWAY_TESTS_REPORT_SUPPORT_SAMPLE_LOOP_H_
#define LEEWAY_TESTS_REPORT_SUPPORT_SAMPLE_LOOP_H_

#include <string>

#include "leeway/loop_result.h"

namespace leeway::testing {

// With headroom, actions, an overloaded window, a sweep and an ablation; `windows` of them scored.
LoopSummary SampleLoop(int windows = 10);
// Nothing to gain, nothing done.
LoopSummary LoopWithoutHeadroom();
// The sample with this text wherever one can come from outside.
LoopSummary LoopOfNames(const std::string& name);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_REPORT_SUPPORT_SAMPLE_LOOP_H_
