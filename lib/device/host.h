// Processors of the host. They run a plan's HOST work and no other, and nothing but them runs it:
// a step of it takes exactly the nanoseconds that the plan states, no launch, no DRAM traffic and
// no energy of the device.
//
// They are cores of a class of its own behind the accelerator's, so that all that serves cores
// serves them; a device has the class only while it serves a plan with HOST work, and so nothing of
// other plans changes.
//
// Threading: values.

#ifndef LEEWAY_DEVICE_HOST_H_
#define LEEWAY_DEVICE_HOST_H_

#include <memory>
#include <span>

#include "device/spec.h"
#include "device/step_cost.h"
#include "leeway/status.h"
#include "plan/body.h"

namespace leeway::device {

inline constexpr char kHostClass[] = "host";

bool IsHostWork(const plan::Operator& op);
// Whether any operator of the plan is HOST work.
bool HasHostWork(const plan::Body& plan);

// The device with its host's processors, as many as it states and still have a number. What has
// them already, or serves a plan without HOST work, is returned as it is.
Spec WithHost(Spec device);
std::shared_ptr<const Spec> WithHostFor(const plan::Body& plan, std::shared_ptr<const Spec> device);

// What HOST operators cost together as one step. `what` stands for the step in messages.
// kInvalidArgument if it is shared between cores, kUnimplemented if an operator states other work,
// kOutOfRange beyond 2⁵³ ns.
Result<StepCost> HostCost(const plan::Entry& entry, std::span<const plan::Index> ops,
                          std::int64_t shards, const std::string& what);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_HOST_H_
