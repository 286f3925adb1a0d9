#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "plan/reader.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

const Call* AsCall(const Operator& op) { return std::get_if<Call>(&op.work); }

// `order` has callees before their callers.
bool CheckDepth(const Body& body, const std::vector<std::vector<Index>>& callees,
                const std::vector<Index>& order, Findings& findings) {
  std::vector<std::size_t> depth(body.entries.size(), 1);
  for (const Index entry : order) {
    for (const Index callee : callees[entry]) {
      depth[entry] = std::max(depth[entry], depth[callee] + 1);
    }
    if (depth[entry] <= kMaxCallDepth) continue;
    const Path plan("");
    findings.Error(plan.At("entries", entry), "calls of entry " + Quote(body.entries[entry].name) +
                                                  " nest " + std::to_string(depth[entry]) +
                                                  " deep; at most " +
                                                  std::to_string(kMaxCallDepth));
    return false;
  }
  return true;
}

bool CheckRecursion(const Body& body, Findings& findings) {
  std::vector<std::vector<Index>> callees(body.entries.size());
  for (Index i = 0; i < body.entries.size(); ++i) {
    for (const Operator& op : body.entries[i].operators) {
      const Call* call = AsCall(op);
      if (call != nullptr) callees[i].push_back(call->entry);
    }
    std::sort(callees[i].begin(), callees[i].end());
    callees[i].erase(std::unique(callees[i].begin(), callees[i].end()), callees[i].end());
  }
  Order order = TopologicalOrder(
      callees.size(), [&](Index entry) -> std::span<const Index> { return callees[entry]; });
  if (order.cycle.empty()) return CheckDepth(body, callees, order.nodes, findings);
  // An edge of the order is "is called by": reversed it reads "calls".
  std::reverse(order.cycle.begin(), order.cycle.end());
  StartAtSmallest(order.cycle);
  const Path plan("");
  findings.Error(plan.At("entries", order.cycle.front()),
                 "calls recurse: " + ShowCycle(order.cycle, [&](Index entry) {
                   return std::string_view(body.entries[entry].name);
                 }));
  return false;
}

// Describes the dim by which `callee` fails to cover `caller`; empty where it covers.
std::string Uncovered(const Body& body, const Variant& caller, const Variant& callee) {
  for (std::size_t i = 0; i < body.dims.size(); ++i) {
    const Range& inner = caller.envelope[i];
    const Range& outer = callee.envelope[i];
    if (outer.min <= inner.min && inner.max <= outer.max) continue;
    return "[" + std::to_string(inner.min) + ", " + std::to_string(inner.max) + "] of dimension " +
           Quote(body.dims[i].name) + " leaves the callee's [" + std::to_string(outer.min) + ", " +
           std::to_string(outer.max) + "]";
  }
  return "";
}

void CheckCall(const Body& body, const Path& path, const Variant& caller, Index entry,
               Findings& findings) {
  const std::optional<Index> called = body.CalledVariant(caller, entry);
  const std::string callee = "entry " + Quote(body.entries[entry].name);
  if (!called) {
    findings.Error(path, callee + " has no variant named " + Quote(caller.name) +
                             " and none whose envelope covers that of its caller");
    return;
  }
  const Variant& variant = body.entries[entry].variants[*called];
  const std::string gap = Uncovered(body, caller, variant);
  if (!gap.empty()) {
    findings.Error(path, "variant " + Quote(variant.name) + " of " + callee +
                             " does not cover its caller: " + gap);
  }
}

void CheckVariantCalls(const Body& body, const Path& path, const Entry& entry,
                       const Variant& variant, Findings& findings) {
  absl::flat_hash_set<Index> checked;
  for (std::size_t g = 0; g < variant.groups.size(); ++g) {
    for (const Index op : variant.groups[g].ops) {
      const Call* call = op == kUnresolved ? nullptr : AsCall(entry.operators[op]);
      if (call == nullptr) continue;
      const Path at = path.At("fusion_groups", g);
      if (variant.groups[g].ops.size() > 1) {
        findings.Error(at.At("ops"), "operator " + Quote(entry.operators[op].name) +
                                         " is a CALL and not alone in its group");
      }
      if (checked.insert(call->entry).second) {
        CheckCall(body, at, variant, call->entry, findings);
      }
    }
  }
}

}  // namespace

void CheckCalls(const Body& body, Findings& findings) {
  if (!CheckRecursion(body, findings)) return;
  const Path plan("");
  for (std::size_t e = 0; e < body.entries.size(); ++e) {
    const Entry& entry = body.entries[e];
    const Path path = plan.At("entries", e);
    for (std::size_t v = 0; v < entry.variants.size(); ++v) {
      CheckVariantCalls(body, path.At("variants", v), entry, entry.variants[v], findings);
    }
  }
}

}  // namespace leeway::plan
