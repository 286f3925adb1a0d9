#include "compile/compile_proto.h"

#include <string_view>

#include "base/status_macros.h"
#include "compile/entry_graph.h"
#include "google/protobuf/arena.h"
#include "leeway_internal/plan/v1/plan.pb.h"

namespace leeway::compile {
namespace {

namespace pb = leeway_internal::plan::v1;

static_assert(static_cast<int>(plan::PlacementMode::kPreferred) == pb::Placement::PREFERRED);

std::string Bytes(const base::Digest& digest) {
  return std::string(digest.bytes.begin(), digest.bytes.end());
}

class VariantWriter {
 public:
  VariantWriter(const plan::Body& model, const plan::Entry& entry) : model_(model), entry_(entry) {}

  void Write(const plan::Variant& in, pb::Variant& out) const {
    out.set_name(in.name);
    for (std::size_t d = 0; d < in.envelope.size(); ++d) WriteRange(d, in.envelope[d], out);
    for (const plan::Group& group : in.groups) WriteGroup(group, *out.add_fusion_groups());
    for (const plan::CoreOrder& list : in.schedule.cores) {
      pb::Schedule::Core& order = *out.mutable_schedule()->add_cores();
      WriteCore(list.core, *order.mutable_core());
      for (const plan::Index group : list.groups) order.add_groups(in.groups[group].name);
    }
  }

 private:
  std::string Text(const plan::Expr& expr) const {
    return expr.Print([this](std::size_t dim) { return std::string_view(model_.dims[dim].name); });
  }

  // A dim that spans its domain says so by its absence.
  void WriteRange(std::size_t d, const plan::Range& in, pb::Variant& out) const {
    const plan::Dim& dim = model_.dims[d];
    if (in.min == dim.min && in.opt == dim.max && in.max == dim.max) return;
    pb::Range& range = *out.add_envelope();
    range.set_dim(dim.name);
    range.set_min(in.min);
    range.set_opt(in.opt);
    range.set_max(in.max);
  }

  static void WriteCore(const plan::CoreRef& in, pb::CoreRef& out) {
    out.set_class_(in.core_class);
    if (in.index) out.set_index(*in.index);
  }

  void WriteGroup(const plan::Group& in, pb::FusionGroup& out) const {
    out.set_name(in.name);
    for (const plan::Index op : in.ops) out.add_ops(entry_.operators[op].name);
    // A call runs the groups of what it calls.
    if (std::holds_alternative<plan::Call>(entry_.operators[in.ops[0]].work)) return;
    out.set_shards(Text(in.shards));
    out.mutable_kernel()->set_key(in.kernel_key);
    out.mutable_placement()->set_mode(static_cast<pb::Placement::Mode>(in.placement.mode));
    for (const plan::CoreRef& core : in.placement.cores) {
      WriteCore(core, *out.mutable_placement()->add_cores());
    }
    if (in.work) {
      out.mutable_work()->set_flops(Text(in.work->flops));
      out.mutable_work()->set_read_bytes(Text(in.work->read_bytes));
      out.mutable_work()->set_write_bytes(Text(in.work->write_bytes));
      out.mutable_work()->set_scratch_bytes(Text(in.work->scratch_bytes));
    }
    WriteProfile(in, out);
  }

  void WriteProfile(const plan::Group& in, pb::FusionGroup& out) const {
    if (in.cost_ns) out.mutable_profile()->set_cost_ns(Text(*in.cost_ns));
    const bool measured = SaysNothing(entry_, in.ops) && !in.work;
    for (const plan::ProfilePoint& from : in.profile) {
      pb::Profile::Point& point = *out.mutable_profile()->add_points();
      for (std::size_t d = 0; d < from.dims.size(); ++d) {
        pb::DimValue& value = *point.add_dims();
        value.set_dim(model_.dims[d].name);
        value.set_value(from.dims[d]);
      }
      point.set_p50_ns(from.p50_ns);
      point.set_p90_ns(from.p90_ns);
      point.set_dram_bytes(from.dram_bytes);
      point.set_sram_peak_bytes(from.sram_peak_bytes);
      point.set_source(measured ? "the model's profile" : "leeway cost model");
    }
  }

  const plan::Body& model_;
  const plan::Entry& entry_;
};

// The message lists operators as the model does, while the body has them in a topological order:
// groups name theirs, so that the two need not agree.
void WriteVariants(const plan::Body& model, const plan::Entry& entry,
                   const std::vector<plan::Variant>& variants, pb::Entry& out) {
  out.clear_variants();
  const VariantWriter writer(model, entry);
  for (const plan::Variant& variant : variants) writer.Write(variant, *out.add_variants());
}

}  // namespace

Result<std::string> WritePlan(const plan::Body& model, const device::Spec& device,
                              const NewVariants& variants) {
  google::protobuf::Arena arena;
  pb::Plan& message = *google::protobuf::Arena::CreateMessage<pb::Plan>(&arena);
  if (!message.ParseFromString(model.serialized)) {
    return base::DataLoss("the model \"" + model.model + "\" does not hold its own message");
  }
  pb::Header& header = *message.mutable_header();
  header.set_producer(kProducer);
  header.set_producer_version(kProducerVersion);
  header.set_target_device(Bytes(device.digest));
  header.clear_created_unix_ns();
  header.set_parent(Bytes(model.digest));
  for (std::size_t e = 0; e < variants.size(); ++e) {
    if (!variants[e]) continue;
    WriteVariants(model, model.entries[e], *variants[e],
                  *message.mutable_entries(static_cast<int>(e)));
  }
  return message.SerializeAsString();  // deterministic: the schema has no map
}

}  // namespace leeway::compile
