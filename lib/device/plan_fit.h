// Whether a plan fits a device: placements that exist, tiles that fit the SRAM, DRAM capacity.

#ifndef LEEWAY_DEVICE_PLAN_FIT_H_
#define LEEWAY_DEVICE_PLAN_FIT_H_

#include <vector>

#include "device/spec.h"
#include "leeway/plan.h"
#include "plan/body.h"
#include "plan/findings.h"

namespace leeway::device {

// Reports every finding, with field paths into the plan. Costs are looked at where a variant is
// largest: at its upper corner or, where constraints cut that off, as far as they let towards each
// corner. DRAM: distinct weights of all variants + peak live activations (declared tensors, what a
// CALL runs included) × `concurrent_runs` + state. Weights that a variant keeps on a core fit what
// its SRAM has for them, all of it where the device sets nothing apart. The
// operators of an entry are looked at one by one too, at the ends of the dims' domains: the
// fallback runs them so.
//
// Warnings: a plan that was compiled for another device, and a group whose profile says that it
// takes more SRAM than a core has that it may run on.
void CheckFit(const plan::Body& plan, const Spec& device, int concurrent_runs,
              plan::Findings& findings);
// As above; returns at most CheckResult::kMaxFindings.
std::vector<Finding> CheckFit(const plan::Body& plan, const Spec& device, int concurrent_runs);

// The cores that a reference names, rising; an empty class means every class. kNotFound names the
// device, class or index that there is not.
Result<std::vector<CoreIndex>> ResolveCores(const plan::CoreRef& ref, const Spec& device);

struct ResolvedPlacement {
  // Where shard i is planned: planned[i mod size], in the placement's order; empty for ANY.
  std::vector<CoreIndex> planned;
  // In core order. PINNED: the cores named. PREFERRED: every core of a class of which one is named.
  // ANY: the cores named or, without any, every core that has what the work needs.
  std::vector<CoreIndex> allowed;
};

// The units of a core that work cannot do without.
struct Needs {
  bool matrix = false, vector = false;
  // Either of them: a core that only moves data will not do.
  bool compute = false;
  bool host = false;  // a processor of the host, and no core (host.h)
};

// Of the operator by itself: products need an array, elementwise work and reductions lanes, all but
// a MOVE a core that computes.
Needs NeedsOf(const plan::Operator& op);

// An empty class means every class. kNotFound names the class or index, kInvalidArgument is a
// PINNED placement without cores, kFailedPrecondition a need that no core meets, or work that has
// to be computed on a class that only moves data.
Result<ResolvedPlacement> ResolvePlacement(const plan::Placement& placement, const Spec& device,
                                           Needs needs = {});
// As ResolvePlacement, with the needs of the group's operators; errors name the group.
Result<ResolvedPlacement> ResolveGroup(const plan::Entry& entry, const plan::Group& group,
                                       const Spec& device);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_PLAN_FIT_H_
