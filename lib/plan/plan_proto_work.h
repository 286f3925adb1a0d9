// The part of the conversion that reads what operators do; see plan_proto.h.

#ifndef LEEWAY_PLAN_PLAN_PROTO_WORK_H_
#define LEEWAY_PLAN_PLAN_PROTO_WORK_H_

#include "leeway_internal/plan/v1/plan.pb.h"
#include "plan/body.h"
#include "plan/reader.h"

namespace leeway::plan {

namespace pb = leeway_internal::plan::v1;

// Returns the work of the operator at `path`; none where the message has none.
Work ReadWork(Reader& reader, const Path& path, const pb::Work& message);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_WORK_H_
