#include "leeway/plan_builder.h"

#include <utility>

#include "base/status_macros.h"
#include "plan/load.h"
#include "plan/plan_proto_draft.h"

namespace leeway {
inline namespace v0 {
namespace {

namespace pb = leeway_internal::plan::v1alpha;

void Add(google::protobuf::RepeatedPtrField<pb::Annotation>& annotations, std::string_view key,
         std::string_view value) {
  pb::Annotation& annotation = *annotations.Add();
  annotation.set_key(std::string(key));
  annotation.set_value(std::string(value));
}

template <typename Point>
void SetDims(const Dims& dims, Point& point) {
  for (const DimBinding& binding : dims) {
    pb::DimValue& value = *point.add_dims();
    value.set_dim(binding.dim);
    value.set_value(binding.value);
  }
}

pb::Variant& VariantOf(plan::Draft& draft, std::size_t entry, std::size_t variant) {
  return *draft.entry(entry).mutable_variants(static_cast<int>(variant));
}

pb::Range& AddRange(pb::Variant& variant, const Size& dim, std::int64_t min, std::int64_t opt,
                    std::int64_t max) {
  pb::Range& range = *variant.add_envelope();
  range.set_dim(dim.text());
  range.set_min(min);
  range.set_opt(opt);
  range.set_max(max);
  return range;
}

}  // namespace

TensorRef::TensorRef(const OpRef& op) : draft_(op.draft_), index_(op.output_) {}

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
  Add(*draft_->op(*this).mutable_annotations(), key, value);
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

VariantRef VariantRef::Envelope(const Size& dim, std::int64_t min, std::int64_t opt,
                                std::int64_t max) const {
  AddRange(VariantOf(*draft_, entry_, index_), dim, min, opt, max);
  return *this;
}

VariantRef VariantRef::Dynamic(const Size& dim, std::int64_t min, std::int64_t opt,
                               std::int64_t max, std::int64_t granule) const {
  pb::Range& range = AddRange(VariantOf(*draft_, entry_, index_), dim, min, opt, max);
  range.set_shape_mode(pb::Range::DYNAMIC);
  range.set_granule(granule);
  return *this;
}

VariantRef VariantRef::Require(const Size& expr, std::int64_t min, std::int64_t max) const {
  pb::Constraint& constraint = *VariantOf(*draft_, entry_, index_).add_constraints();
  constraint.set_expr(expr.text());
  constraint.set_min(min);
  constraint.set_max(max);
  return *this;
}

VariantRef VariantRef::Elide(const OpRef& op, std::string_view reason) const {
  pb::Elided& elided = *VariantOf(*draft_, entry_, index_).add_elided();
  elided.set_op(draft_->OpName(op, entry_));
  elided.set_reason(std::string(reason));
  return *this;
}

VariantRef VariantRef::Resident(const TensorRef& weight, std::string_view core) const {
  pb::Residency& residency = *VariantOf(*draft_, entry_, index_).add_residency();
  residency.set_tensor(draft_->TensorName(weight));
  *residency.add_cores() = draft_->Core(core);
  return *this;
}

GroupRef VariantRef::Group(std::string_view name, std::initializer_list<OpRef> ops) const {
  return Group(name, std::vector<OpRef>(ops));
}

GroupRef VariantRef::Group(std::string_view name, const std::vector<OpRef>& ops) const {
  pb::Variant& variant = VariantOf(*draft_, entry_, index_);
  pb::FusionGroup& group = *variant.add_fusion_groups();
  group.set_name(std::string(name));
  for (const OpRef& op : ops) group.add_ops(draft_->OpName(op, entry_));
  return GroupRef(*this, static_cast<std::size_t>(variant.fusion_groups_size()) - 1);
}

namespace {

pb::FusionGroup& GroupOf(plan::Draft& draft, std::size_t entry, std::size_t variant,
                         std::size_t group) {
  return *VariantOf(draft, entry, variant).mutable_fusion_groups(static_cast<int>(group));
}

void Place(plan::Draft& draft, pb::FusionGroup& group, pb::Placement::Mode mode,
           std::string_view core) {
  group.mutable_placement()->set_mode(mode);
  if (!core.empty()) *group.mutable_placement()->add_cores() = draft.Core(core);
}

}  // namespace

GroupRef GroupRef::Kernel(std::string_view key, const Size& workspace_bytes) const {
  pb::Kernel& kernel = *GroupOf(*draft_, entry_, index_, group_).mutable_kernel();
  kernel.set_key(std::string(key));
  if (workspace_bytes.text() != "0") kernel.set_workspace_bytes(workspace_bytes.text());
  return *this;
}

GroupRef GroupRef::Any(std::string_view core_class) const {
  Place(*draft_, GroupOf(*draft_, entry_, index_, group_), pb::Placement::ANY, core_class);
  return *this;
}

GroupRef GroupRef::Prefer(std::string_view core) const {
  Place(*draft_, GroupOf(*draft_, entry_, index_, group_), pb::Placement::PREFERRED, core);
  return *this;
}

GroupRef GroupRef::Pin(std::string_view core) const {
  Place(*draft_, GroupOf(*draft_, entry_, index_, group_), pb::Placement::PINNED, core);
  return *this;
}

GroupRef GroupRef::Shards(const Size& shards) const {
  GroupOf(*draft_, entry_, index_, group_).set_shards(shards.text());
  return *this;
}

GroupRef GroupRef::Tiling(std::int64_t m, std::int64_t n, std::int64_t k) const {
  pb::Tiling& tiling = *GroupOf(*draft_, entry_, index_, group_).mutable_tiling();
  tiling.set_m(m);
  tiling.set_n(n);
  tiling.set_k(k);
  return *this;
}

GroupRef GroupRef::Recompute(std::initializer_list<OpRef> ops) const {
  pb::FusionGroup& group = GroupOf(*draft_, entry_, index_, group_);
  for (const OpRef& op : ops) group.add_recomputed(draft_->OpName(op, entry_));
  return *this;
}

GroupRef GroupRef::Predict(const Dims& dims, Nanos p50, Nanos p90) const {
  pb::Profile::Point& point =
      *GroupOf(*draft_, entry_, index_, group_).mutable_profile()->add_points();
  SetDims(dims, point);
  point.set_p50_ns(p50.count());
  point.set_p90_ns(p90.count());
  return *this;
}

GroupRef GroupRef::Annotate(std::string_view key, std::string_view value) const {
  Add(*GroupOf(*draft_, entry_, index_, group_).mutable_annotations(), key, value);
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

PlanBuilder::PlanBuilder(std::string_view model, const Producer& producer)
    : draft_(std::make_unique<plan::Draft>()) {
  pb::Header& header = *draft_->plan.mutable_header();
  header.set_model(std::string(model));
  header.set_producer(producer.name);
  header.set_producer_version(producer.version);
  header.set_min_reader_version(1);
}

PlanBuilder::~PlanBuilder() = default;
PlanBuilder::PlanBuilder(PlanBuilder&&) noexcept = default;
PlanBuilder& PlanBuilder::operator=(PlanBuilder&&) noexcept = default;

Size PlanBuilder::Dim(std::string_view name, Domain domain, BatchRule rule) {
  pb::Dim& dim = *draft_->plan.add_dims();
  dim.set_name(std::string(name));
  dim.set_min(domain.min);
  dim.set_max(domain.max);
  dim.set_bind(pb::Dim::SUBMIT);
  dim.set_batch_rule(static_cast<pb::Dim::BatchRule>(rule));
  return Size::Named(std::string(name));
}

EntryRef PlanBuilder::Entry(std::string_view name) {
  draft_->plan.add_entries()->set_name(std::string(name));
  return EntryRef(draft_.get(), static_cast<std::size_t>(draft_->plan.entries_size()) - 1);
}

EntryRef PlanBuilder::InternalEntry(std::string_view name) {
  const EntryRef entry = Entry(name);
  draft_->entry(entry.index_).set_internal(true);
  return entry;
}

void PlanBuilder::Expect(const Dims& dims, double weight) {
  pb::ShapeProfile::Point& point = *draft_->plan.mutable_shape_profile()->add_points();
  SetDims(dims, point);
  point.set_weight(weight);
}

void PlanBuilder::Annotate(std::string_view key, std::string_view value) {
  Add(*draft_->plan.mutable_annotations(), key, value);
}

Result<Plan> PlanBuilder::Build() && {
  const std::unique_ptr<plan::Draft> draft = std::move(draft_);
  if (draft == nullptr) return base::FailedPrecondition("the builder has built its plan already");
  const std::string bytes = draft->Finish();
  const std::string name = draft->plan.header().model();
  if (!draft->mistakes.empty()) {
    CheckResult check;
    check.ok = false;
    check.total = draft->mistakes.size();
    check.findings = std::move(draft->mistakes);
    return base::InvalidArgument(plan::Describe(check, name));
  }
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<const plan::Body> body, plan::LoadValidPlan(bytes, name));
  return Plan(std::move(body));
}

}  // namespace v0
}  // namespace leeway
