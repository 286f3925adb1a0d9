#include "plan/validate.h"

#include <algorithm>
#include <utility>

namespace leeway::plan {
namespace {

void CheckAliases(const Body& body, Findings& findings) {
  const Path plan("");
  for (std::size_t i = 0; i < body.tensors.size(); ++i) {
    const Tensor& tensor = body.tensors[i];
    if (!tensor.alias_of) continue;
    const Tensor& base = body.tensors[*tensor.alias_of];
    const Path path = plan.At("tensors", i);
    if (base.alias_of) {
      findings.Error(path.At("alias_of"), "tensor " + Quote(tensor.name) + " is a view of " +
                                              Quote(base.name) + ", which is a view itself");
    } else if (base.kind != tensor.kind &&
               (base.kind == TensorKind::kWeight || tensor.kind == TensorKind::kWeight)) {
      findings.Error(path.At("alias_of"), "tensor " + Quote(tensor.name) + " and " +
                                              Quote(base.name) + ": only one of them is a weight");
    }
  }
}

void Remap(std::vector<Index>& indices, const std::vector<Index>& position) {
  for (Index& index : indices) index = position[index];
  std::sort(indices.begin(), indices.end());
}

// Sorts the operators into `order` and renumbers every reference to them.
void SortOperators(const std::vector<Index>& order, Entry& entry) {
  std::vector<Index> position(order.size());
  for (Index i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (Index i = 0; i < order.size(); ++i) entry.operators[i].listed = i;
  if (!std::is_sorted(order.begin(), order.end())) {
    std::vector<Operator> sorted;
    sorted.reserve(order.size());
    for (const Index op : order) sorted.push_back(std::move(entry.operators[op]));
    entry.operators = std::move(sorted);
    for (Operator& op : entry.operators) Remap(op.predecessors, position);
  }
  for (Variant& variant : entry.variants) {
    for (Group& group : variant.groups) {
      Remap(group.ops, position);
      Remap(group.recomputed, position);
    }
    for (Elided& elided : variant.elided) elided.op = position[elided.op];
  }
}

void ValidateEntry(const Body& body, const Path& path, Entry& entry, std::vector<Index>& slots,
                   LifetimeBudget& budget, Findings& findings) {
  const TensorUses uses(body, entry, slots);
  LinkOperators(body, uses, path, entry, findings);
  const Order order = TopologicalOrder(
      entry.operators.size(),
      [&](Index op) -> std::span<const Index> { return entry.operators[op].predecessors; });
  if (!order.cycle.empty()) {
    findings.Error(path.At("operators", order.cycle.front()),
                   "operators wait for each other: " + ShowCycle(order.cycle, [&](Index op) {
                     return std::string_view(entry.operators[op].name);
                   }));
    return;
  }
  VariantChecker checker(body, entry, uses, order.nodes, budget, findings);
  for (std::size_t i = 0; i < entry.variants.size(); ++i) {
    checker.Check(path.At("variants", i), entry.variants[i]);
  }
  if (entry.variants.empty() && !entry.internal) {
    findings.Warning(path.At("variants"), "entry " + Quote(entry.name) +
                                              " has no variant: every request would fall back");
  }
  if (!findings.ok()) return;
  WarnOfDeadOperators(body, uses, path, entry, findings);
  SortOperators(order.nodes, entry);
}

}  // namespace

void Validate(Body& body, Findings& findings) {
  CheckAliases(body, findings);
  CheckCalls(body, findings);
  CheckHostWork(body, findings);
  std::vector<Index> slots(body.tensors.size(), kNone);
  LifetimeBudget budget = std::size_t{1} << 24;
  const Path plan("");
  for (std::size_t i = 0; i < body.entries.size(); ++i) {
    ValidateEntry(body, plan.At("entries", i), body.entries[i], slots, budget, findings);
  }
  CheckReachable(body, findings);
  if (findings.ok()) CheckSteps(body, findings);
  if (findings.ok()) WarnOfUnused(body, findings);
}

}  // namespace leeway::plan
