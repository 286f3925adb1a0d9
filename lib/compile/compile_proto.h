// The message of a compiled plan. Only compile_proto.cc sees generated code.

#ifndef LEEWAY_COMPILE_COMPILE_PROTO_H_
#define LEEWAY_COMPILE_COMPILE_PROTO_H_

#include <optional>
#include <string>
#include <vector>

#include "device/spec.h"
#include "leeway/status.h"
#include "plan/body.h"

namespace leeway::compile {

inline constexpr char kProducer[] = "leeway reference compiler";
// Raised whenever the compiler maps something differently.
inline constexpr char kProducerVersion[] = "1";

// By entry of the model: its variants from now on, or nothing to keep those it has.
using NewVariants = std::vector<std::optional<std::vector<plan::Variant>>>;

// Returns the serialized plan of the model's graph with these variants: producer, target device and
// parent say where it comes from. kDataLoss if the model's own bytes are no plan.
Result<std::string> WritePlan(const plan::Body& model, const device::Spec& device,
                              const NewVariants& variants);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_COMPILE_PROTO_H_
