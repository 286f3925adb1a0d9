#include "device/plan_fit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/math.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "device/kept_weights.h"
#include "device/largest_dims.h"
#include "device/live_set.h"
#include "device/step_cost.h"
#include "plan/findings.h"

namespace leeway::device {
namespace {

using plan::Path;
using plan::Quote;
using DimValues = std::vector<std::int64_t>;

std::string ListClasses(const Spec& device) {
  std::string names;
  for (const CoreClass& of : device.classes) {
    if (!names.empty()) names += ", ";
    names += of.name;
  }
  return names;
}

// Where costs may be largest between two corners, the upper one first: there and, as sizes may fall
// with a dim, at the lower one. Shards that depend on dims make a step larger where others are few:
// then every mix of the ends of a few dims counts.
std::vector<DimValues> Corners(const DimValues& low, const DimValues& high,
                               const plan::Expr* shards) {
  std::vector<DimValues> corners = {high, low};
  if (shards == nullptr || shards->is_constant()) return corners;
  constexpr std::size_t kMaxMixed = 4;
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < low.size() && free.size() < kMaxMixed; ++i) {
    if (low[i] < high[i]) free.push_back(i);
  }
  for (std::size_t bits = 1; bits + 1 < std::size_t{1} << free.size(); ++bits) {
    DimValues corner = high;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if ((bits >> i & 1) != 0) corner[free[i]] = low[free[i]];
    }
    corners.push_back(std::move(corner));
  }
  return corners;
}

std::string Whole(double bytes) {
  const auto rounded = base::RoundToInt64(bytes);
  return rounded ? std::to_string(*rounded) : std::string("over 2^63");
}

class Fit {
 public:
  Fit(const plan::Body& plan, const Spec& device, int concurrent_runs, plan::Findings& findings)
      : plan_(plan), device_(device), runs_(concurrent_runs), findings_(findings) {}

  void Run() {
    const Path root("");
    CheckTarget(root.At("header"));
    for (std::size_t e = 0; e < plan_.entries.size(); ++e) {
      const Path entry = root.At("entries", e);
      for (std::size_t v = 0; v < plan_.entries[e].variants.size(); ++v) {
        CheckVariant(entry.At("variants", v), plan_.entries[e], plan_.entries[e].variants[v]);
      }
      CheckFallback(entry, plan_.entries[e]);
    }
  }

 private:
  void CheckTarget(const Path& path) {
    const auto& digest = device_.digest.bytes;
    const std::string_view ours(reinterpret_cast<const char*>(digest.data()), digest.size());
    if (plan_.target_device.empty() || plan_.target_device == ours) return;
    findings_.Warning(path.At("target_device"), "the plan was compiled for another device than " +
                                                    Quote(device_.name) + ", whose digest is " +
                                                    device_.digest.ToHex());
  }

  void CheckVariant(const Path& path, const plan::Entry& entry, const plan::Variant& variant) {
    const std::vector<DimValues> largest = LargestDims(variant);
    // What is wrong with it is reported where it stands.
    const auto kept = KeptWeights(plan_, variant, device_);
    kept_ = kept.ok() ? *kept : std::vector<KeptWeight>();
    DimValues low, high;
    for (const plan::Range& range : variant.envelope) {
      low.push_back(range.min);
      high.push_back(range.max);
    }
    for (std::size_t g = 0; g < variant.groups.size(); ++g) {
      const Path group = path.At("fusion_groups", variant.groups[g].listed);
      if (!CheckPlacement(group.At("placement"), variant.groups[g].placement)) continue;
      CheckProfile(group.At("profile"), entry, variant.groups[g]);
      // What it calls is checked where it stands.
      if (plan::CallOf(entry, variant.groups[g]) != nullptr) continue;
      std::vector<DimValues> tried = largest;
      for (DimValues& dims : Corners(low, high, &variant.groups[g].shards)) {
        if (dims != high && plan::Covers(variant, dims)) tried.push_back(std::move(dims));
      }
      for (const DimValues& dims : tried) {
        if (!CheckCost(group, entry, variant.groups[g], dims)) break;
      }
    }
    CheckResidency(path, variant);
    for (const DimValues& dims : largest) {
      if (!CheckDram(path, entry, variant, dims)) break;
    }
  }

  // A request that no variant covers runs operator by operator, each placed and shared as in the
  // first variant.
  void CheckFallback(const Path& path, const plan::Entry& entry) {
    std::vector<const plan::Group*> owners(entry.operators.size(), nullptr);
    if (!entry.variants.empty()) {
      for (const plan::Group& group : entry.variants.front().groups) {
        for (const plan::Index op : group.ops) {
          if (owners[op] == nullptr) owners[op] = &group;
        }
      }
    }
    DimValues low, high;
    for (const plan::Dim& dim : plan_.dims) {
      low.push_back(dim.min);
      high.push_back(dim.max);
    }
    for (std::size_t i = 0; i < entry.operators.size(); ++i) {
      const plan::Operator& op = entry.operators[i];
      if (std::holds_alternative<plan::Call>(op.work)) continue;
      const Path at = path.At("operators", op.listed);
      const plan::Expr* shards = owners[i] == nullptr ? nullptr : &owners[i]->shards;
      for (const DimValues& dims : Corners(low, high, shards)) {
        if (!CheckOperator(at, entry, op, owners[i], dims)) break;
      }
    }
  }

  bool CheckOperator(const Path& path, const plan::Entry& entry, const plan::Operator& op,
                     const plan::Group* owner, const DimValues& dims) {
    const auto resolved = ResolvePlacement(owner == nullptr ? plan::Placement() : owner->placement,
                                           device_, NeedsOf(op));
    // What is wrong with the placement itself is reported where it stands.
    if (!resolved.ok()) return false;
    const std::int64_t shards = owner == nullptr ? 1 : owner->shards(dims);
    std::size_t checked = device_.classes.size();
    for (const CoreIndex core : resolved->allowed) {
      const std::size_t of = device_.ClassOf(core);
      if (of == checked) continue;
      checked = of;
      const Status status =
          OperatorCost(plan_, entry, op, dims, shards, device_.classes[of], device_).status();
      if (status.ok() || status.code() == StatusCode::kUnimplemented) continue;
      findings_.Error(path, "by itself: " + std::string(status.message()) + AtDims(dims));
      return false;
    }
    return true;
  }

  // Weights that stay on a core must fit its memory for them together. Without cores they stay on
  // all.
  void CheckResidency(const Path& path, const plan::Variant& variant) {
    std::vector<double> resident(device_.core_count(), 0);
    for (std::size_t i = 0; i < variant.residency.size(); ++i) {
      const plan::Residency& residency = variant.residency[i];
      const auto bytes = static_cast<double>(plan_.tensors[residency.tensor].Bytes({}));
      std::vector<plan::CoreRef> refs = residency.cores;
      if (refs.empty()) refs.emplace_back();
      std::vector<char> holds(resident.size(), 0);
      for (std::size_t c = 0; c < refs.size(); ++c) {
        const auto cores = ResolveCores(refs[c], device_);
        if (!cores.ok()) {
          const Path at = path.At("residency", i);
          findings_.Error(at.At("cores", c), std::string(cores.status().message()));
          continue;
        }
        for (const CoreIndex core : *cores) holds[core] = 1;
      }
      for (CoreIndex core = 0; core < holds.size(); ++core) {
        if (holds[core] != 0) resident[core] += bytes;
      }
    }
    for (CoreIndex core = 0; core < resident.size(); ++core) {
      const CoreClass& of = device_.classes[device_.ClassOf(core)];
      const bool apart = of.resident_bytes > 0;
      const std::int64_t room = apart ? of.resident_bytes : of.sram_bytes;
      if (resident[core] <= static_cast<double>(room)) continue;
      findings_.Error(path.At("residency"),
                      "weights of " + Whole(resident[core]) + " bytes stay on core " +
                          device_.CoreName(core) + ", which has " + std::to_string(room) +
                          " bytes of SRAM" + (apart ? " set aside for them" : ""));
      return;
    }
  }

  bool CheckPlacement(const Path& path, const plan::Placement& placement) {
    bool ok = true;
    for (std::size_t c = 0; c < placement.cores.size(); ++c) {
      const auto cores = ResolveCores(placement.cores[c], device_);
      if (cores.ok()) continue;
      findings_.Error(path.At("cores", c), std::string(cores.status().message()));
      ok = false;
    }
    return ok;
  }

  // A profile says what the compiler expects or has measured, elsewhere perhaps: a warning.
  void CheckProfile(const Path& path, const plan::Entry& entry, const plan::Group& group) {
    const auto resolved = ResolveGroup(entry, group, device_);
    if (!resolved.ok()) return;
    for (std::size_t i = 0; i < group.profile.size(); ++i) {
      const std::int64_t peak = group.profile[i].sram_peak_bytes;
      for (const CoreIndex core : resolved->allowed) {
        const CoreClass& of = device_.classes[device_.ClassOf(core)];
        if (peak <= of.sram_bytes) continue;
        const Path point = path.At("points", i);
        findings_.Warning(point.At("sram_peak_bytes"), std::to_string(peak) + " bytes exceed the " +
                                                           std::to_string(of.sram_bytes) +
                                                           " bytes of SRAM of core class " +
                                                           Quote(of.name) + ", on which group " +
                                                           Quote(group.name) + " may run");
        return;
      }
    }
  }

  // On every class that the group may run on.
  bool CheckCost(const Path& path, const plan::Entry& entry, const plan::Group& group,
                 const DimValues& dims) {
    const auto resolved = ResolveGroup(entry, group, device_);
    if (!resolved.ok()) {
      findings_.Error(path.At("placement"), std::string(resolved.status().message()));
      return false;
    }
    std::size_t checked = device_.classes.size();
    for (const CoreIndex core : resolved->allowed) {
      const std::size_t of = device_.ClassOf(core);
      if (of == checked) continue;
      checked = of;
      const CoreClass& core_class = device_.classes[of];
      const auto cost = GroupCost(plan_, entry, group, dims, group.shards(dims), core_class,
                                  device_, FoundOn(kept_, core_class));
      if (cost.ok()) continue;
      findings_.Error(path, std::string(cost.status().message()) + AtDims(dims));
      return false;
    }
    return true;
  }

  bool CheckDram(const Path& path, const plan::Entry& entry, const plan::Variant& variant,
                 const DimValues& dims) {
    const auto weights = static_cast<double>(plan_.WeightBytes());
    const double state = StateBytes(plan_, dims);
    const double activations = PeakActivations(plan_, entry, variant, dims);
    const double need = weights + state + runs_ * activations;
    if (need <= static_cast<double>(device_.dram_capacity_bytes)) return true;
    findings_.Error(path, "needs " + Whole(need) + " bytes of DRAM" + AtDims(dims) + " (weights " +
                              Whole(weights) + ", state " + Whole(state) + ", " +
                              std::to_string(runs_) + " concurrent runs of " + Whole(activations) +
                              "), device " + Quote(device_.name) + " has " +
                              std::to_string(device_.dram_capacity_bytes));
    return false;
  }

  std::string AtDims(const DimValues& dims) const {
    std::string text = " at ";
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (i > 0) text += ", ";
      text += plan_.dims[i].name + " = " + std::to_string(dims[i]);
    }
    return dims.empty() ? std::string() : text;
  }

  const plan::Body& plan_;
  const Spec& device_;
  int runs_;
  plan::Findings& findings_;
  std::vector<KeptWeight> kept_;  // of the variant being looked at
};

// What a group adds to its operators' own needs: inner moves pass through the lanes.
bool MovesInside(const plan::Entry& entry, const plan::Group& group) {
  return group.ops.size() > 1 &&
         std::any_of(group.ops.begin(), group.ops.end(), [&](plan::Index op) {
           const auto* move = std::get_if<plan::Move>(&entry.operators[op].work);
           return move != nullptr && !(move->bytes.is_constant() && move->bytes({}) == 0);
         });
}

bool Meets(const CoreClass& core, Needs needs) {
  if (core.host || needs.host) return core.host == needs.host;
  return (!needs.matrix || core.arrays > 0) && (!needs.vector || core.vector_lanes > 0) &&
         (!needs.compute || core.computes());
}

std::string UnitsOf(Needs needs) {
  if (needs.host) return "a host's processor beside it, for HOST work";
  if (!needs.vector && !needs.matrix) return "a unit that computes";
  if (!needs.vector) return "a matrix unit";
  return needs.matrix ? "both a matrix and a vector unit" : "a vector unit";
}

}  // namespace

Result<std::vector<CoreIndex>> ResolveCores(const plan::CoreRef& ref, const Spec& device) {
  const std::string where = "device " + Quote(device.name);
  if (ref.device.value_or(0) != 0) {
    return base::NotFound(where + " is device 0, and there is no device " +
                          std::to_string(*ref.device));
  }
  CoreIndex first = 0;
  std::size_t count = device.accelerator_count();
  if (!ref.core_class.empty()) {
    const auto found = device.FindClass(ref.core_class);
    if (!found) {
      return base::NotFound(where + " has no core class " + Quote(ref.core_class) +
                            "; it has: " + ListClasses(device));
    }
    first = device.classes[*found].first_core;
    count = device.classes[*found].count;
  }
  if (ref.index && *ref.index >= count) {
    const std::string of =
        ref.core_class.empty() ? std::string() : " of class " + Quote(ref.core_class);
    return base::NotFound(where + " has no core " + std::to_string(*ref.index) + of + "; it has " +
                          std::to_string(count));
  }
  std::vector<CoreIndex> cores;
  const std::size_t begin = ref.index.value_or(0);
  const std::size_t end = ref.index ? begin + 1 : count;
  for (std::size_t i = begin; i < end; ++i) cores.push_back(first + static_cast<CoreIndex>(i));
  return cores;
}

Needs NeedsOf(const plan::Operator& op) {
  Needs needs;
  needs.host = IsHostWork(op);
  needs.compute = !needs.host && !std::holds_alternative<plan::Move>(op.work);
  needs.matrix =
      std::holds_alternative<plan::Gemm>(op.work) || std::holds_alternative<plan::Conv>(op.work);
  if (const auto* vector = std::get_if<plan::Vector>(&op.work)) {
    needs.vector = vector->ops_per_element > 0;
  } else if (const auto* reduce = std::get_if<plan::Reduce>(&op.work)) {
    needs.vector = reduce->ops_per_element > 0;
  }
  return needs;
}

void CheckFit(const plan::Body& plan, const Spec& device, int concurrent_runs,
              plan::Findings& findings) {
  if (!HasHostWork(plan)) return Fit(plan, device, concurrent_runs, findings).Run();
  const Spec with_host = WithHost(device);
  Fit(plan, with_host, concurrent_runs, findings).Run();
}

std::vector<Finding> CheckFit(const plan::Body& plan, const Spec& device, int concurrent_runs) {
  plan::Findings findings;
  CheckFit(plan, device, concurrent_runs, findings);
  return findings.Take().findings;
}

Result<ResolvedPlacement> ResolvePlacement(const plan::Placement& placement, const Spec& device,
                                           Needs needs) {
  std::vector<CoreIndex> named;
  for (const plan::CoreRef& ref : placement.cores) {
    LEEWAY_ASSIGN_OR_RETURN(const std::vector<CoreIndex> cores, ResolveCores(ref, device));
    for (const CoreIndex core : cores) {
      const CoreClass& of = device.classes[device.ClassOf(core)];
      if (of.host == needs.host) continue;
      return base::InvalidArgument(needs.host
                                       ? "HOST work runs on processors of the host, not on core " +
                                             device.CoreName(core) + " of the accelerator"
                                       : "core " + device.CoreName(core) +
                                             " is a processor of the host, for HOST work alone");
    }
    named.insert(named.end(), cores.begin(), cores.end());
  }
  const auto is_named = [&](CoreIndex core) {
    return std::find(named.begin(), named.end(), core) != named.end();
  };
  const auto class_is_named = [&](CoreIndex core) {
    return std::any_of(named.begin(), named.end(), [&](CoreIndex other) {
      return device.ClassOf(other) == device.ClassOf(core);
    });
  };
  if (placement.mode == plan::PlacementMode::kPinned && named.empty()) {
    return base::InvalidArgument("a PINNED placement names no core");
  }
  ResolvedPlacement resolved;
  for (CoreIndex core = 0; core < device.core_count(); ++core) {
    const bool able = Meets(device.classes[device.ClassOf(core)], needs);
    const bool preferred = placement.mode == plan::PlacementMode::kPreferred;
    const bool allowed = named.empty() ? able : preferred ? class_is_named(core) : is_named(core);
    if (!allowed) continue;
    const CoreClass& of = device.classes[device.ClassOf(core)];
    if (needs.compute && !of.computes()) {
      return base::FailedPrecondition("core class " + Quote(of.name) + " only moves data");
    }
    resolved.allowed.push_back(core);
  }
  if (resolved.allowed.empty()) {
    return base::FailedPrecondition("device " + Quote(device.name) + " has no core with " +
                                    UnitsOf(needs));
  }
  if (placement.mode != plan::PlacementMode::kAny) resolved.planned = std::move(named);
  return resolved;
}

Result<ResolvedPlacement> ResolveGroup(const plan::Entry& entry, const plan::Group& group,
                                       const Spec& device) {
  Needs needs;
  for (const plan::Index op : group.ops) {
    const Needs own = NeedsOf(entry.operators[op]);
    needs.host = needs.host || own.host;
    needs.matrix = needs.matrix || own.matrix;
    needs.vector = needs.vector || own.vector;
    needs.compute = needs.compute || own.compute;
  }
  needs.vector = needs.vector || MovesInside(entry, group);
  // Work that the group states itself stands for its operators' and runs on any unit.
  if (group.work) needs.vector = false;
  auto resolved = ResolvePlacement(group.placement, device, needs);
  if (resolved.ok()) return resolved;
  return Status(resolved.status().code(),
                "group " + Quote(group.name) + ": " + std::string(resolved.status().message()));
}

}  // namespace leeway::device
