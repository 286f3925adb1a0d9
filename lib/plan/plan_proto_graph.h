// The part of the conversion that reads what a plan maps: header, dims, tensors, operators; see
// plan_proto.h. Each function reads one message into the body, or returns what it reads.

#ifndef LEEWAY_PLAN_PLAN_PROTO_GRAPH_H_
#define LEEWAY_PLAN_PLAN_PROTO_GRAPH_H_

#include "leeway_internal/plan/v1/plan.pb.h"
#include "plan/body.h"
#include "plan/reader.h"

namespace leeway::plan {

namespace pb = leeway_internal::plan::v1;

void ReadHeader(Reader& reader, const Path& path, const pb::Header& in);
void ReadDims(Reader& reader, const Path& plan, const pb::Plan& in);
// Requires the dims.
void ReadShapeProfile(Reader& reader, const Path& path, const pb::ShapeProfile& in);
// Requires the dims. What names other tensors is for ReadTensorLinks, which requires all tensors.
Tensor ReadTensor(Reader& reader, const Path& path, const pb::Tensor& in);
void ReadTensorLinks(Reader& reader, const Path& path, const pb::Tensor& in, Tensor& tensor);
// Requires the tensors and the names of the entries. What names other operators is not read.
Operator ReadOperator(Reader& reader, const Path& path, const pb::Operator& in);
// Checks PRODUCED dims, which requires the operators.
void CheckProducers(Reader& reader, const Path& plan, const pb::Plan& in);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_GRAPH_H_
