#include "plan/plan_proto_outline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/digest.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "plan/outline_text.h"

namespace leeway::plan {
namespace {

using google::protobuf::RepeatedPtrField;
using google::protobuf::internal::WireFormatLite;
using Kind = PlanChangeKind;

// The fields of a serialized message by number, each with its tags.
std::map<int, std::string> FieldsOf(const std::string& bytes) {
  std::map<int, std::string> fields;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  for (int start = 0;; start = in.CurrentPosition()) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0 || !WireFormatLite::SkipField(&in, tag)) return fields;
    fields[WireFormatLite::GetTagFieldNumber(tag)] += bytes.substr(
        static_cast<std::size_t>(start), static_cast<std::size_t>(in.CurrentPosition() - start));
  }
}

std::string Shown(const std::string& bytes) {
  constexpr std::size_t kMaxShown = 32;
  if (bytes.size() <= kMaxShown) return "0x" + Hex(bytes);
  return std::to_string(bytes.size()) + " bytes of SHA-256 " + base::DigestOf(bytes).ToHex();
}

std::string List(const RepeatedPtrField<std::string>& names) {
  std::vector<std::string> atoms;
  for (const std::string& name : names) atoms.push_back(NameText(name));
  return Join(atoms);
}

template <typename Numbers>
std::string NumberList(const Numbers& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(std::to_string(number));
  return Join(texts);
}

Item ReadDimItem(pb::Dim& in, Index index) {
  Item item{in.name(), index, {}};
  FactWriter facts(item);
  facts.Add(Kind::kDim, "domain", "",
            "[" + std::to_string(in.min()) + ", " + std::to_string(in.max()) + "]");
  const auto bind = in.bind() == pb::Dim::BIND_UNSPECIFIED ? pb::Dim::SUBMIT : in.bind();
  facts.Add(Kind::kDim, "bind", "bind", pb::Dim::Bind_Name(bind));
  const auto rule =
      in.batch_rule() == pb::Dim::BATCH_RULE_UNSPECIFIED ? pb::Dim::MAX : in.batch_rule();
  facts.Add(Kind::kDim, "batch rule", "batch_rule", pb::Dim::BatchRule_Name(rule));
  if (in.has_produced_by()) {
    pb::ProducedBy& by = *in.mutable_produced_by();
    std::string value = NameText(by.operator_()) + " output " + std::to_string(by.output());
    by.clear_operator_();
    by.clear_output();
    facts.Add(Kind::kDim, "produced by", "produced_by", value + Leftover(by));
  }
  in.clear_name();
  in.clear_min();
  in.clear_max();
  in.clear_bind();
  in.clear_batch_rule();
  in.clear_produced_by();
  facts.Rest(in);
  return item;
}

std::string QuantText(pb::Quantization& in) {
  std::vector<std::string> scales;
  for (const double scale : in.scale()) scales.push_back(Shortest(scale));
  std::string text;
  AddPart(text, "scale", Join(scales));
  AddPart(text, "zero_point", NumberList(in.zero_point()));
  AddPart(text, "axis", std::to_string(in.axis()), "0");
  AddPart(text, "block", std::to_string(in.block()), "0");
  if (in.scale_dtype() != pb::DTYPE_UNSPECIFIED) {
    AddPart(text, "scale_dtype", pb::DType_Name(in.scale_dtype()), "F32");
  }
  in.clear_scale();
  in.clear_zero_point();
  in.clear_axis();
  in.clear_block();
  AddPart(text, "scale_tensor", in.scale_tensor());
  AddPart(text, "zero_point_tensor", in.zero_point_tensor());
  in.clear_scale_dtype();
  in.clear_scale_tensor();
  in.clear_zero_point_tensor();
  return text + Leftover(in);
}

void AddFormat(FactWriter& facts, pb::Tensor& in, Speller& spell) {
  if (in.has_quant()) {
    facts.Add(Kind::kTensor, "quant", "quant", QuantText(*in.mutable_quant()));
  }
  if (in.has_sparsity()) {
    pb::Sparsity& sparsity = *in.mutable_sparsity();
    std::string value = std::to_string(sparsity.n()) + ":" + std::to_string(sparsity.m());
    sparsity.clear_n();
    sparsity.clear_m();
    facts.Add(Kind::kTensor, "sparsity", "sparsity", value + Leftover(sparsity));
  }
  if (in.has_alias_of()) {
    pb::Alias& alias = *in.mutable_alias_of();
    std::string value = NameText(alias.tensor()) + " at " + spell(alias.offset_bytes(), "0");
    alias.clear_tensor();
    alias.clear_offset_bytes();
    facts.Add(Kind::kTensor, "alias of", "alias_of", value + Leftover(alias));
  }
  const auto space =
      in.memory_space() == pb::MEMORY_SPACE_UNSPECIFIED ? pb::DRAM : in.memory_space();
  facts.Add(Kind::kTensor, "memory space", "memory_space", pb::MemorySpace_Name(space));
  facts.Add(Kind::kTensor, "content digest", "content_digest", Hex(in.content_digest()));
  in.clear_quant();
  in.clear_sparsity();
  in.clear_alias_of();
  in.clear_memory_space();
  in.clear_content_digest();
}

Item ReadTensorItem(pb::Tensor& in, Index index, Speller& spell) {
  Item item{in.name(), index, {}};
  FactWriter facts(item);
  facts.Add(Kind::kTensor, "kind", "kind", pb::Tensor::Kind_Name(in.kind()));
  facts.Add(Kind::kTensor, "dtype", "dtype", pb::DType_Name(in.dtype()));
  std::vector<std::string> extents;
  for (const std::string& extent : in.shape()) extents.push_back(spell(extent));
  facts.Add(Kind::kTensor, "shape", "shape", "[" + Join(extents) + "]");
  AddFormat(facts, in, spell);
  facts.Annotations(*in.mutable_annotations(), "annotations");
  in.clear_name();
  in.clear_kind();
  in.clear_dtype();
  in.clear_shape();
  facts.Rest(in);
  return item;
}

// What an operator waits for beside the producers of its inputs: control edges, and the order of
// uses of a STATE tensor, which follows from the order in which the entry lists its operators.
std::string WaitsText(const Body& plan, const Entry& entry, const Operator& op) {
  const auto stored = [&](Index tensor) { return plan.tensors[tensor].alias_of.value_or(tensor); };
  std::vector<Index> inputs;
  for (const Index input : op.inputs) inputs.push_back(stored(input));
  std::sort(inputs.begin(), inputs.end());
  std::vector<std::string> waits;
  for (const Index before : op.predecessors) {
    const Operator& earlier = entry.operators[before];
    const bool produces =
        std::any_of(earlier.outputs.begin(), earlier.outputs.end(), [&](Index output) {
          const bool state = plan.tensors[stored(output)].kind == TensorKind::kState;
          return !state && std::binary_search(inputs.begin(), inputs.end(), stored(output));
        });
    if (!produces) waits.push_back(NameText(earlier.name));
  }
  std::sort(waits.begin(), waits.end());
  return Join(waits);
}

Item ReadOperatorItem(pb::Operator& in, Index index, std::string waits, Speller& spell) {
  Item item{in.name(), index, {}};
  FactWriter facts(item);
  facts.Add(Kind::kOperator, "kind", "kind", in.kind());
  facts.Add(Kind::kOperator, "inputs", "inputs", List(in.inputs()));
  facts.Add(Kind::kOperator, "outputs", "outputs", List(in.outputs()));
  facts.Add(Kind::kOperator, "after", "after", std::move(waits));
  facts.Add(Kind::kOperator, "side effects", "side_effects", in.side_effects() ? "true" : "");
  if (in.has_work()) {
    facts.Add(Kind::kOperator, "work", "work", WorkText(*in.mutable_work(), spell));
  }
  facts.Annotations(*in.mutable_annotations(), "annotations");
  in.clear_name();
  in.clear_kind();
  in.clear_inputs();
  in.clear_outputs();
  in.clear_after();
  in.clear_side_effects();
  in.clear_work();
  facts.Rest(in);
  return item;
}

EntryItem ReadEntryItem(pb::Entry& in, Index index, Speller& spell) {
  const Entry& entry = spell.plan().entries[index];
  EntryItem item;
  item.name = in.name();
  item.index = index;
  absl::flat_hash_map<std::string, const Operator*> operators;
  operators.reserve(entry.operators.size());
  for (const Operator& op : entry.operators) operators[op.name] = &op;
  item.operators.reserve(entry.operators.size());
  for (pb::Operator& op : *in.mutable_operators()) {
    std::string waits = WaitsText(spell.plan(), entry, *operators.at(op.name()));
    const auto at = static_cast<Index>(item.operators.size());
    item.operators.push_back(ReadOperatorItem(op, at, std::move(waits), spell));
  }
  for (pb::Variant& variant : *in.mutable_variants()) {
    const auto at = static_cast<Index>(item.variants.size());
    item.variants.push_back(ReadVariantItem(variant, index, at, spell));
  }
  FactWriter facts(item);
  facts.Add(Kind::kEntry, "internal", "internal", in.internal() ? "true" : "");
  facts.Annotations(*in.mutable_annotations(), "annotations");
  in.clear_name();
  in.clear_internal();
  in.clear_operators();
  in.clear_variants();
  facts.Rest(in);
  return item;
}

void AddHeader(FactWriter& facts, pb::Header& in) {
  facts.Add(Kind::kHeader, "model", "header.model", in.model());
  facts.Add(Kind::kHeader, "producer", "header.producer", in.producer());
  facts.Add(Kind::kHeader, "producer version", "header.producer_version", in.producer_version());
  facts.Add(Kind::kHeader, "target device", "header.target_device", Hex(in.target_device()));
  if (in.min_reader_version() != 0) {
    facts.Add(Kind::kHeader, "min reader version", "header.min_reader_version",
              std::to_string(in.min_reader_version()));
  }
  in.clear_model();
  in.clear_producer();
  in.clear_producer_version();
  in.clear_target_device();
  in.clear_min_reader_version();
  // Outside the digest, and no content.
  in.clear_created_unix_ns();
  in.clear_parent();
  facts.Add(Kind::kOther, "other fields of the header", "header", Leftover(in));
}

void AddShapeProfile(FactWriter& facts, const Body& plan, pb::ShapeProfile& in) {
  std::vector<std::string> points;
  for (pb::ShapeProfile::Point& point : *in.mutable_points()) {
    std::string text = DimValuesText(plan, point.dims()) + ": " + Shortest(point.weight());
    point.clear_dims();
    point.clear_weight();
    points.push_back(text + Leftover(point));
  }
  std::sort(points.begin(), points.end());
  if (!points.empty()) {
    facts.Add(Kind::kShapeProfile, "shape profile", "shape_profile",
              std::to_string(points.size()) + (points.size() == 1 ? " point (" : " points (") +
                  Join(points, "; ") + ")");
  }
  facts.Add(Kind::kShapeProfile, "source of the shape profile", "shape_profile.source",
            in.source());
  in.clear_points();
  in.clear_source();
  facts.Add(Kind::kOther, "other fields of the shape profile", "shape_profile", Leftover(in));
}

void AddPlanFacts(Facts& out, const Body& plan, pb::Plan& in) {
  FactWriter facts(out);
  AddHeader(facts, *in.mutable_header());
  AddShapeProfile(facts, plan, *in.mutable_shape_profile());
  facts.Annotations(*in.mutable_annotations(), "annotations");
  in.clear_header();
  in.clear_shape_profile();
  in.clear_dims();
  in.clear_tensors();
  in.clear_entries();
  facts.Rest(in);
}

}  // namespace

std::string Speller::operator()(const std::string& text, std::string_view otherwise) {
  if (text.empty()) return std::string(otherwise);
  const auto [at, added] = spelt_.try_emplace(text);
  if (added) at->second = Normal(plan_, text);
  return at->second;
}

void FactWriter::Add(PlanChangeKind kind, std::string_view label, std::string_view at,
                     std::string value) {
  if (value.empty()) return;
  facts_.push_back({kind, std::string(label), std::string(at), std::move(value)});
}

void FactWriter::Annotations(RepeatedPtrField<pb::Annotation>& annotations,
                             std::string_view field) {
  std::size_t i = 0;
  for (pb::Annotation& annotation : annotations) {
    const std::string label = "annotation " + NameText(annotation.key());
    std::string value = NameText(annotation.value());
    annotation.clear_key();
    annotation.clear_value();
    Add(Kind::kAnnotation, label, Indexed(field, i++), value + Leftover(annotation));
  }
  annotations.Clear();
}

void FactWriter::Rest(const google::protobuf::MessageLite& message) {
  if (message.ByteSizeLong() > 0) {
    for (const auto& [number, bytes] : FieldsOf(message.SerializeAsString())) {
      Add(Kind::kOther, "field " + std::to_string(number), "", Shown(bytes));
    }
  }
  Settle(facts_);
}

std::string Leftover(const google::protobuf::MessageLite& message) {
  if (message.ByteSizeLong() == 0) return "";
  std::vector<std::string> fields;
  for (const auto& [number, bytes] : FieldsOf(message.SerializeAsString())) {
    fields.push_back("field " + std::to_string(number) + " " + Shown(bytes));
  }
  return " {" + Join(fields) + "}";
}

void AddPart(std::string& text, std::string_view word, const std::string& value,
             std::string_view otherwise) {
  if (value == otherwise) return;
  if (!text.empty()) text += ' ';
  text.append(word).append(" ").append(value);
}

std::string Indexed(std::string_view field, std::size_t index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

std::string DimValuesText(const Body& plan, const RepeatedPtrField<pb::DimValue>& values) {
  std::map<std::string, std::string> by_name;
  for (const Dim& dim : plan.dims) by_name[dim.name] = std::to_string(dim.min);
  for (pb::DimValue value : values) {
    std::string& text = by_name[value.dim()];
    text = std::to_string(value.value());
    value.clear_dim();
    value.clear_value();
    text += Leftover(value);
  }
  std::vector<std::string> texts;
  for (const auto& [name, value] : by_name) {
    texts.push_back(std::string(name).append("=").append(value));
  }
  return Join(texts, " ");
}

std::string Normal(const Body& plan, std::string_view expression) {
  // By name: in which order a plan lists its dims is no difference.
  std::vector<std::string_view> names;
  for (const Dim& dim : plan.dims) names.push_back(dim.name);
  std::sort(names.begin(), names.end());
  const auto expr =
      Expr::Parse(expression, [&](std::string_view name) -> std::optional<std::size_t> {
        const auto at = std::lower_bound(names.begin(), names.end(), name);
        if (at == names.end() || *at != name) return std::nullopt;
        return static_cast<std::size_t>(at - names.begin());
      });
  LEEWAY_CHECK(expr.ok());
  return expr->Canonical().Print([&](std::size_t dim) { return names[dim]; });
}

Outline ReadOutline(const Body& plan) {
  google::protobuf::Arena arena;
  pb::Plan& message = *google::protobuf::Arena::CreateMessage<pb::Plan>(&arena);
  LEEWAY_CHECK(message.ParseFromString(plan.serialized));
  Speller spell(plan);
  Outline outline;
  for (pb::Dim& dim : *message.mutable_dims()) {
    outline.dims.push_back(ReadDimItem(dim, static_cast<Index>(outline.dims.size())));
  }
  for (pb::Tensor& tensor : *message.mutable_tensors()) {
    outline.tensors.push_back(
        ReadTensorItem(tensor, static_cast<Index>(outline.tensors.size()), spell));
  }
  for (pb::Entry& entry : *message.mutable_entries()) {
    outline.entries.push_back(
        ReadEntryItem(entry, static_cast<Index>(outline.entries.size()), spell));
  }
  AddPlanFacts(outline.facts, plan, message);
  return outline;
}

}  // namespace leeway::plan
