// What runs hold in DRAM beside weights and state, step by step, and what fusing operators adds to
// that (COST_MODEL section 10).
//
// A group holds all that it reads and writes at once, where its operators one by one give up what
// the next does not need: fusing may save time and still raise the peak by this burst.
//
// Threading: pure functions.

#ifndef LEEWAY_DEVICE_LIVE_SET_H_
#define LEEWAY_DEVICE_LIVE_SET_H_

#include <cstdint>
#include <span>
#include <vector>

#include "device/spec.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::device {

// A buffer, from the step that makes it to the last that uses it.
struct Lifetime {
  double bytes = 0;
  std::size_t begin = 0, end = 0;
};

// Returns L(s), the bytes alive in each of `steps` steps. Requires begin <= end < steps.
std::vector<double> LiveBytes(std::span<const Lifetime> buffers, std::size_t steps);

// Of a group by itself, in bytes.
struct GroupMemory {
  // P(g): inputs, outputs and workspace.
  double peak = 0;
  // P(g) less the most that its operators hold one by one, each giving up what no later one of the
  // group uses; below 0 where fusing saves memory.
  double burst = 0;
};
// `dims` by dim index, within the domain.
GroupMemory MemoryOf(const plan::Body& plan, const plan::Entry& entry, const plan::Group& group,
                     std::span<const std::int64_t> dims);

// Returns the most that a run of the variant holds at once, what its calls run included.
double PeakActivations(const plan::Body& plan, const plan::Entry& entry,
                       const plan::Variant& variant, std::span<const std::int64_t> dims);
// Returns the bytes of all states.
double StateBytes(const plan::Body& plan, std::span<const std::int64_t> dims);

// Returns what each of `runs` runs may hold beside weights and state; below 0 if these exceed the
// DRAM. Requires runs >= 1.
double RunBudget(const plan::Body& plan, std::span<const std::int64_t> dims, const Spec& device,
                 int runs);

// The rule by which operators are fused: time is saved, and a run that held `peak` before stays
// within `budget` with the burst.
bool AcceptsFusion(Nanos saved, double peak, double burst, double budget);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_LIVE_SET_H_
