// From the bytes of a leeway.plan.v1.Plan to a Body whose names are resolved. The files
// plan_proto*.{h,cc} are the only files that see the generated messages.

#ifndef LEEWAY_PLAN_PLAN_PROTO_H_
#define LEEWAY_PLAN_PLAN_PROTO_H_

#include <string_view>

#include "leeway/status.h"
#include "plan/body.h"
#include "plan/reader.h"

namespace leeway::plan {

// The schema version that this reader understands.
inline constexpr unsigned kSchemaVersion = 1;

// Reads a plan into reader.body(), in the message's order: operators and groups are not sorted yet,
// and an operator's predecessors are its control edges only. Content that is wrong by itself
// becomes a finding; what is wrong between parts is for Validate().
// Fields of a newer schema are kept in body().serialized and give one warning.
// kDataLoss if the bytes are no plan, kFailedPrecondition if they need a newer reader; both name
// the plan by `name`.
Status ReadPlan(std::string_view bytes, std::string_view name, Reader& reader);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_H_
