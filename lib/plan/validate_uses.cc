// What a plan declares against what it uses.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "plan/expr_range.h"
#include "plan/reader.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

struct TensorFlags {
  std::vector<char> used, written;
};

TensorFlags FlagsOf(const Body& body) {
  TensorFlags flags{std::vector<char>(body.tensors.size(), 0),
                    std::vector<char>(body.tensors.size(), 0)};
  for (const Entry& entry : body.entries) {
    for (const Operator& op : entry.operators) {
      for (const Index tensor : op.inputs) flags.used[tensor] = 1;
      for (const Index tensor : op.outputs) flags.used[tensor] = flags.written[tensor] = 1;
    }
  }
  for (std::size_t i = 0; i < body.tensors.size(); ++i) {
    if (body.tensors[i].quantizes) flags.used[i] = 1;
    const std::optional<Index>& base = body.tensors[i].alias_of;
    if (!base) continue;
    if (flags.used[i] != 0) flags.used[*base] = 1;
    if (flags.written[*base] != 0) flags.written[i] = 1;
  }
  return flags;
}

// Sees every expression of a plan.
template <typename See>
void ForEachSize(const Work& work, const See& see) {
  std::visit(
      [&](const auto& of) {
        using Kind = std::decay_t<decltype(of)>;
        if constexpr (std::is_same_v<Kind, Gemm>) {
          for (const Expr* size : {&of.m, &of.n, &of.k, &of.count}) see(*size);
        } else if constexpr (std::is_same_v<Kind, Conv>) {
          for (const Expr* size :
               {&of.n, &of.h, &of.w, &of.c, &of.filters, &of.kernel_h, &of.kernel_w}) {
            see(*size);
          }
        } else if constexpr (std::is_same_v<Kind, Vector>) {
          see(of.elements);
        } else if constexpr (std::is_same_v<Kind, Reduce>) {
          see(of.elements);
          see(of.outputs);
        } else if constexpr (std::is_same_v<Kind, Move>) {
          see(of.bytes);
          if (of.contiguous_bytes) see(*of.contiguous_bytes);
        } else if constexpr (std::is_same_v<Kind, Collective>) {
          see(of.bytes);
          see(of.participants);
        } else if constexpr (std::is_same_v<Kind, SendReceive>) {
          see(of.bytes);
        } else if constexpr (std::is_same_v<Kind, Call>) {
          see(of.times);
        } else if constexpr (std::is_same_v<Kind, Custom>) {
          see(of.flops);
          see(of.bytes);
        }
      },
      work);
}

template <typename See>
void ForEachSize(const Group& group, const See& see) {
  see(group.shards);
  see(group.workspace_bytes);
  if (group.cost_ns) see(*group.cost_ns);
  if (!group.work) return;
  for (const Expr* size : {&group.work->flops, &group.work->read_bytes, &group.work->write_bytes,
                           &group.work->scratch_bytes}) {
    see(*size);
  }
}

template <typename See>
void ForEachSize(const Body& body, const See& see) {
  for (const Tensor& tensor : body.tensors) see(tensor.elements);
  for (const Entry& entry : body.entries) {
    for (const Operator& op : entry.operators) ForEachSize(op.work, see);
    for (const Variant& variant : entry.variants) {
      for (const Constraint& constraint : variant.constraints) see(constraint.expr);
      for (const Group& group : variant.groups) ForEachSize(group, see);
    }
  }
}

// True if some group states its times by points: dims that no size uses may matter to those.
bool HasPoints(const Body& body) {
  for (const Entry& entry : body.entries) {
    for (const Variant& variant : entry.variants) {
      for (const Group& group : variant.groups) {
        if (!group.profile.empty()) return true;
      }
    }
  }
  return false;
}

void WarnOfUnusedDims(const Body& body, Findings& findings) {
  if (HasPoints(body)) return;
  std::vector<char> used(body.dims.size(), 0);
  ForEachSize(body, [&](const Expr& expr) {
    for (const Expr::Instruction& i : expr.program()) {
      if (i.op == Expr::Op::kSymbol) used[static_cast<std::size_t>(i.operand)] = 1;
    }
  });
  const Path plan("");
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] != 0) continue;
    findings.Warning(plan.At("dims", i),
                     "no size depends on dimension " + Quote(body.dims[i].name));
  }
}

void WarnOfUnusedTensors(const Body& body, Findings& findings) {
  const TensorFlags flags = FlagsOf(body);
  const Path plan("");
  for (std::size_t i = 0; i < body.tensors.size(); ++i) {
    if (flags.used[i] != 0) continue;
    findings.Warning(plan.At("tensors", i),
                     "no operator uses tensor " + Quote(body.tensors[i].name));
  }
}

void WarnOfUncalledEntries(const Body& body, Findings& findings) {
  std::vector<char> called(body.entries.size(), 0);
  for (const Entry& entry : body.entries) {
    for (const Operator& op : entry.operators) {
      if (const Call* call = std::get_if<Call>(&op.work)) called[call->entry] = 1;
    }
  }
  const Path plan("");
  for (std::size_t i = 0; i < body.entries.size(); ++i) {
    if (!body.entries[i].internal || called[i] != 0) continue;
    findings.Warning(plan.At("entries", i), "entry " + Quote(body.entries[i].name) +
                                                " is internal and no operator calls it");
  }
}

std::string Bounds(std::int64_t min, std::int64_t max) {
  return "[" + std::to_string(min) + ", " + std::to_string(max) + "]";
}

// Reports a constraint that no dims of the envelope meet, as far as intervals show it.
void WarnOfEmptyConstraint(const Path& path, const Variant& variant, const Constraint& constraint,
                           Findings& findings) {
  std::vector<Interval> envelope;
  for (const Range& range : variant.envelope) envelope.push_back({range.min, range.max});
  const Result<Interval> range = RangeOf(constraint.expr, envelope);
  if (!range.ok()) return;
  const std::int64_t low = std::max(range->lo, constraint.min);
  const std::int64_t high = std::min(range->hi, constraint.max);
  const std::string expr = "the constraint is within " + Bounds(range->lo, range->hi);
  if (low > high) {
    findings.Warning(path, expr + ", never within " + Bounds(constraint.min, constraint.max) +
                               ": no request gets variant " + Quote(variant.name));
  } else if (low == high && low % constraint.multiple_of != 0) {
    findings.Warning(path, "the constraint allows " + std::to_string(low) +
                               " only, no multiple of " + std::to_string(constraint.multiple_of) +
                               ": no request gets variant " + Quote(variant.name));
  }
}

// Equal for variants that are open to the same requests.
std::string CoverKey(const Variant& variant) {
  std::string key;
  const auto add = [&key](std::int64_t value) { key.append(std::to_string(value)) += ' '; };
  for (const Range& range : variant.envelope) {
    add(range.min);
    add(range.max);
    add(static_cast<int>(range.mode));
    add(range.granule);
  }
  for (const Constraint& constraint : variant.constraints) {
    const Expr canonical = constraint.expr.Canonical();
    for (const Expr::Instruction& i : canonical.program()) {
      add(static_cast<int>(i.op));
      add(i.operand);
    }
    add(constraint.min);
    add(constraint.max);
    add(constraint.multiple_of);
  }
  return key;
}

void WarnOfVariants(const Path& path, const Entry& entry, Findings& findings) {
  std::map<std::string, std::string_view> seen;
  for (std::size_t v = 0; v < entry.variants.size(); ++v) {
    const Variant& variant = entry.variants[v];
    const Path at = path.At("variants", v);
    for (std::size_t c = 0; c < variant.constraints.size(); ++c) {
      WarnOfEmptyConstraint(at.At("constraints", c), variant, variant.constraints[c], findings);
    }
    // What calls run is chosen by name.
    if (entry.internal) continue;
    const auto [same, added] = seen.try_emplace(CoverKey(variant), variant.name);
    if (added) continue;
    findings.Warning(at, "variant " + Quote(variant.name) + " is open to the same requests as " +
                             Quote(same->second) + ": the one predicted slower is never run");
  }
}

}  // namespace

void CheckReachable(const Body& body, Findings& findings) {
  const Path plan("");
  const TensorFlags flags = FlagsOf(body);
  for (std::size_t i = 0; i < body.tensors.size(); ++i) {
    if (body.tensors[i].kind != TensorKind::kOutput || flags.written[i] != 0) continue;
    findings.Error(plan.At("tensors", i),
                   "output " + Quote(body.tensors[i].name) + " is produced by no operator");
  }
  if (!body.entries.empty() && std::all_of(body.entries.begin(), body.entries.end(),
                                           [](const Entry& entry) { return entry.internal; })) {
    findings.Error(plan.At("entries"), "every entry is internal: there is none for requests");
  }
}

void WarnOfUnused(const Body& body, Findings& findings) {
  WarnOfUnusedDims(body, findings);
  WarnOfUnusedTensors(body, findings);
  WarnOfUncalledEntries(body, findings);
  const Path plan("");
  for (std::size_t e = 0; e < body.entries.size(); ++e) {
    WarnOfVariants(plan.At("entries", e), body.entries[e], findings);
  }
}

void WarnOfDeadOperators(const Body& body, const TensorUses& uses, const Path& path,
                         const Entry& entry, Findings& findings) {
  std::vector<char> awaited(entry.operators.size(), 0);
  for (const Operator& op : entry.operators) {
    for (const Index before : op.predecessors) awaited[before] = 1;
  }
  for (std::size_t i = 0; i < entry.operators.size(); ++i) {
    const Operator& op = entry.operators[i];
    // What writes nothing is there for its effect.
    const bool dead = awaited[i] == 0 && !op.outputs.empty() &&
                      std::all_of(op.outputs.begin(), op.outputs.end(), [&](Index tensor) {
                        const TensorKind kind = body.tensors[uses.Stored(tensor)].kind;
                        return kind == TensorKind::kActivation && !uses.IsRead(tensor);
                      });
    if (!dead) continue;
    findings.Warning(path.At("operators", i),
                     "nothing reads what operator " + Quote(op.name) + " writes");
  }
}

}  // namespace leeway::plan
