#include "plan/plan_proto_mapping.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "plan/plan_proto_unknown.h"

namespace leeway::plan {
namespace {

static_assert(static_cast<int>(ShapeMode::kDynamic) == pb::Range::DYNAMIC);
static_assert(static_cast<int>(PlacementMode::kPinned) == pb::Placement::PINNED);

using google::protobuf::RepeatedPtrField;

// What a dimension that the envelope leaves out has.
Range DefaultRange(const Dim& dim) {
  return {dim.min, dim.max, dim.max, IsBatchDim(dim) ? ShapeMode::kDynamic : ShapeMode::kPadded, 1};
}

void CheckShapeMode(Reader& reader, const Path& path, const Dim& dim, const pb::Range& in,
                    Range& range) {
  range.mode =
      static_cast<ShapeMode>(reader.Enum(path.At("shape_mode"), in.shape_mode(),
                                         pb::Range::ShapeMode_MAX, static_cast<int>(range.mode)));
  range.granule = in.granule() == 0 ? 1 : in.granule();
  if (range.granule < 1) {
    reader.findings().Error(path.At("granule"), std::to_string(in.granule()) + " is below 1");
    range.granule = 1;
  } else if (range.mode == ShapeMode::kPadded && range.granule != 1) {
    reader.findings().Error(path.At("granule"),
                            "dimension " + Quote(dim.name) + " is PADDED: a granule has no effect");
  }
  if (IsBatchDim(dim) && (range.mode != ShapeMode::kDynamic || range.granule != 1)) {
    reader.findings().Error(
        path, "batch dimension " + Quote(dim.name) + " is not DYNAMIC with granule 1");
  }
}

void ReadRange(Reader& reader, const Path& path, const pb::Range& in, Range& range,
               const Dim& dim) {
  NoteUnknown(reader, path, in);
  const Interval domain{dim.min, dim.max};
  const Interval ours{in.min(), in.max()};
  if (!(in.min() <= in.opt() && in.opt() <= in.max())) {
    reader.findings().Error(path, "min " + std::to_string(in.min()) + ", opt " +
                                      std::to_string(in.opt()) + " and max " +
                                      std::to_string(in.max()) + " of dimension " +
                                      Quote(dim.name) + " do not rise");
  } else if (!domain.Contains(ours)) {
    reader.findings().Error(path.At(in.min() < dim.min ? "min" : "max"),
                            "[" + std::to_string(in.min()) + ", " + std::to_string(in.max()) +
                                "] of dimension " + Quote(dim.name) + " leaves its domain [" +
                                std::to_string(dim.min) + ", " + std::to_string(dim.max) + "]");
  } else {
    range.min = in.min();
    range.opt = in.opt();
    range.max = in.max();
  }
  CheckShapeMode(reader, path, dim, in, range);
}

std::vector<Range> ReadEnvelope(Reader& reader, const Path& path, const pb::Variant& in) {
  std::vector<Range> envelope;
  for (const Dim& dim : reader.body().dims) envelope.push_back(DefaultRange(dim));
  std::vector<char> given(envelope.size(), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.envelope_size()); ++i) {
    const pb::Range& range = in.envelope(static_cast<int>(i));
    const Path at = path.At("envelope", i);
    const std::optional<Index> dim =
        reader.Find(at.At("dim"), reader.dims, "dimension", range.dim());
    if (!dim) continue;
    if (given[*dim]++ != 0) {
      reader.findings().Error(at.At("dim"), "dimension " + Quote(range.dim()) + " is given twice");
      given[*dim] = 1;
    }
    ReadRange(reader, at, range, envelope[*dim], reader.body().dims[*dim]);
  }
  return envelope;
}

std::vector<Constraint> ReadConstraints(Reader& reader, const Path& path, const pb::Variant& in) {
  std::vector<Constraint> constraints;
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.constraints_size()); ++i) {
    const pb::Constraint& from = in.constraints(static_cast<int>(i));
    const Path at = path.At("constraints", i);
    NoteUnknown(reader, at, from);
    Constraint constraint{reader.AnyValue(at.At("expr"), from.expr()), from.min(), from.max(),
                          from.multiple_of() == 0 ? 1 : from.multiple_of()};
    if (from.min() > from.max()) {
      reader.findings().Error(
          at, "min " + std::to_string(from.min()) + " is above max " + std::to_string(from.max()));
    }
    if (constraint.multiple_of < 1) {
      reader.findings().Error(at.At("multiple_of"),
                              std::to_string(from.multiple_of()) + " is below 1");
      constraint.multiple_of = 1;
    }
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

Placement ReadPlacement(Reader& reader, const Path& path, const pb::Placement& in) {
  NoteUnknown(reader, path, in);
  Placement placement;
  placement.mode = static_cast<PlacementMode>(reader.Enum(
      path.At("mode"), in.mode(), pb::Placement::Mode_MAX, static_cast<int>(PlacementMode::kAny)));
  placement.cores = ReadCores(reader, path, in.cores());
  if (placement.mode != PlacementMode::kAny && placement.cores.empty()) {
    reader.findings().Error(path.At("cores"), "a placement that is not ANY names no core");
  }
  return placement;
}

void CheckNumerics(Reader& reader, const Path& path, const pb::Numerics& in) {
  NoteUnknown(reader, path, in);
  reader.Enum(path.At("compute"), in.compute(), pb::DType_MAX, pb::F32);
  reader.Enum(path.At("accumulation"), in.accumulation(), pb::DType_MAX, pb::F32);
  ReadAnnotations(reader, path, "notes", in.notes());
}

template <typename Extents>
void CheckExtents(Reader& reader, const Path& path, std::string_view field,
                  const Extents& extents) {
  constexpr int kMaxExtents = 3;
  if (extents.size() > kMaxExtents) {
    reader.findings().Error(path.At(field), std::to_string(extents.size()) +
                                                " extents; a launch has at most " +
                                                std::to_string(kMaxExtents));
  }
  for (int i = 0; i < std::min<int>(extents.size(), kMaxExtents); ++i) {
    const Path at = path.At(field, static_cast<std::size_t>(i));
    if constexpr (std::is_same_v<Extents, RepeatedPtrField<std::string>>) {
      reader.Size(at, extents.Get(i));
    } else if (extents.Get(i) < 1) {
      reader.findings().Error(at, "an extent of " + std::to_string(extents.Get(i)) + " is below 1");
    }
  }
}

void ReadKernel(Reader& reader, const Path& path, const pb::Kernel& in, Group& group) {
  NoteUnknown(reader, path, in);
  group.kernel_key = reader.OptionalName(path.At("key"), in.key());
  group.workspace_bytes = reader.SizeOr(path.At("workspace_bytes"), in.workspace_bytes(), 0);
  reader.DigestBytes(path.At("blob_digest"), in.blob_digest());
  const Path launch = path.At("launch");
  NoteUnknown(reader, launch, in.launch());
  CheckExtents(reader, launch, "grid", in.launch().grid());
  CheckExtents(reader, launch, "block", in.launch().block());
  CheckExtents(reader, launch, "cluster", in.launch().cluster());
  reader.NonNegative(launch.At("shared_memory_bytes"), in.launch().shared_memory_bytes());
}

void ReadProfile(Reader& reader, const Path& path, const pb::Profile& in, Group& group) {
  NoteUnknown(reader, path, in);
  if (!in.cost_ns().empty()) {
    group.cost_ns = reader.Size(path.At("cost_ns"), in.cost_ns(), Interval{0, kMaxNanoseconds});
    if (in.points_size() > 0) {
      reader.findings().Error(path, "a profile has points or a cost, not both");
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.points_size()); ++i) {
    const pb::Profile::Point& from = in.points(static_cast<int>(i));
    const Path at = path.At("points", i);
    if (!reader.TakeDimCells(at, reader.body().dims.size())) return;
    NoteUnknown(reader, at, from);
    ProfilePoint point;
    point.dims = ReadDimValues(reader, at, from.dims());
    point.p50_ns = reader.Nanoseconds(at.At("p50_ns"), from.p50_ns());
    point.p90_ns = reader.Nanoseconds(at.At("p90_ns"), from.p90_ns());
    point.dram_bytes = reader.NonNegative(at.At("dram_bytes"), from.dram_bytes());
    point.sram_peak_bytes = reader.NonNegative(at.At("sram_peak_bytes"), from.sram_peak_bytes());
    reader.Text(at.At("source"), from.source());
    if (point.p90_ns != 0 && point.p90_ns < point.p50_ns) {
      reader.findings().Error(at.At("p90_ns"), "p90 of " + std::to_string(point.p90_ns) +
                                                   " ns is below the p50 of " +
                                                   std::to_string(point.p50_ns) + " ns");
    }
    group.profile.push_back(std::move(point));
  }
}

std::vector<Index> ReadOps(Reader& reader, const Path& path, std::string_view field,
                           const RepeatedPtrField<std::string>& names, const Names& operators) {
  std::vector<Index> ops;
  ops.reserve(static_cast<std::size_t>(names.size()));
  for (const std::string& name : names) {
    const Path at = path.At(field, ops.size());
    const std::optional<Index> op = reader.Find(at, operators, "operator", name);
    // Kept as a gap, so that findings about later ones have the right index.
    ops.push_back(op.value_or(kUnresolved));
  }
  return ops;
}

void ReadElided(Reader& reader, const Path& path, const pb::Variant& in, const Names& operators,
                Variant& out) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.elided_size()); ++i) {
    const pb::Elided& elided = in.elided(static_cast<int>(i));
    const Path at = path.At("elided", i);
    NoteUnknown(reader, at, elided);
    const std::optional<Index> op = reader.Find(at.At("op"), operators, "operator", elided.op());
    if (elided.reason().empty()) {
      reader.findings().Error(at.At("reason"),
                              "operator " + Quote(elided.op()) + " is elided without a reason");
    }
    if (op) out.elided.push_back({*op, reader.Text(at.At("reason"), elided.reason())});
  }
}

Schedule ReadSchedule(Reader& reader, const Path& path, const pb::Schedule& in,
                      const Names& groups) {
  NoteUnknown(reader, path, in);
  Schedule out;
  const auto find = [&](const Path& at, const std::string& name) {
    return reader.Find(at, groups, "group", name).value_or(kUnresolved);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.cores_size()); ++i) {
    const pb::Schedule::Core& core = in.cores(static_cast<int>(i));
    const Path at = path.At("cores", i);
    NoteUnknown(reader, at, core);
    CoreOrder& order = out.cores.emplace_back();
    order.core = ReadCore(reader, at.At("core"), core.core());
    for (const std::string& group : core.groups()) {
      order.groups.push_back(find(at.At("groups", order.groups.size()), group));
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.waits_size()); ++i) {
    const pb::Schedule::Wait& wait = in.waits(static_cast<int>(i));
    const Path at = path.At("waits", i);
    NoteUnknown(reader, at, wait);
    out.waits.push_back({find(at.At("group"), wait.group()), find(at.At("after"), wait.after())});
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> ReadDimValues(Reader& reader, const Path& path,
                                        const RepeatedPtrField<pb::DimValue>& values) {
  const Body& body = reader.body();
  std::vector<std::int64_t> out;
  for (const Dim& dim : body.dims) out.push_back(dim.min);
  std::vector<char> given(out.size(), 0);
  for (int i = 0; i < values.size(); ++i) {
    const pb::DimValue& value = values.Get(i);
    const Path at = path.At("dims", static_cast<std::size_t>(i));
    NoteUnknown(reader, at, value);
    const std::optional<Index> dim =
        reader.Find(at.At("dim"), reader.dims, "dimension", value.dim());
    if (!dim) continue;
    if (given[*dim] != 0) {
      reader.findings().Error(at.At("dim"), "dimension " + Quote(value.dim()) + " is given twice");
    }
    given[*dim] = 1;
    if (!reader.domains()[*dim].Contains(value.value())) {
      reader.findings().Error(at.At("value"), std::to_string(value.value()) +
                                                  " leaves the domain [" +
                                                  std::to_string(body.dims[*dim].min) + ", " +
                                                  std::to_string(body.dims[*dim].max) +
                                                  "] of dimension " + Quote(value.dim()));
      continue;
    }
    out[*dim] = value.value();
  }
  return out;
}

CoreRef ReadCore(Reader& reader, const Path& path, const pb::CoreRef& in) {
  NoteUnknown(reader, path, in);
  CoreRef ref;
  if (in.has_device()) ref.device = in.device();
  if (in.has_index()) ref.index = in.index();
  ref.core_class = reader.OptionalName(path.At("class"), in.class_());
  return ref;
}

std::vector<CoreRef> ReadCores(Reader& reader, const Path& path,
                               const RepeatedPtrField<pb::CoreRef>& cores) {
  std::vector<CoreRef> out;
  for (int i = 0; i < cores.size(); ++i) {
    out.push_back(ReadCore(reader, path.At("cores", static_cast<std::size_t>(i)), cores.Get(i)));
  }
  return out;
}

std::vector<Annotation> ReadAnnotations(Reader& reader, const Path& path, std::string_view field,
                                        const RepeatedPtrField<pb::Annotation>& annotations) {
  std::vector<Annotation> out;
  out.reserve(static_cast<std::size_t>(annotations.size()));
  for (int i = 0; i < annotations.size(); ++i) {
    const Path at = path.At(field, static_cast<std::size_t>(i));
    NoteUnknown(reader, at, annotations.Get(i));
    out.push_back({reader.Name(at.At("key"), annotations.Get(i).key()),
                   reader.Text(at.At("value"), annotations.Get(i).value())});
  }
  return out;
}

Variant ReadVariant(Reader& reader, const Path& path, const pb::Variant& in) {
  NoteUnknown(reader, path, in);
  Variant out;
  out.name = reader.Name(path.At("name"), in.name());
  out.envelope = ReadEnvelope(reader, path, in);
  out.constraints = ReadConstraints(reader, path, in);
  return out;
}

Group ReadGroup(Reader& reader, const Path& path, const pb::FusionGroup& in,
                const Names& operators) {
  NoteUnknown(reader, path, in);
  Group group;
  group.name = reader.Name(path.At("name"), in.name());
  reader.OptionalName(path.At("kind"), in.kind());
  group.ops = ReadOps(reader, path, "ops", in.ops(), operators);
  group.recomputed = ReadOps(reader, path, "recomputed", in.recomputed(), operators);
  if (in.ops_size() == 0) {
    reader.findings().Error(path.At("ops"), "group " + Quote(group.name) + " has no operators");
  }
  NoteUnknown(reader, path.At("tiling"), in.tiling());
  group.tiling = {reader.NonNegative(path.At("tiling.m"), in.tiling().m()),
                  reader.NonNegative(path.At("tiling.n"), in.tiling().n()),
                  reader.NonNegative(path.At("tiling.k"), in.tiling().k())};
  group.shards = reader.SizeOr(path.At("shards"), in.shards(), 1, Interval{1, kMaxShards});
  ReadKernel(reader, path.At("kernel"), in.kernel(), group);
  group.placement = ReadPlacement(reader, path.At("placement"), in.placement());
  if (in.has_work()) {
    const Path work = path.At("work");
    NoteUnknown(reader, work, in.work());
    group.work = GroupWork{reader.SizeOr(work.At("flops"), in.work().flops(), 0),
                           reader.SizeOr(work.At("read_bytes"), in.work().read_bytes(), 0),
                           reader.SizeOr(work.At("write_bytes"), in.work().write_bytes(), 0),
                           reader.SizeOr(work.At("scratch_bytes"), in.work().scratch_bytes(), 0)};
  }
  ReadProfile(reader, path.At("profile"), in.profile(), group);
  CheckNumerics(reader, path.At("numerics"), in.numerics());
  group.annotations = ReadAnnotations(reader, path, "annotations", in.annotations());
  return group;
}

void ReadVariantLinks(Reader& reader, const Path& path, const pb::Variant& in,
                      const Names& operators, const Names& groups, Variant& out) {
  ReadElided(reader, path, in, operators, out);
  ReadMemory(reader, path, in, out);
  out.schedule = ReadSchedule(reader, path.At("schedule"), in.schedule(), groups);
  CheckNumerics(reader, path.At("numerics"), in.numerics());
  ReadAnnotations(reader, path, "annotations", in.annotations());
}

}  // namespace leeway::plan
