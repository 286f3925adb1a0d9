#include "leeway/plan_builder.h"

#include <utility>

#include "base/status_macros.h"
#include "plan/load.h"
#include "plan/plan_proto_draft.h"

namespace leeway {
inline namespace v0 {
namespace {

namespace pb = leeway_internal::plan::v1;

void Set(const Numerics& from, pb::Numerics& to) {
  to.set_compute(static_cast<pb::DType>(from.compute));
  to.set_accumulation(static_cast<pb::DType>(from.accumulation));
  to.set_uses_sparsity(from.uses_sparsity);
  for (const auto& [key, value] : from.notes) plan::AddAnnotation(*to.mutable_notes(), key, value);
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

VariantRef VariantRef::Require(const Size& expr, std::int64_t min, std::int64_t max,
                               std::int64_t multiple_of) const {
  pb::Constraint& constraint = *VariantOf(*draft_, entry_, index_).add_constraints();
  constraint.set_expr(expr.text());
  constraint.set_min(min);
  constraint.set_max(max);
  if (multiple_of != 1) constraint.set_multiple_of(multiple_of);
  return *this;
}

VariantRef VariantRef::Elide(const OpRef& op, std::string_view reason) const {
  pb::Elided& elided = *VariantOf(*draft_, entry_, index_).add_elided();
  elided.set_op(draft_->OpName(op, entry_));
  elided.set_reason(std::string(reason));
  return *this;
}

VariantRef VariantRef::Layout(const TensorRef& tensor, const TensorLayout& from) const {
  pb::Layout& layout = *VariantOf(*draft_, entry_, index_).add_layouts();
  layout.set_tensor(draft_->TensorName(tensor));
  layout.mutable_minor_to_major()->Add(from.minor_to_major.begin(), from.minor_to_major.end());
  for (const std::vector<std::int64_t>& tile : from.tiles) {
    layout.add_tiles()->mutable_dims()->Add(tile.begin(), tile.end());
  }
  layout.set_element_bits(from.element_bits);
  if (from.memory) layout.set_memory_space(static_cast<pb::MemorySpace>(*from.memory));
  return *this;
}

VariantRef VariantRef::Arena(std::string_view name, const Size& bytes,
                             const std::vector<ArenaSlot>& slots, MemorySpace space) const {
  pb::Arena& arena = *VariantOf(*draft_, entry_, index_).add_arenas();
  arena.set_name(std::string(name));
  arena.set_bytes(bytes.text());
  arena.set_memory_space(static_cast<pb::MemorySpace>(space));
  for (const ArenaSlot& from : slots) {
    pb::Arena::Slot& slot = *arena.add_slots();
    slot.set_tensor(draft_->TensorName(from.tensor));
    slot.set_offset_bytes(from.offset_bytes.text());
  }
  return *this;
}

VariantRef VariantRef::Order(std::string_view core, const std::vector<std::string>& groups) const {
  pb::Schedule::Core& order = *VariantOf(*draft_, entry_, index_).mutable_schedule()->add_cores();
  *order.mutable_core() = draft_->Core(core);
  order.mutable_groups()->Add(groups.begin(), groups.end());
  return *this;
}

VariantRef VariantRef::Wait(std::string_view group, std::string_view after) const {
  pb::Schedule::Wait& wait = *VariantOf(*draft_, entry_, index_).mutable_schedule()->add_waits();
  wait.set_group(std::string(group));
  wait.set_after(std::string(after));
  return *this;
}

VariantRef VariantRef::Compute(const Numerics& numerics) const {
  Set(numerics, *VariantOf(*draft_, entry_, index_).mutable_numerics());
  return *this;
}

VariantRef VariantRef::Annotate(std::string_view key, std::string_view value) const {
  plan::AddAnnotation(*VariantOf(*draft_, entry_, index_).mutable_annotations(), key, value);
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

GroupRef GroupRef::Blob(std::string_view digest) const {
  GroupOf(*draft_, entry_, index_, group_)
      .mutable_kernel()
      ->set_blob_digest(draft_->Digest(digest));
  return *this;
}

GroupRef GroupRef::Launch(const LaunchShape& shape) const {
  pb::Launch& launch = *GroupOf(*draft_, entry_, index_, group_).mutable_kernel()->mutable_launch();
  for (const Size& extent : shape.grid) launch.add_grid(extent.text());
  launch.mutable_block()->Add(shape.block.begin(), shape.block.end());
  launch.set_shared_memory_bytes(shape.shared_memory_bytes);
  launch.mutable_cluster()->Add(shape.cluster.begin(), shape.cluster.end());
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

GroupRef GroupRef::Kind(std::string_view kind) const {
  GroupOf(*draft_, entry_, index_, group_).set_kind(std::string(kind));
  return *this;
}

GroupRef GroupRef::Work(const GroupWork& from) const {
  pb::GroupWork& work = *GroupOf(*draft_, entry_, index_, group_).mutable_work();
  work.set_flops(from.flops.text());
  work.set_read_bytes(from.read_bytes.text());
  work.set_write_bytes(from.write_bytes.text());
  work.set_scratch_bytes(from.scratch_bytes.text());
  return *this;
}

GroupRef GroupRef::Compute(const Numerics& numerics) const {
  Set(numerics, *GroupOf(*draft_, entry_, index_, group_).mutable_numerics());
  return *this;
}

GroupRef GroupRef::Predict(const Dims& dims, Nanos p50, Nanos p90) const {
  return Predict(dims, Prediction{.p50 = p50, .p90 = p90});
}

GroupRef GroupRef::Predict(const Dims& dims, const Prediction& prediction) const {
  pb::Profile::Point& point =
      *GroupOf(*draft_, entry_, index_, group_).mutable_profile()->add_points();
  SetDims(dims, point);
  point.set_p50_ns(prediction.p50.count());
  point.set_p90_ns(prediction.p90.count());
  point.set_dram_bytes(prediction.dram_bytes);
  point.set_sram_peak_bytes(prediction.sram_peak_bytes);
  point.set_source(prediction.source);
  point.set_samples(prediction.samples);
  return *this;
}

GroupRef GroupRef::Predict(const Size& nanoseconds) const {
  GroupOf(*draft_, entry_, index_, group_).mutable_profile()->set_cost_ns(nanoseconds.text());
  return *this;
}

GroupRef GroupRef::Annotate(std::string_view key, std::string_view value) const {
  plan::AddAnnotation(*GroupOf(*draft_, entry_, index_, group_).mutable_annotations(), key, value);
  return *this;
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

void PlanBuilder::Target(std::string_view device_digest) {
  draft_->plan.mutable_header()->set_target_device(draft_->Digest(device_digest));
}

void PlanBuilder::Parent(std::string_view plan_digest) {
  draft_->plan.mutable_header()->set_parent(draft_->Digest(plan_digest));
}

void PlanBuilder::Created(Nanos since_1970) {
  draft_->plan.mutable_header()->set_created_unix_ns(since_1970.count());
}

Size PlanBuilder::SequenceDim(std::string_view name, Domain domain, BatchRule rule) {
  Size dim = Dim(name, domain, rule);
  draft_->plan.mutable_dims(draft_->plan.dims_size() - 1)->set_bind(pb::Dim::SEQUENCE);
  return dim;
}

void PlanBuilder::ExpectedBy(std::string_view source) {
  draft_->plan.mutable_shape_profile()->set_source(std::string(source));
}

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
  plan::AddAnnotation(*draft_->plan.mutable_annotations(), key, value);
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
