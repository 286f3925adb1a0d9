#include "compile/entry_graph.h"

#include <algorithm>
#include <variant>

#include "plan/graph.h"

namespace leeway::compile {
namespace {

bool Contains(std::span<const plan::Index> rising, plan::Index op) {
  return std::binary_search(rising.begin(), rising.end(), op);
}

void SortUnique(std::vector<plan::Index>& indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

}  // namespace

EntryGraph::EntryGraph(const plan::Body& body, plan::Index index)
    : body_(&body), index_(index), operators_(body.entries[index].operators.size()) {
  CollectUses();
  CollectStated();
}

// What VariantChecker (plan/validate.h) needs to know of a group, by operator.
void EntryGraph::CollectUses() {
  std::vector<plan::Index> slots(body_->tensors.size(), plan::kNone);
  const plan::TensorUses uses(*body_, entry(), slots);
  std::vector<std::vector<plan::Index>> readers(uses.size());
  std::vector<char> state_read(uses.size(), 0);
  for (plan::Index op = 0; op < size(); ++op) {
    for (const plan::Index tensor : entry().operators[op].inputs) {
      const bool state = body_->tensors[tensor].kind == plan::TensorKind::kState;
      operators_[op].inputs.push_back({tensor, uses.Producer(tensor), state});
      const plan::Index stored = uses.Slot(uses.Stored(tensor));
      readers[stored].push_back(op);
      if (state) state_read[stored] = 1;
    }
  }
  for (plan::Index op = 0; op < size(); ++op) {
    for (const plan::Index tensor : entry().operators[op].outputs) {
      const plan::Index slot = uses.Slot(tensor);
      const bool kept = body_->tensors[tensor].kind != plan::TensorKind::kActivation ||
                        !uses.IsRead(tensor) || state_read[slot] != 0;
      operators_[op].outputs.push_back({tensor, kept, readers[slot]});
    }
  }
}

// The first variant that states an operator's work has the word; measured points of all variants
// together say more than those of one.
void EntryGraph::CollectStated() {
  for (const plan::Variant& variant : entry().variants) {
    for (const plan::Group& group : variant.groups) {
      if (group.ops.size() != 1 || CallOf(group.ops[0]) != nullptr) continue;
      std::optional<plan::Group>& stated = operators_[group.ops[0]].stated;
      const bool measured = SaysNothing(entry(), group.ops) && !group.work &&
                            (!group.profile.empty() || group.cost_ns);
      if (stated && measured && !stated->work && !stated->cost_ns) {
        stated->profile.insert(stated->profile.end(), group.profile.begin(), group.profile.end());
      }
      if (stated || (!group.work && !measured)) continue;
      stated.emplace();
      stated->work = group.work;
      if (!measured) continue;
      stated->profile = group.profile;
      stated->cost_ns = group.cost_ns;
      stated->shards = group.shards;
    }
  }
}

const plan::Call* EntryGraph::CallOf(plan::Index op) const {
  return std::get_if<plan::Call>(&entry().operators[op].work);
}

bool EntryGraph::StandsAlone(plan::Index op) const {
  return CallOf(op) != nullptr || operators_[op].stated.has_value();
}

bool EntryGraph::Feeds(plan::Index producer, plan::Index consumer) const {
  const std::vector<Input>& inputs = operators_[consumer].inputs;
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Input& input) { return input.producer == producer; });
}

plan::Group EntryGraph::MakeGroup(std::span<const plan::Index> ops) const {
  plan::Group group;
  group.ops.assign(ops.begin(), ops.end());
  group.shards = plan::Expr::Constant(1);
  for (const plan::Index op : ops) {
    for (const Input& input : operators_[op].inputs) {
      // What a state held before the run is read even where the group updates it.
      const bool inner = input.producer != plan::kNone && Contains(ops, input.producer);
      if (!inner || input.state) group.reads.push_back(input.tensor);
    }
    for (const Output& output : operators_[op].outputs) {
      const bool read_outside =
          std::any_of(output.readers.begin(), output.readers.end(),
                      [&](plan::Index reader) { return !Contains(ops, reader); });
      if (output.kept || read_outside) group.writes.push_back(output.tensor);
    }
  }
  SortUnique(group.reads);
  SortUnique(group.writes);
  if (ops.size() != 1 || !operators_[ops[0]].stated) return group;
  const plan::Group& stated = *operators_[ops[0]].stated;
  group.work = stated.work;
  group.profile = stated.profile;
  group.cost_ns = stated.cost_ns;
  if (!stated.work) group.shards = stated.shards;
  return group;
}

bool SaysNothing(const plan::Entry& entry, std::span<const plan::Index> ops) {
  return std::all_of(ops.begin(), ops.end(), [&](plan::Index op) {
    return std::holds_alternative<std::monostate>(entry.operators[op].work);
  });
}

}  // namespace leeway::compile
