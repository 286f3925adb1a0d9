// The part of PlanBuilder's handles that builds graphs: tensors, operators, entries.

#include <utility>

#include "leeway/plan_builder.h"
#include "plan/plan_proto_draft.h"

namespace leeway {
inline namespace v0 {

namespace pb = leeway_internal::plan::v1;

TensorRef::TensorRef(const OpRef& op) : draft_(op.draft_), index_(op.output_) {}

TensorRef TensorRef::Quantize(const Quantization& from) const {
  pb::Quantization& quant = *draft_->tensor(index_).mutable_quant();
  quant.mutable_scale()->Add(from.scale.begin(), from.scale.end());
  quant.mutable_zero_point()->Add(from.zero_point.begin(), from.zero_point.end());
  quant.set_axis(from.axis);
  quant.set_block(from.block);
  quant.set_scale_dtype(static_cast<pb::DType>(from.scale_dtype));
  return *this;
}

TensorRef TensorRef::ScaledBy(const TensorRef& scales) const {
  draft_->tensor(index_).mutable_quant()->set_scale_tensor(draft_->TensorName(scales));
  return *this;
}

TensorRef TensorRef::ShiftedBy(const TensorRef& zero_points) const {
  draft_->tensor(index_).mutable_quant()->set_zero_point_tensor(draft_->TensorName(zero_points));
  return *this;
}

TensorRef TensorRef::Sparse(std::uint32_t n, std::uint32_t m) const {
  pb::Sparsity& sparsity = *draft_->tensor(index_).mutable_sparsity();
  sparsity.set_n(n);
  sparsity.set_m(m);
  return *this;
}

TensorRef TensorRef::ViewOf(const TensorRef& tensor, const Size& offset_bytes) const {
  pb::Alias& alias = *draft_->tensor(index_).mutable_alias_of();
  alias.set_tensor(draft_->TensorName(tensor));
  if (offset_bytes.text() != "0") alias.set_offset_bytes(offset_bytes.text());
  return *this;
}

TensorRef TensorRef::In(MemorySpace space) const {
  draft_->tensor(index_).set_memory_space(static_cast<pb::MemorySpace>(space));
  return *this;
}

TensorRef TensorRef::Holds(std::string_view content_digest) const {
  draft_->tensor(index_).set_content_digest(draft_->Digest(content_digest));
  return *this;
}

TensorRef TensorRef::Annotate(std::string_view key, std::string_view value) const {
  plan::AddAnnotation(*draft_->tensor(index_).mutable_annotations(), key, value);
  return *this;
}

OpRef OpRef::As(DType dtype, const std::vector<Size>& shape) const {
  pb::Tensor& tensor = draft_->tensor(output_);
  tensor.set_dtype(static_cast<pb::DType>(dtype));
  tensor.clear_shape();
  for (const Size& size : shape) tensor.add_shape(size.text());
  return *this;
}

OpRef OpRef::Kind(std::string_view kind) const {
  draft_->op(*this).set_kind(std::string(kind));
  return *this;
}

OpRef OpRef::Annotate(std::string_view key, std::string_view value) const {
  plan::AddAnnotation(*draft_->op(*this).mutable_annotations(), key, value);
  return *this;
}

OpRef OpRef::After(std::initializer_list<OpRef> ops) const {
  for (const OpRef& op : ops) draft_->op(*this).add_after(draft_->OpName(op, entry_));
  return *this;
}

TensorRef OpRef::Output(std::string_view name, DType dtype, const std::vector<Size>& shape) const {
  draft_->op(*this).add_outputs(std::string(name));
  return TensorRef(draft_, draft_->AddTensor(name, pb::Tensor::ACTIVATION, dtype, shape));
}

OpRef OpRef::Updates(const TensorRef& state) const {
  const std::string name = draft_->TensorName(state);
  draft_->op(*this).add_inputs(name);
  draft_->op(*this).add_outputs(name);
  return *this;
}

OpRef OpRef::Produces(const Size& dim, std::uint32_t output) const {
  for (pb::Dim& made : *draft_->plan.mutable_dims()) {
    if (made.name() != dim.text()) continue;
    made.set_bind(pb::Dim::PRODUCED);
    made.mutable_produced_by()->set_operator_(draft_->op(*this).name());
    made.mutable_produced_by()->set_output(output);
    return *this;
  }
  draft_->Mistake("dims", "operator " + plan::Quote(draft_->op(*this).name()) + " produces " +
                              plan::Quote(dim.text()) + ", which is no dimension");
  return *this;
}

OpRef OpRef::SideEffects() const {
  draft_->op(*this).set_side_effects(true);
  return *this;
}

TensorRef EntryRef::Input(std::string_view name, DType dtype,
                          const std::vector<Size>& shape) const {
  return TensorRef(draft_, draft_->AddTensor(name, pb::Tensor::INPUT, dtype, shape));
}

TensorRef EntryRef::Weight(std::string_view name, DType dtype,
                           const std::vector<Size>& shape) const {
  return TensorRef(draft_, draft_->AddTensor(name, pb::Tensor::WEIGHT, dtype, shape));
}

TensorRef EntryRef::State(std::string_view name, DType dtype,
                          const std::vector<Size>& shape) const {
  return TensorRef(draft_, draft_->AddTensor(name, pb::Tensor::STATE, dtype, shape));
}

OpRef EntryRef::Op(std::string_view name, const Work& work,
                   std::initializer_list<TensorRef> inputs) const {
  const plan::Draft::Added added = draft_->AddOp(index_, name, work, inputs.begin(), inputs.size());
  return OpRef(draft_, index_, added.op, added.output);
}

OpRef EntryRef::Op(std::string_view name, const Work& work,
                   const std::vector<TensorRef>& inputs) const {
  const plan::Draft::Added added = draft_->AddOp(index_, name, work, inputs.data(), inputs.size());
  return OpRef(draft_, index_, added.op, added.output);
}

VariantRef EntryRef::Variant(std::string_view name) const {
  pb::Entry& entry = draft_->entry(index_);
  entry.add_variants()->set_name(std::string(name));
  return VariantRef(draft_, index_, static_cast<std::size_t>(entry.variants_size()) - 1);
}

EntryRef EntryRef::Annotate(std::string_view key, std::string_view value) const {
  plan::AddAnnotation(*draft_->entry(index_).mutable_annotations(), key, value);
  return *this;
}

}  // namespace v0
}  // namespace leeway
