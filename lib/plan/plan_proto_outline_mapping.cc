// The part of ReadOutline() that reads variants; see plan_proto_outline.h.

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/outline_text.h"
#include "plan/plan_proto_outline.h"

namespace leeway::plan {
namespace {

using google::protobuf::RepeatedPtrField;
using Kind = PlanChangeKind;

std::string CoreText(pb::CoreRef& core) {
  std::string text = core.class_().empty() ? "*" : NameText(core.class_());
  text += ":" + (core.has_index() ? std::to_string(core.index()) : std::string("*"));
  if (core.has_device()) text += "@" + std::to_string(core.device());
  core.clear_class_();
  core.clear_index();
  core.clear_device();
  return text + Leftover(core);
}

std::vector<std::string> CoreTexts(RepeatedPtrField<pb::CoreRef>& cores) {
  std::vector<std::string> texts;
  for (pb::CoreRef& core : cores) texts.push_back(CoreText(core));
  return texts;
}

std::string Sorted(std::vector<std::string> parts, std::string_view between = ", ") {
  std::sort(parts.begin(), parts.end());
  return Join(parts, between);
}

template <typename Numbers>
std::string Braced(const Numbers& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(std::to_string(number));
  return "{" + Join(texts, ",") + "}";
}

// Every dim has a range, whether the message says so or the default does.
void AddEnvelope(FactWriter& facts, pb::Variant& in, const Variant& variant, const Body& plan) {
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const Range& range = variant.envelope[d];
    std::string at = "envelope", rest;
    for (int i = 0; i < in.envelope_size(); ++i) {
      pb::Range& message = *in.mutable_envelope(i);
      if (message.dim() != plan.dims[d].name) continue;
      at = Indexed("envelope", static_cast<std::size_t>(i));
      pb::Range unread = message;
      unread.clear_dim();
      unread.clear_min();
      unread.clear_opt();
      unread.clear_max();
      unread.clear_shape_mode();
      unread.clear_granule();
      rest = Leftover(unread);
    }
    const std::string& name = plan.dims[d].name;
    facts.Add(Kind::kEnvelope, "envelope of " + NameText(name), at,
              "[" + std::to_string(range.min) + ", " + std::to_string(range.opt) + ", " +
                  std::to_string(range.max) + "]" + rest);
    facts.Add(Kind::kShapeMode, "shape mode of " + NameText(name), at,
              range.mode == ShapeMode::kPadded
                  ? std::string("PADDED")
                  : "DYNAMIC granule " + std::to_string(range.granule));
  }
  in.clear_envelope();
}

void AddConstraints(FactWriter& facts, pb::Variant& in, Speller& spell) {
  std::size_t i = 0;
  for (pb::Constraint& constraint : *in.mutable_constraints()) {
    const std::string label = "constraint on " + spell(constraint.expr());
    const std::int64_t multiple = constraint.multiple_of() == 0 ? 1 : constraint.multiple_of();
    std::string value = "[" + std::to_string(constraint.min()) + ", " +
                        std::to_string(constraint.max()) + "] multiple of " +
                        std::to_string(multiple);
    constraint.clear_expr();
    constraint.clear_min();
    constraint.clear_max();
    constraint.clear_multiple_of();
    facts.Add(Kind::kConstraint, label, Indexed("constraints", i++), value + Leftover(constraint));
  }
  in.clear_constraints();
}

void AddElided(FactWriter& facts, pb::Variant& in) {
  std::size_t i = 0;
  for (pb::Elided& elided : *in.mutable_elided()) {
    const std::string label = "elision of " + NameText(elided.op());
    std::string value = NameText(elided.reason());
    elided.clear_op();
    elided.clear_reason();
    facts.Add(Kind::kElided, label, Indexed("elided", i++), value + Leftover(elided));
  }
  in.clear_elided();
}

void AddLayouts(FactWriter& facts, pb::Variant& in) {
  std::size_t i = 0;
  for (pb::Layout& layout : *in.mutable_layouts()) {
    const std::string label = "layout of " + NameText(layout.tensor());
    std::string value = "minor_to_major " + Braced(layout.minor_to_major());
    for (pb::Tile& tile : *layout.mutable_tiles()) {
      value += " tile " + Braced(tile.dims());
      tile.clear_dims();
      value += Leftover(tile);
    }
    AddPart(value, "element_bits", std::to_string(layout.element_bits()), "0");
    if (layout.memory_space() != pb::MEMORY_SPACE_UNSPECIFIED) {
      AddPart(value, "memory_space", pb::MemorySpace_Name(layout.memory_space()));
    }
    layout.clear_element_bits();
    layout.clear_memory_space();
    layout.clear_tensor();
    layout.clear_minor_to_major();
    layout.clear_tiles();
    facts.Add(Kind::kLayout, label, Indexed("layouts", i++), value + Leftover(layout));
  }
  in.clear_layouts();
}

void AddResidency(FactWriter& facts, pb::Variant& in) {
  std::size_t i = 0;
  for (pb::Residency& residency : *in.mutable_residency()) {
    const std::string label = "residency of " + NameText(residency.tensor());
    std::string value = "on " + Sorted(CoreTexts(*residency.mutable_cores()));
    residency.clear_tensor();
    residency.clear_cores();
    facts.Add(Kind::kResidency, label, Indexed("residency", i++), value + Leftover(residency));
  }
  in.clear_residency();
}

// What lies where in memory that the compiler has planned; slots have no order.
void AddArenas(FactWriter& facts, pb::Variant& in, Speller& spell) {
  std::size_t i = 0;
  for (pb::Arena& arena : *in.mutable_arenas()) {
    std::vector<std::string> slots;
    for (pb::Arena::Slot& slot : *arena.mutable_slots()) {
      std::string text = NameText(slot.tensor()) + " at " + spell(slot.offset_bytes(), "0");
      slot.clear_tensor();
      slot.clear_offset_bytes();
      slots.push_back(text + Leftover(slot));
    }
    const auto space =
        arena.memory_space() == pb::MEMORY_SPACE_UNSPECIFIED ? pb::DRAM : arena.memory_space();
    const std::string label = "arena " + NameText(arena.name());
    std::string value = spell(arena.bytes(), "0") + " B of " + pb::MemorySpace_Name(space) + ": " +
                        Sorted(std::move(slots));
    arena.clear_name();
    arena.clear_bytes();
    arena.clear_memory_space();
    arena.clear_slots();
    facts.Add(Kind::kArena, label, Indexed("arenas", i++), value + Leftover(arena));
  }
  in.clear_arenas();
}

// An order on each core; the cores themselves have none, and neither have the waits.
void AddSchedule(FactWriter& facts, pb::Schedule& in) {
  std::size_t i = 0;
  for (pb::Schedule::Core& core : *in.mutable_cores()) {
    const std::string label = "schedule of " + CoreText(*core.mutable_core());
    std::vector<std::string> groups;
    for (const std::string& group : core.groups()) groups.push_back(NameText(group));
    core.clear_core();
    core.clear_groups();
    facts.Add(Kind::kSchedule, label, Indexed("schedule.cores", i++),
              "{" + Join(groups) + "}" + Leftover(core));
  }
  std::vector<std::string> waits;
  for (pb::Schedule::Wait& wait : *in.mutable_waits()) {
    std::string text = NameText(wait.group()) + " after " + NameText(wait.after());
    wait.clear_group();
    wait.clear_after();
    waits.push_back(text + Leftover(wait));
  }
  facts.Add(Kind::kSchedule, "schedule's waits", "schedule.waits", Sorted(std::move(waits)));
  in.clear_cores();
  in.clear_waits();
  facts.Add(Kind::kSchedule, "other fields of the schedule", "schedule", Leftover(in));
}

void AddNumerics(FactWriter& facts, pb::Numerics& in) {
  const auto add = [&](std::string_view label, std::string_view at, pb::DType dtype) {
    if (dtype != pb::DTYPE_UNSPECIFIED) {
      facts.Add(Kind::kNumerics, label, at, pb::DType_Name(dtype));
    }
  };
  add("compute dtype", "numerics.compute", in.compute());
  add("accumulation dtype", "numerics.accumulation", in.accumulation());
  facts.Add(Kind::kNumerics, "use of sparsity", "numerics.uses_sparsity",
            in.uses_sparsity() ? "true" : "");
  std::size_t i = 0;
  for (pb::Annotation& note : *in.mutable_notes()) {
    const std::string label = "note " + NameText(note.key());
    std::string value = NameText(note.value());
    note.clear_key();
    note.clear_value();
    facts.Add(Kind::kNumerics, label, Indexed("numerics.notes", i++), value + Leftover(note));
  }
  in.clear_compute();
  in.clear_accumulation();
  in.clear_uses_sparsity();
  in.clear_notes();
  facts.Add(Kind::kNumerics, "other fields of the numerics", "numerics", Leftover(in));
}

void AddTiling(FactWriter& facts, pb::FusionGroup& in, Speller& spell) {
  pb::Tiling& tiling = *in.mutable_tiling();
  std::string value;
  if (tiling.m() != 0 || tiling.n() != 0 || tiling.k() != 0) {
    value = std::to_string(tiling.m()) + "x" + std::to_string(tiling.n()) + "x" +
            std::to_string(tiling.k());
  }
  tiling.clear_m();
  tiling.clear_n();
  tiling.clear_k();
  facts.Add(Kind::kTiling, "tiling", "tiling", value + Leftover(tiling));
  facts.Add(Kind::kShards, "shards", "shards", spell(in.shards(), "1"));
  in.clear_tiling();
  in.clear_shards();
}

void AddKernel(FactWriter& facts, pb::Kernel& in, Speller& spell) {
  facts.Add(Kind::kKernel, "kernel", "kernel.key", in.key());
  facts.Add(Kind::kKernel, "kernel blob", "kernel.blob_digest", Hex(in.blob_digest()));
  const std::string workspace = spell(in.workspace_bytes(), "0");
  facts.Add(Kind::kKernel, "kernel workspace", "kernel.workspace_bytes",
            workspace == "0" ? "" : workspace);
  pb::Launch& launch = *in.mutable_launch();
  std::string value;
  std::vector<std::string> grid;
  for (const std::string& extent : launch.grid()) grid.push_back(spell(extent));
  if (launch.grid_size() > 0 || launch.block_size() > 0 || launch.shared_memory_bytes() != 0) {
    value = "grid {" + Join(grid, ",") + "} block " + Braced(launch.block()) + " shared memory " +
            std::to_string(launch.shared_memory_bytes());
  }
  if (launch.cluster_size() > 0) AddPart(value, "cluster", Braced(launch.cluster()));
  launch.clear_cluster();
  launch.clear_grid();
  launch.clear_block();
  launch.clear_shared_memory_bytes();
  facts.Add(Kind::kKernel, "kernel launch", "kernel.launch", value + Leftover(launch));
  in.clear_key();
  in.clear_blob_digest();
  in.clear_workspace_bytes();
  in.clear_launch();
  facts.Add(Kind::kKernel, "other fields of the kernel", "kernel", Leftover(in));
}

void AddPlacement(FactWriter& facts, pb::Placement& in) {
  const auto mode = in.mode() == pb::Placement::MODE_UNSPECIFIED ? pb::Placement::ANY : in.mode();
  std::string value = pb::Placement::Mode_Name(mode);
  const std::vector<std::string> cores = CoreTexts(*in.mutable_cores());
  if (!cores.empty()) value += " " + Join(cores);
  in.clear_mode();
  in.clear_cores();
  facts.Add(Kind::kPlacement, "placement", "placement", value + Leftover(in));
}

void AddWork(FactWriter& facts, pb::GroupWork& in, Speller& spell) {
  std::string value = "flops=" + spell(in.flops(), "0") + " read=" + spell(in.read_bytes(), "0") +
                      " write=" + spell(in.write_bytes(), "0") +
                      " scratch=" + spell(in.scratch_bytes(), "0");
  in.clear_flops();
  in.clear_read_bytes();
  in.clear_write_bytes();
  in.clear_scratch_bytes();
  facts.Add(Kind::kGroupWork, "work", "work", value + Leftover(in));
}

std::string PointText(pb::Profile::Point& in, const Body& plan) {
  std::string text = DimValuesText(plan, in.dims()) + ": p50 " + std::to_string(in.p50_ns()) +
                     " ns, p90 " + std::to_string(in.p90_ns()) + " ns, dram " +
                     std::to_string(in.dram_bytes()) + " B, sram " +
                     std::to_string(in.sram_peak_bytes()) + " B, source " + NameText(in.source()) +
                     ", samples " + std::to_string(in.samples());
  in.clear_dims();
  in.clear_p50_ns();
  in.clear_p90_ns();
  in.clear_dram_bytes();
  in.clear_sram_peak_bytes();
  in.clear_source();
  in.clear_samples();
  return text + Leftover(in);
}

void AddProfile(FactWriter& facts, pb::Profile& in, Speller& spell) {
  std::vector<std::string> points;
  for (pb::Profile::Point& point : *in.mutable_points()) {
    points.push_back(PointText(point, spell.plan()));
  }
  const std::string cost = spell(in.cost_ns());
  std::string value = cost.empty() ? Sorted(std::move(points), "; ") : "cost_ns " + cost;
  in.clear_points();
  in.clear_cost_ns();
  facts.Add(Kind::kPrediction, "profile", "profile", value + Leftover(in));
}

// What a call in the group runs: it depends on the order and the envelopes of the callee's
// variants.
void AddCall(FactWriter& facts, const Body& plan, const Entry& entry, const Variant& variant,
             const Group& group) {
  const Call* call = CallOf(entry, group);
  if (call == nullptr) return;
  const std::optional<Index> called = plan.CalledVariant(variant, call->entry);
  if (!called) return;
  const Entry& callee = plan.entries[call->entry];
  facts.Add(Kind::kCall, "called variant", "ops[0]",
            NameText(callee.name) + "/" + NameText(callee.variants[*called].name));
}

GroupItem ReadGroupItem(pb::FusionGroup& in, const Group& group, const Entry& entry,
                        const Variant& variant, Speller& spell) {
  GroupItem item;
  item.name = in.name();
  item.index = group.listed;
  item.ops.assign(in.ops().begin(), in.ops().end());
  item.recomputed.assign(in.recomputed().begin(), in.recomputed().end());
  std::sort(item.recomputed.begin(), item.recomputed.end());
  FactWriter facts(item);
  std::vector<std::string> recomputed;
  for (const std::string& op : item.recomputed) recomputed.push_back(NameText(op));
  facts.Add(Kind::kRecomputed, "recomputed", "recomputed", Join(recomputed));
  AddTiling(facts, in, spell);
  AddKernel(facts, *in.mutable_kernel(), spell);
  AddPlacement(facts, *in.mutable_placement());
  facts.Add(Kind::kKernel, "kind", "kind", in.kind());
  AddNumerics(facts, *in.mutable_numerics());
  if (in.has_work()) AddWork(facts, *in.mutable_work(), spell);
  AddProfile(facts, *in.mutable_profile(), spell);
  AddCall(facts, spell.plan(), entry, variant, group);
  facts.Annotations(*in.mutable_annotations(), "annotations");
  in.clear_name();
  in.clear_ops();
  in.clear_recomputed();
  in.clear_kind();
  in.clear_numerics();
  in.clear_kernel();
  in.clear_placement();
  in.clear_work();
  in.clear_profile();
  facts.Rest(in);
  return item;
}

}  // namespace

VariantItem ReadVariantItem(pb::Variant& message, Index entry, Index index, Speller& spell) {
  const Body& plan = spell.plan();
  const Entry& of = plan.entries[entry];
  const Variant& variant = of.variants[index];
  VariantItem item;
  item.name = message.name();
  item.index = index;
  FactWriter facts(item);
  AddEnvelope(facts, message, variant, plan);
  AddConstraints(facts, message, spell);
  AddElided(facts, message);
  AddLayouts(facts, message);
  AddResidency(facts, message);
  AddArenas(facts, message, spell);
  AddSchedule(facts, *message.mutable_schedule());
  AddNumerics(facts, *message.mutable_numerics());
  facts.Annotations(*message.mutable_annotations(), "annotations");
  std::vector<const Group*> listed(variant.groups.size());
  for (const Group& group : variant.groups) listed[group.listed] = &group;
  item.groups.reserve(listed.size());
  for (const Group* group : listed) {
    pb::FusionGroup& in = *message.mutable_fusion_groups(static_cast<int>(group->listed));
    item.groups.push_back(ReadGroupItem(in, *group, of, variant, spell));
  }
  message.clear_name();
  message.clear_fusion_groups();
  message.clear_schedule();
  message.clear_numerics();
  facts.Rest(message);
  return item;
}

}  // namespace leeway::plan
