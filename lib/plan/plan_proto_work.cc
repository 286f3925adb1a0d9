#include "plan/plan_proto_work.h"

#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "plan/plan_proto_unknown.h"

namespace leeway::plan {
namespace {

Conv ReadConv(Reader& reader, const Path& path, const pb::Conv& in) {
  Conv conv;
  conv.n = reader.Size(path.At("n"), in.n());
  conv.h = reader.Size(path.At("h"), in.h());
  conv.w = reader.Size(path.At("w"), in.w());
  conv.c = reader.Size(path.At("c"), in.c());
  conv.filters = reader.Size(path.At("filters"), in.filters());
  constexpr Interval kKernel{1, 1 << 20};
  conv.kernel_h = reader.Size(path.At("kernel_h"), in.kernel_h(), kKernel);
  conv.kernel_w = reader.Size(path.At("kernel_w"), in.kernel_w(), kKernel);
  constexpr std::uint32_t kMaxStep = 1u << 20;
  const std::pair<const char*, std::uint32_t> steps[] = {
      {"stride_h", in.stride_h()},     {"stride_w", in.stride_w()},
      {"dilation_h", in.dilation_h()}, {"dilation_w", in.dilation_w()},
      {"pad_top", in.pad_top()},       {"pad_left", in.pad_left()},
      {"pad_bottom", in.pad_bottom()}, {"pad_right", in.pad_right()},
      {"groups", in.groups()}};
  for (const auto& [field, step] : steps) {
    if (step <= kMaxStep) continue;
    reader.findings().Error(path.At(field),
                            std::to_string(step) + " exceeds " + std::to_string(kMaxStep));
    return conv;
  }
  const auto or_one = [](std::uint32_t value) { return value == 0 ? 1 : value; };
  conv.stride_h = or_one(in.stride_h());
  conv.stride_w = or_one(in.stride_w());
  conv.dilation_h = or_one(in.dilation_h());
  conv.dilation_w = or_one(in.dilation_w());
  conv.pad_top = in.pad_top();
  conv.pad_left = in.pad_left();
  conv.pad_bottom = in.pad_bottom();
  conv.pad_right = in.pad_right();
  conv.groups = or_one(in.groups());
  return conv;
}

Gemm ReadGemm(Reader& reader, const Path& path, const pb::Gemm& in) {
  Gemm gemm;
  gemm.m = reader.Size(path.At("m"), in.m());
  gemm.n = reader.Size(path.At("n"), in.n());
  gemm.k = reader.Size(path.At("k"), in.k());
  gemm.count = reader.SizeOr(path.At("count"), in.count(), 1);
  const double density = reader.Amount(path.At("density"), in.density());
  if (density > 1) {
    reader.findings().Error(path.At("density"),
                            "density " + std::to_string(density) + " is above 1");
  }
  gemm.density = density == 0 ? 1 : density;
  return gemm;
}

// Replicas are in one group each; in a PERMUTE each is at most once a source and once a target.
void CheckReplicaGroups(Reader& reader, const Path& path, const pb::Collective& in,
                        const Expr& participants) {
  const bool permute = in.kind() == pb::Collective::PERMUTE;
  absl::flat_hash_set<std::uint64_t> seen;
  for (int i = 0; i < in.groups_size(); ++i) {
    const pb::ReplicaGroup& group = in.groups(i);
    const Path at = path.At("groups", static_cast<std::size_t>(i));
    NoteUnknown(reader, at, group);
    if (permute && group.replicas_size() != 2) {
      reader.findings().Error(
          at, std::to_string(group.replicas_size()) + " replicas are no pair of source and target");
    } else if (!permute && participants.is_constant() &&
               group.replicas_size() != participants({})) {
      reader.findings().Error(at, std::to_string(group.replicas_size()) + " replicas are not the " +
                                      std::to_string(participants({})) + " participants");
    }
    for (int j = 0; j < group.replicas_size(); ++j) {
      const std::uint64_t role = permute && j == 1 ? std::uint64_t{1} << 32 : 0;
      if (seen.insert(role | group.replicas(j)).second) continue;
      reader.findings().Error(
          at.At("replicas", static_cast<std::size_t>(j)),
          "replica " + std::to_string(group.replicas(j)) + " is in a group already");
    }
  }
}

Collective ReadCollective(Reader& reader, const Path& path, const pb::Collective& in) {
  Collective out{reader.Enum(path.At("kind"), in.kind(), pb::Collective::Kind_MAX, 0),
                 reader.Size(path.At("bytes"), in.bytes()),
                 reader.Size(path.At("participants"), in.participants())};
  CheckReplicaGroups(reader, path, in, out.participants);
  return out;
}

SendReceive ReadSendReceive(Reader& reader, const Path& path, const pb::SendReceive& in,
                            bool send) {
  reader.OptionalName(path.At("peer"), in.peer());
  reader.OptionalName(path.At("channel"), in.channel());
  return {send, reader.Size(path.At("bytes"), in.bytes())};
}

// Of a oneof only what is set has any.
void NoteUnknownWork(Reader& reader, const Path& path, const pb::Work& in) {
  NoteUnknown(reader, path, in);
  NoteUnknown(reader, path.At("gemm"), in.gemm());
  NoteUnknown(reader, path.At("conv"), in.conv());
  NoteUnknown(reader, path.At("vector"), in.vector());
  NoteUnknown(reader, path.At("reduce"), in.reduce());
  NoteUnknown(reader, path.At("move"), in.move());
  NoteUnknown(reader, path.At("collective"), in.collective());
  NoteUnknown(reader, path.At("send"), in.send());
  NoteUnknown(reader, path.At("receive"), in.receive());
  NoteUnknown(reader, path.At("host"), in.host());
  NoteUnknown(reader, path.At("call"), in.call());
  NoteUnknown(reader, path.At("custom"), in.custom());
}

}  // namespace

Work ReadWork(Reader& r, const Path& operator_path, const pb::Work& in) {
  const Path path = operator_path.At("work");
  NoteUnknownWork(r, path, in);
  const auto size = [&](const char* field, const std::string& text) {
    return r.Size(path.At(field), text);
  };
  switch (in.work_case()) {
    case pb::Work::kGemm:
      return ReadGemm(r, path.At("gemm"), in.gemm());
    case pb::Work::kConv:
      return ReadConv(r, path.At("conv"), in.conv());
    case pb::Work::kVector:
      return Vector{size("vector.elements", in.vector().elements()),
                    r.Amount(path.At("vector.ops_per_element"), in.vector().ops_per_element())};
    case pb::Work::kReduce:
      return Reduce{size("reduce.elements", in.reduce().elements()),
                    size("reduce.outputs", in.reduce().outputs()),
                    r.Amount(path.At("reduce.ops_per_element"), in.reduce().ops_per_element())};
    case pb::Work::kMove: {
      Move move{size("move.bytes", in.move().bytes()), std::nullopt};
      if (const std::string& bytes = in.move().contiguous_bytes(); !bytes.empty()) {
        move.contiguous_bytes = size("move.contiguous_bytes", bytes);
      }
      return move;
    }
    case pb::Work::kCollective:
      return ReadCollective(r, path.At("collective"), in.collective());
    case pb::Work::kSend:
      return ReadSendReceive(r, path.At("send"), in.send(), true);
    case pb::Work::kReceive:
      return ReadSendReceive(r, path.At("receive"), in.receive(), false);
    case pb::Work::kHost:
      return Host{r.Nanoseconds(path.At("host.nanoseconds"), in.host().nanoseconds())};
    case pb::Work::kCall: {
      const std::optional<Index> entry =
          r.Find(path.At("call.entry"), r.entries, "entry", in.call().entry());
      return entry ? Work(Call{*entry, size("call.times", in.call().times())}) : Work();
    }
    case pb::Work::kCustom:
      return Custom{r.SizeOr(path.At("custom.flops"), in.custom().flops(), 0),
                    r.SizeOr(path.At("custom.bytes"), in.custom().bytes(), 0)};
    case pb::Work::WORK_NOT_SET:
      // It would pass for an operator that costs nothing.
      if (std::string_view rest = UnknownFieldsOf(in); !rest.empty()) {
        r.findings().Error(path, "a kind of work, field " + std::to_string(TakeField(rest)) +
                                     ", is unknown to this reader");
      }
      break;
  }
  return std::monostate();
}

}  // namespace leeway::plan
