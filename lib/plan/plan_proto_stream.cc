// Reads a plan piece by piece: one tensor, operator or group is a message at a time. What a message
// lists besides is read as a message without those, its rest.

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "plan/encoder.h"
#include "plan/plan_proto.h"
#include "plan/plan_proto_graph.h"
#include "plan/plan_proto_mapping.h"
#include "plan/plan_proto_unknown.h"
#include "plan/wire.h"

namespace leeway::plan {
namespace {

constexpr int kName = pb::Entry::kNameFieldNumber;
static_assert(kName == pb::Tensor::kNameFieldNumber && kName == pb::Operator::kNameFieldNumber &&
              kName == pb::FusionGroup::kNameFieldNumber && kName == pb::Variant::kNameFieldNumber);

Status Malformed() { return base::DataLoss("truncated or no protobuf message"); }

// Returns where a message that parsed has its name.
std::string_view NameIn(std::string_view message, std::string_view name) {
  // Nearly always it is the first field, and short.
  const std::string_view first = message.substr(std::min<std::size_t>(2, message.size()));
  if (name.size() < 0x80 && first.substr(0, name.size()) == name)
    return first.substr(0, name.size());
  return FindDelimited(message, kName).value_or(std::string_view());
}

// Reports a message, or a field of one, that would be parsed at once and is too large.
bool CheckSize(Reader& reader, const Path& path, std::size_t bytes) {
  if (bytes <= kMaxMessageBytes) return true;
  reader.findings().Error(path, std::to_string(bytes) + " bytes exceed " +
                                    std::to_string(kMaxMessageBytes) + " of one message");
  return false;
}

// A message without the elements of two neighbouring fields, whose encodings lie between those of
// its other fields.
template <typename Message>
struct Rest {
  Message message;
  // What is before and after the elements in the encoding.
  std::string head, tail;
};

template <typename Message>
void EncodeRest(std::size_t head_size, Rest<Message>& rest) {
  rest.head = rest.message.SerializeAsString();
  rest.tail = rest.head.substr(head_size);
  rest.head.resize(head_size);
}

// Reads the rest of the message at `path` and counts the elements of `first` and the field after.
// All fields before `first` must be delimited ones.
template <typename Message>
Status ReadRest(Reader& reader, const Path& path, std::string_view bytes, std::uint32_t first,
                Rest<Message>& rest, std::span<std::size_t> counts) {
  std::string head, tail;
  std::size_t others = 0;
  WireReader fields(bytes);
  for (WireField field; fields.Next(field);) {
    if (field.delimited && field.number - first < counts.size()) {
      ++counts[field.number - first];
      continue;
    }
    ++others;
    if (!CheckSize(reader, path, field.whole.size())) continue;
    if (others > kMaxListed) continue;
    (field.delimited && field.number < first ? head : tail) += field.whole;
  }
  reader.CheckCount(path, others, kMaxListed);
  if (!fields.ok() || !rest.message.ParseFromString(head)) return Malformed();
  const std::size_t head_size = rest.message.ByteSizeLong();
  if (!rest.message.MergeFromString(tail)) return Malformed();
  EncodeRest(head_size, rest);
  return Status();
}

class PlanStream {
 public:
  explicit PlanStream(Reader& reader)
      : reader_(reader), encoder_(reader.body().serialized, [&reader](std::string_view text) {
          return reader.Canonical(text);
        }) {}

  Status Read(std::string_view bytes);

 private:
  // Something that was read and names what was not declared yet.
  struct Later {
    std::size_t index;
    std::string_view bytes;
  };

  // Reports elements of a message of so many bytes that are too many to be read, and returns
  // whether they are not.
  bool CheckElements(const Path& path, std::string_view bytes, std::size_t count);
  // Calls visit(index, bytes) for each element of field `number`.
  template <typename Visit>
  Status ForEach(std::string_view bytes, std::uint32_t number, Visit visit);
  // Parses an element into a message that is used again for the next. One that is too large is
  // reported, and empty.
  template <typename Message>
  Status Parse(const Path& path, std::string_view bytes, Message& message);
  template <typename Message>
  void Encode(std::uint32_t number, const Message& message, const ExprFields& exprs);
  Encoder::Texts Texts() {
    return reader_.TakeMixed() ? Encoder::Texts::kMixed : Encoder::Texts::kCanonical;
  }

  Status ReadTensors(const Path& plan, std::string_view bytes, std::size_t count);
  Status ReadEntries(const Path& plan, std::string_view bytes, std::size_t count);
  Status ReadEntry(const Path& path, std::string_view bytes, Entry& out);
  Status ReadOperators(const Path& path, std::string_view bytes, std::size_t count, Entry& out,
                       Names& operators);
  Status ReadVariants(const Path& path, std::string_view bytes, std::size_t count,
                      const Names& operators, Entry& out);
  Status ReadGroups(const Path& path, std::string_view bytes, std::size_t count,
                    const Names& operators, Variant& out, Names& groups);
  Status ReadOneVariant(const Path& path, std::string_view bytes, const Names& operators,
                        Variant& out);

  Reader& reader_;
  Encoder encoder_;
  pb::Tensor tensor_;
  pb::Operator operator_;
  pb::FusionGroup group_;
  std::string encoded_;
};

bool PlanStream::CheckElements(const Path& path, std::string_view bytes, std::size_t count) {
  // Memory is taken for all of them at once. Each has a name: with its tags and lengths, 5 bytes.
  constexpr std::size_t kFew = 4096, kLeastBytes = 5;
  if (count > kFew && count > bytes.size() / kLeastBytes) {
    reader_.findings().Error(path, std::to_string(count) + " elements in " +
                                       std::to_string(bytes.size()) +
                                       " bytes: they cannot all have names");
    return false;
  }
  return reader_.CheckCount(path, count, kMaxListed);
}

template <typename Visit>
Status PlanStream::ForEach(std::string_view bytes, std::uint32_t number, Visit visit) {
  std::size_t index = 0;
  WireReader fields(bytes);
  for (WireField field; fields.Next(field);) {
    if (field.delimited && field.number == number) {
      LEEWAY_RETURN_IF_ERROR(visit(index++, field.value));
    }
  }
  return Status();
}

template <typename Message>
Status PlanStream::Parse(const Path& path, std::string_view bytes, Message& message) {
  // A message that is used again keeps the memory of the largest it was.
  constexpr int kLarge = 1 << 16;
  if (message.GetCachedSize() > kLarge) message = Message();
  if (!CheckSize(reader_, path, bytes.size())) bytes = {};
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ? Status()
                                                                              : Malformed();
}

template <typename Message>
void PlanStream::Encode(std::uint32_t number, const Message& message, const ExprFields& exprs) {
  message.SerializeToString(&encoded_);
  encoder_.AppendMessage(number, encoded_, exprs, Texts());
}

Status PlanStream::ReadTensors(const Path& plan, std::string_view bytes, std::size_t count) {
  std::vector<Tensor>& tensors = reader_.body().tensors;
  if (!CheckElements(plan.At("tensors"), bytes, count)) return Status();
  tensors.reserve(count);
  reader_.tensors.Reserve(count);
  std::vector<Later> later;
  LEEWAY_RETURN_IF_ERROR(ForEach(
      bytes, pb::Plan::kTensorsFieldNumber, [&](std::size_t i, std::string_view element) -> Status {
        const Path path = plan.At("tensors", i);
        LEEWAY_RETURN_IF_ERROR(Parse(path, element, tensor_));
        tensors.push_back(ReadTensor(reader_, path, tensor_));
        reader_.Declare(path, reader_.tensors, "tensor", NameIn(element, tensor_.name()), i);
        if (tensor_.has_alias_of() || tensor_.has_quant()) later.push_back({i, element});
        Encode(pb::Plan::kTensorsFieldNumber, tensor_, kTensorExprs);
        return Status();
      }));
  for (const auto& [index, element] : later) {
    LEEWAY_RETURN_IF_ERROR(Parse(plan.At("tensors", index), element, tensor_));
    ReadTensorLinks(reader_, plan.At("tensors", index), tensor_, tensors[index]);
  }
  return Status();
}

Status PlanStream::ReadEntries(const Path& plan, std::string_view bytes, std::size_t count) {
  std::vector<Entry>& entries = reader_.body().entries;
  const Path field = plan.At("entries");
  if (count == 0) reader_.findings().Error(field, "a plan has at least one entry");
  if (!CheckElements(field, bytes, count)) return Status();
  entries.resize(count);
  // Names first: a CALL may name an entry further down.
  LEEWAY_RETURN_IF_ERROR(
      ForEach(bytes, pb::Plan::kEntriesFieldNumber, [&](std::size_t i, std::string_view element) {
        const Path path = plan.At("entries", i);
        const std::string_view name = FindDelimited(element, kName).value_or("");
        entries[i].name = reader_.Name(path.At("name"), std::string(name));
        reader_.Declare(path, reader_.entries, "entry", name, i);
        return Status();
      }));
  return ForEach(bytes, pb::Plan::kEntriesFieldNumber,
                 [&](std::size_t i, std::string_view element) {
                   return ReadEntry(plan.At("entries", i), element, entries[i]);
                 });
}

Status PlanStream::ReadEntry(const Path& path, std::string_view bytes, Entry& out) {
  constexpr std::uint32_t kOperators = pb::Entry::kOperatorsFieldNumber;
  static_assert(kOperators + 1 == pb::Entry::kVariantsFieldNumber);
  static_assert(kOperators == kName + 1);
  Rest<pb::Entry> rest;
  std::array<std::size_t, 2> counts{};
  LEEWAY_RETURN_IF_ERROR(ReadRest(reader_, path, bytes, kOperators, rest, counts));
  NoteUnknown(reader_, path, rest.message);
  out.internal = rest.message.internal();
  encoder_.Open(pb::Plan::kEntriesFieldNumber, bytes.size());
  encoder_.AppendBoth(rest.head, rest.head);
  Names operators;
  LEEWAY_RETURN_IF_ERROR(ReadOperators(path, bytes, counts[0], out, operators));
  LEEWAY_RETURN_IF_ERROR(ReadVariants(path, bytes, counts[1], operators, out));
  ReadAnnotations(reader_, path, "annotations", rest.message.annotations());
  encoder_.AppendBoth(rest.tail, rest.tail);
  encoder_.Close();
  return Status();
}

Status PlanStream::ReadOperators(const Path& path, std::string_view bytes, std::size_t count,
                                 Entry& out, Names& operators) {
  if (!CheckElements(path.At("operators"), bytes, count)) return Status();
  out.operators.reserve(count);
  operators.Reserve(count);
  std::vector<Later> later;
  LEEWAY_RETURN_IF_ERROR(
      ForEach(bytes, pb::Entry::kOperatorsFieldNumber,
              [&](std::size_t i, std::string_view element) -> Status {
                const Path at = path.At("operators", i);
                LEEWAY_RETURN_IF_ERROR(Parse(at, element, operator_));
                out.operators.push_back(ReadOperator(reader_, at, operator_));
                reader_.Declare(at, operators, "operator", NameIn(element, operator_.name()), i);
                if (operator_.after_size() > 0) later.push_back({i, element});
                Encode(pb::Entry::kOperatorsFieldNumber, operator_, kOperatorExprs);
                return Status();
              }));
  for (const auto& [index, element] : later) {
    const Path at = path.At("operators", index);
    std::size_t j = 0;
    WireReader fields(element);
    for (WireField field; fields.Next(field);) {
      if (!field.delimited || field.number != pb::Operator::kAfterFieldNumber) continue;
      const std::optional<Index> op =
          reader_.Find(at.At("after", j++), operators, "operator", field.value);
      if (op) out.operators[index].predecessors.push_back(*op);
    }
  }
  return Status();
}

Status PlanStream::ReadVariants(const Path& path, std::string_view bytes, std::size_t count,
                                const Names& operators, Entry& out) {
  if (!reader_.CheckCount(path.At("variants"), count, kMaxVariants)) return Status();
  Names variants;
  out.variants.resize(count);
  return ForEach(bytes, pb::Entry::kVariantsFieldNumber,
                 [&](std::size_t i, std::string_view element) -> Status {
                   const Path at = path.At("variants", i);
                   if (!reader_.TakeDimCells(at, reader_.body().dims.size())) return Status();
                   LEEWAY_RETURN_IF_ERROR(ReadOneVariant(at, element, operators, out.variants[i]));
                   reader_.Declare(at, variants, "variant", NameIn(element, out.variants[i].name),
                                   i);
                   return Status();
                 });
}

Status PlanStream::ReadGroups(const Path& path, std::string_view bytes, std::size_t count,
                              const Names& operators, Variant& out, Names& groups) {
  if (!CheckElements(path.At("fusion_groups"), bytes, count)) return Status();
  out.groups.reserve(count);
  groups.Reserve(count);
  constexpr std::uint32_t kGroups = pb::Variant::kFusionGroupsFieldNumber;
  return ForEach(bytes, kGroups, [&](std::size_t i, std::string_view element) -> Status {
    const Path at = path.At("fusion_groups", i);
    LEEWAY_RETURN_IF_ERROR(Parse(at, element, group_));
    out.groups.push_back(ReadGroup(reader_, at, group_, operators));
    out.groups.back().listed = static_cast<Index>(i);
    reader_.Declare(at, groups, "group", NameIn(element, group_.name()), i);
    Encode(kGroups, group_, kGroupExprs);
    return Status();
  });
}

Status PlanStream::ReadOneVariant(const Path& path, std::string_view bytes, const Names& operators,
                                  Variant& out) {
  constexpr std::uint32_t kGroups = pb::Variant::kFusionGroupsFieldNumber;
  static_assert(kGroups + 1 == pb::Variant::kElidedFieldNumber);
  Rest<pb::Variant> rest;
  std::array<std::size_t, 1> counts{};
  LEEWAY_RETURN_IF_ERROR(ReadRest(reader_, path, bytes, kGroups, rest, counts));
  out = ReadVariant(reader_, path, rest.message);
  encoder_.Open(pb::Entry::kVariantsFieldNumber, bytes.size());
  encoder_.Append(rest.head, kVariantExprs, Texts());
  Names groups;
  LEEWAY_RETURN_IF_ERROR(ReadGroups(path, bytes, counts[0], operators, out, groups));
  ReadVariantLinks(reader_, path, rest.message, operators, groups, out);
  encoder_.Append(rest.tail, kVariantExprs, Texts());
  encoder_.Close();
  return Status();
}

Status PlanStream::Read(std::string_view bytes) {
  constexpr std::uint32_t kTensors = pb::Plan::kTensorsFieldNumber;
  static_assert(kTensors + 1 == pb::Plan::kEntriesFieldNumber);
  const Path plan("");
  Rest<pb::Plan> rest;
  std::array<std::size_t, 2> counts{};
  LEEWAY_RETURN_IF_ERROR(ReadRest(reader_, plan, bytes, kTensors, rest, counts));
  const pb::Header& header = rest.message.header();
  if (header.min_reader_version() > kSchemaVersion) {
    return base::FailedPrecondition(
        "header.min_reader_version: the plan needs a reader of schema version " +
        std::to_string(header.min_reader_version()) + "; this one reads up to " +
        std::to_string(kSchemaVersion));
  }
  NoteUnknown(reader_, plan, rest.message);
  ReadHeader(reader_, plan.At("header"), header);
  ReadDims(reader_, plan, rest.message);
  ReadShapeProfile(reader_, plan.At("shape_profile"), rest.message.shape_profile());
  Rest<pb::Plan> canonical{rest.message, "", ""};
  if (rest.message.has_header()) {
    canonical.message.mutable_header()->clear_created_unix_ns();
    canonical.message.mutable_header()->clear_parent();
  }
  const std::size_t dropped = rest.message.ByteSizeLong() - canonical.message.ByteSizeLong();
  EncodeRest(rest.head.size() - dropped, canonical);
  reader_.body().serialized.reserve(bytes.size());
  encoder_.AppendBoth(rest.head, canonical.head);
  LEEWAY_RETURN_IF_ERROR(ReadTensors(plan, bytes, counts[0]));
  LEEWAY_RETURN_IF_ERROR(ReadEntries(plan, bytes, counts[1]));
  CheckProducers(reader_, plan, rest.message);
  ReadAnnotations(reader_, plan, "annotations", rest.message.annotations());
  reader_.unknown().Report(reader_.findings());
  encoder_.AppendBoth(rest.tail, canonical.tail);
  reader_.body().digest = encoder_.Finish();
  reader_.body().digest_hex = reader_.body().digest.ToHex();
  return Status();
}

}  // namespace

Status ReadPlan(std::string_view bytes, std::string_view name, Reader& reader) {
  const std::string at = std::string(name) + ": ";
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return base::ResourceExhausted(at + std::to_string(bytes.size()) + " bytes exceed 2 GiB");
  }
  const Status status = PlanStream(reader).Read(bytes);
  if (status.code() == StatusCode::kDataLoss) {
    return base::DataLoss(at + "not a leeway.plan.v1.Plan: " + std::to_string(bytes.size()) +
                          " bytes are truncated or no protobuf message");
  }
  if (!status.ok()) return Status(status.code(), at + std::string(status.message()));
  return Status();
}

}  // namespace leeway::plan
