#include "device/plan_fit.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "device/host.h"
#include "device/largest_dims.h"
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

// The cores that a reference names, rising.
Result<std::vector<CoreIndex>> CoresOf(const plan::CoreRef& ref, const Spec& device) {
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

// Peaks at one set of dims by variant: what is called often is looked at once.
using Peaks = absl::flat_hash_map<const plan::Variant*, double>;

double CalledPeak(const plan::Body& plan, const plan::Entry& entry, const plan::Variant& variant,
                  std::size_t group, const DimValues& dims, Peaks& peaks);

// Bytes that a run of the variant holds in DRAM at once, step by step, beside weights and state.
double PeakActivations(const plan::Body& plan, const plan::Entry& entry,
                       const plan::Variant& variant, const DimValues& dims, Peaks& peaks) {
  if (const auto known = peaks.find(&variant); known != peaks.end()) return known->second;
  struct Life {
    std::size_t begin = 0, end = 0;
    bool used = false;
  };
  std::vector<Life> lives(plan.tensors.size());
  const std::size_t groups = variant.groups.size();
  const auto touch = [&](plan::Index tensor, std::size_t group) {
    // A view lives as long as what it is a view of.
    for (std::size_t hop = 0; hop < plan.tensors.size() && plan.tensors[tensor].alias_of; ++hop) {
      tensor = *plan.tensors[tensor].alias_of;
    }
    const plan::TensorKind kind = plan.tensors[tensor].kind;
    if (kind == plan::TensorKind::kWeight || kind == plan::TensorKind::kState) return;
    Life& life = lives[tensor];
    if (!life.used) life = {group, group, true};
    // Inputs are there from the start, outputs until the end.
    if (kind == plan::TensorKind::kInput) life.begin = 0;
    life.end = kind == plan::TensorKind::kOutput ? groups - 1 : std::max(life.end, group);
  };
  for (std::size_t g = 0; g < groups; ++g) {
    for (const plan::Index tensor : variant.groups[g].reads) touch(tensor, g);
    for (const plan::Index tensor : variant.groups[g].writes) touch(tensor, g);
  }
  std::vector<double> change(groups + 1, 0);
  for (std::size_t t = 0; t < lives.size(); ++t) {
    if (!lives[t].used) continue;
    const auto bytes = static_cast<double>(plan.tensors[t].Bytes(dims));
    change[lives[t].begin] += bytes;
    change[lives[t].end + 1] -= bytes;
  }
  double alive = 0;
  double peak = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    alive += change[g];
    const auto workspace = static_cast<double>(variant.groups[g].workspace_bytes(dims));
    peak = std::max(peak, alive + workspace + CalledPeak(plan, entry, variant, g, dims, peaks));
  }
  peaks[&variant] = peak;
  return peak;
}

// What a CALL runs holds its own inputs and outputs too: they may be copies of the caller's.
double CalledPeak(const plan::Body& plan, const plan::Entry& entry, const plan::Variant& variant,
                  std::size_t group, const DimValues& dims, Peaks& peaks) {
  const plan::Call* call = plan::CallOf(entry, variant.groups[group]);
  if (call == nullptr) return 0;
  const auto called = plan.CalledVariant(variant, call->entry);
  if (!called) return 0;
  const plan::Entry& callee = plan.entries[call->entry];
  return PeakActivations(plan, callee, callee.variants[*called], dims, peaks);
}

double StateBytes(const plan::Body& plan, const DimValues& dims) {
  double bytes = 0;
  for (const plan::Tensor& tensor : plan.tensors) {
    if (tensor.kind != plan::TensorKind::kState || tensor.alias_of) continue;
    bytes += static_cast<double>(tensor.Bytes(dims));
  }
  return bytes;
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

  // Weights that stay on a core must fit its SRAM together. Without cores they stay on all.
  void CheckResidency(const Path& path, const plan::Variant& variant) {
    std::vector<double> resident(device_.core_count(), 0);
    for (std::size_t i = 0; i < variant.residency.size(); ++i) {
      const plan::Residency& residency = variant.residency[i];
      const auto bytes = static_cast<double>(plan_.tensors[residency.tensor].Bytes({}));
      std::vector<plan::CoreRef> refs = residency.cores;
      if (refs.empty()) refs.emplace_back();
      std::vector<char> holds(resident.size(), 0);
      for (std::size_t c = 0; c < refs.size(); ++c) {
        const auto cores = CoresOf(refs[c], device_);
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
      if (resident[core] <= static_cast<double>(of.sram_bytes)) continue;
      findings_.Error(path.At("residency"), "weights of " + Whole(resident[core]) +
                                                " bytes stay on core " + device_.CoreName(core) +
                                                ", which has " + std::to_string(of.sram_bytes) +
                                                " bytes of SRAM");
      return;
    }
  }

  bool CheckPlacement(const Path& path, const plan::Placement& placement) {
    bool ok = true;
    for (std::size_t c = 0; c < placement.cores.size(); ++c) {
      const auto cores = CoresOf(placement.cores[c], device_);
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
      const auto cost =
          GroupCost(plan_, entry, group, dims, group.shards(dims), device_.classes[of], device_);
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
    Peaks peaks;
    const double activations = PeakActivations(plan_, entry, variant, dims, peaks);
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
  return (!needs.matrix || core.arrays > 0) && (!needs.vector || core.vector_lanes > 0);
}

std::string UnitsOf(Needs needs) {
  if (needs.host) return "a host's processor beside it, for HOST work";
  if (!needs.vector) return "a matrix unit";
  return needs.matrix ? "both a matrix and a vector unit" : "a vector unit";
}

}  // namespace

Needs NeedsOf(const plan::Operator& op) {
  Needs needs;
  needs.host = IsHostWork(op);
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
    LEEWAY_ASSIGN_OR_RETURN(const std::vector<CoreIndex> cores, CoresOf(ref, device));
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
    if (allowed) resolved.allowed.push_back(core);
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
