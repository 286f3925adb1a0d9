// The part of the conversion that reads variants, and what messages share; see plan_proto.h.

#ifndef LEEWAY_PLAN_PLAN_PROTO_MAPPING_H_
#define LEEWAY_PLAN_PLAN_PROTO_MAPPING_H_

#include <string_view>
#include <vector>

#include "leeway_internal/plan/v1/plan.pb.h"
#include "plan/body.h"
#include "plan/reader.h"

namespace leeway::plan {

namespace pb = leeway_internal::plan::v1;

// Reads a variant in three parts; `operators` are the names of its entry. First what its groups do
// not need, then each group, then what names groups.
Variant ReadVariant(Reader& reader, const Path& path, const pb::Variant& message);
Group ReadGroup(Reader& reader, const Path& path, const pb::FusionGroup& message,
                const Names& operators);
void ReadVariantLinks(Reader& reader, const Path& path, const pb::Variant& message,
                      const Names& operators, const Names& groups, Variant& out);

// Returns a value for every dim: those named, `body().dims[i].min` for the others. Reports repeats,
// and values outside the domain.
std::vector<std::int64_t> ReadDimValues(
    Reader& reader, const Path& path,
    const google::protobuf::RepeatedPtrField<pb::DimValue>& values);

// Returns what `field` of the message at `path` holds.
std::vector<Annotation> ReadAnnotations(
    Reader& reader, const Path& path, std::string_view field,
    const google::protobuf::RepeatedPtrField<pb::Annotation>& annotations);

CoreRef ReadCore(Reader& reader, const Path& path, const pb::CoreRef& message);
// Returns what the field "cores" of the message at `path` holds.
std::vector<CoreRef> ReadCores(Reader& reader, const Path& path,
                               const google::protobuf::RepeatedPtrField<pb::CoreRef>& cores);

// Reads where the variant keeps tensors: layouts, residency, arenas. `out` has its envelope.
void ReadMemory(Reader& reader, const Path& path, const pb::Variant& message, Variant& out);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_MAPPING_H_
