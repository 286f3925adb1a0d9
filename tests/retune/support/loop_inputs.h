// Traffic and a model for tests of the loop experiment.

#ifndef LEEWAY_TESTS_RETUNE_SUPPORT_LOOP_INPUTS_H_
#define LEEWAY_TESTS_RETUNE_SUPPORT_LOOP_INPUTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "compile/compiler.h"
#include "compile/work_curve.h"
#include "leeway/plan.h"
#include "retune/loop_traffic.h"
#include "traffic/body.h"

namespace leeway::retune::testing {

// What comes in one hour: lengths from `low` to `high`, evenly.
struct Hour {
  double rate = 1;
  std::int64_t low = 1, high = 1;
};

// Drawn traffic of one hour after the other; an hour of rate 0 is empty.
std::shared_ptr<const traffic::Body> DrawnHours(const std::vector<Hour>& hours,
                                                std::uint64_t requests);

// Recorded traffic: requests at times in seconds, of lengths.
struct Call {
  double at_s = 0;
  std::int64_t length = 1;
};
std::shared_ptr<const traffic::Body> Recorded(const std::vector<Call>& calls);

// A product and its activation over seq in [1, 4096] and batches up to 8.
Plan ToyModel();
// For the default device.
compile::Compiler ToyCompiler();

LoopSource::Options SourceOptions();

}  // namespace leeway::retune::testing

#endif  // LEEWAY_TESTS_RETUNE_SUPPORT_LOOP_INPUTS_H_
