#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/reader.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

constexpr Index kMany = kNone - 1;

// Waits that pass through elided operators are listed per operator: a plan in which they outgrow
// the plan itself by far is refused rather than paid for.
constexpr std::size_t kMaxElidedEdges = std::size_t{1} << 22;

Index Merge(Index consumer, Index other) {
  if (consumer == kNone) return other;
  return consumer == other || other == kNone ? consumer : kMany;
}

}  // namespace

VariantChecker::VariantChecker(const Body& body, const Entry& entry, const TensorUses& uses,
                               const std::vector<Index>& order, LifetimeBudget& budget,
                               Findings& findings)
    : body_(body),
      entry_(entry),
      uses_(uses),
      position_(order.size()),
      budget_(budget),
      findings_(findings),
      owner_(order.size(), kNone),
      elided_at_(order.size(), kNone),
      in_group_(order.size(), 0),
      recomputed_(order.size(), 0),
      read_by_(uses.size(), 0),
      stored_(uses.size(), 0) {
  for (Index i = 0; i < order.size(); ++i) position_[order[i]] = i;
}

void VariantChecker::Check(const Path& path, Variant& variant) {
  const std::size_t before = findings_.total();
  AssignOwners(path, variant);
  CheckCoverage(path);
  if (findings_.total() == before && resolved_) LinkElided(path, variant);
  if (findings_.total() == before && resolved_) LinkGroups(path, variant);
  if (findings_.total() == before && resolved_) {
    const Order order = TopologicalOrder(
        variant.groups.size(),
        [&](Index group) -> std::span<const Index> { return variant.groups[group].predecessors; });
    if (order.cycle.empty()) {
      CheckOrder(path, variant);
      CollectReads(variant);
      CollectWrites(variant);
      CollectConverts(order.nodes, variant);
      SortGroups(order.nodes, variant);
    } else {
      ReportCycle(path, variant, order.cycle);
    }
  }
  Reset(variant);
}

void VariantChecker::CheckOrder(const Path& path, const Variant& variant) {
  const LinkedVariant linked{body_, entry_, uses_, variant, owner_};
  if (CheckSchedule(path.At("schedule"), linked, findings_)) {
    CheckArenas(path, linked, budget_, findings_);
  }
}

void VariantChecker::ReportCycle(const Path& path, const Variant& variant,
                                 const std::vector<Index>& cycle) {
  // Any group of the cycle may be the one that is not convex; the work is bounded.
  constexpr std::size_t kTried = 8;
  for (std::size_t i = 0; i < std::min(cycle.size(), kTried); ++i) {
    const Group& group = variant.groups[cycle[i]];
    const std::vector<Index> ops = PathOutAndBack(group, cycle[i]);
    if (ops.empty()) continue;
    const std::string shown = ShowPath(ops, [&](Index op) {
      std::string text = Quote(entry_.operators[op].name);
      if (owner_[op] == kElided) return text + " (elided)";
      if (owner_[op] != cycle[i]) text += " of " + Quote(variant.groups[owner_[op]].name);
      return text;
    });
    findings_.Error(path.At("fusion_groups", cycle[i]),
                    "group " + Quote(group.name) + " is not convex: " + shown +
                        " leaves it and comes back, so that it needs its own output");
    return;
  }
  findings_.Error(path.At("fusion_groups", cycle.front()),
                  "groups wait for each other: " + ShowCycle(cycle, [&](Index group) {
                    return std::string_view(variant.groups[group].name);
                  }));
}

std::vector<Index> VariantChecker::PathOutAndBack(const Group& group, Index index) {
  Mark(group);
  // Backwards from the members, by breadth: by operator outside, the one that waits for it.
  std::vector<Index> waiter(entry_.operators.size(), kNone);
  std::vector<Index> queue(group.ops.begin(), group.ops.end());
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Index op = queue[next];
    const bool member = next < group.ops.size();
    for (const Index before : entry_.operators[op].predecessors) {
      if (!member && owner_[before] == index) {
        std::vector<Index> path = {before};
        for (Index at = op; at != kNone; at = waiter[at]) path.push_back(at);
        return path;
      }
      // What the group computes itself, again or not, is inside for its members.
      if ((member && InMarked(before)) || waiter[before] != kNone) continue;
      waiter[before] = op;
      queue.push_back(before);
    }
  }
  return {};
}

void VariantChecker::SortGroups(const std::vector<Index>& order, Variant& variant) {
  if (std::is_sorted(order.begin(), order.end())) return;
  std::vector<Index> position(order.size());
  for (Index i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<Group> sorted;
  sorted.reserve(order.size());
  for (const Index group : order) sorted.push_back(std::move(variant.groups[group]));
  for (Group& group : sorted) {
    for (Index& before : group.predecessors) before = position[before];
    std::sort(group.predecessors.begin(), group.predecessors.end());
  }
  variant.groups = std::move(sorted);
  for (CoreOrder& list : variant.schedule.cores) {
    for (Index& group : list.groups) group = position[group];
  }
  for (Wait& wait : variant.schedule.waits) {
    wait = {position[wait.group], position[wait.after]};
  }
}

void VariantChecker::AssignOwners(const Path& path, const Variant& variant) {
  covered_ = 0;
  resolved_ = true;
  for (std::size_t i = 0; i < variant.elided.size(); ++i) {
    const Index op = variant.elided[i].op;
    if (owner_[op] == kElided) {
      findings_.Error(path.At("elided", i),
                      "operator " + Quote(entry_.operators[op].name) + " is elided twice");
      continue;
    }
    if (entry_.operators[op].side_effects) {
      findings_.Error(path.At("elided", i), "operator " + Quote(entry_.operators[op].name) +
                                                " has side effects: it cannot be elided");
    }
    owner_[op] = kElided;
    ++covered_;
  }
  for (Index g = 0; g < variant.groups.size(); ++g) {
    AssignGroup(path.At("fusion_groups", g), variant, g);
  }
}

void VariantChecker::AssignGroup(const Path& path, const Variant& variant, Index g) {
  const Group& group = variant.groups[g];
  ++stamp_;
  for (const Index op : group.recomputed) {
    if (op != kUnresolved) recomputed_[op] = stamp_;
  }
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    const Index op = group.ops[i];
    if (op == kUnresolved) {
      resolved_ = false;
      continue;
    }
    const Path at = path.At("ops", i);
    const auto name = [&] { return "operator " + Quote(entry_.operators[op].name); };
    if (in_group_[op] == stamp_) {
      findings_.Error(at, name() + " is listed twice");
    } else if (owner_[op] == kElided) {
      findings_.Error(at, name() + " is elided in this variant");
    } else if (recomputed_[op] != stamp_) {
      if (owner_[op] == kNone) {
        owner_[op] = g;
        ++covered_;
      } else {
        findings_.Error(
            at, name() + " is already owned by group " + Quote(variant.groups[owner_[op]].name));
      }
    }
    in_group_[op] = stamp_;
  }
  for (std::size_t i = 0; i < group.recomputed.size(); ++i) {
    const Index op = group.recomputed[i];
    if (op == kUnresolved) continue;
    const char* wrong = in_group_[op] != stamp_ ? "is recomputed but not among the group's ops"
                        : entry_.operators[op].side_effects
                            ? "has side effects: it cannot be recomputed"
                            : nullptr;
    if (wrong == nullptr) continue;
    findings_.Error(path.At("recomputed", i),
                    "operator " + Quote(entry_.operators[op].name) + " " + wrong);
  }
}

void VariantChecker::CheckCoverage(const Path& path) {
  std::size_t missing = owner_.size() - covered_;
  for (std::size_t op = 0; op < owner_.size() && missing > 0 && !findings_.full(); ++op) {
    if (owner_[op] != kNone) continue;
    --missing;
    findings_.Error(path.At("fusion_groups"), "operator " + Quote(entry_.operators[op].name) +
                                                  " is owned by no group and not elided");
  }
  findings_.CountOnly(missing);
}

bool VariantChecker::AddSources(const Operator& op, Index self, std::vector<Index>& sources) {
  for (const Index before : op.predecessors) {
    if (self != kNone && InMarked(before)) continue;
    if (owner_[before] != kElided) {
      sources.push_back(owner_[before]);
      continue;
    }
    // Nothing runs for an elided operator: what waits for it waits for what it would wait for.
    const std::vector<Index>& passed = elided_[elided_at_[before]].sources;
    for (const Index source : passed) {
      if (source != self) sources.push_back(source);
    }
    elided_edges_ += passed.size();
    if (elided_edges_ > kMaxElidedEdges) return false;
  }
  return true;
}

void VariantChecker::ReportElidedEdges(const Path& path) {
  findings_.Error(path.At("elided"), "elided operators pass on more than " +
                                         std::to_string(kMaxElidedEdges) + " dependencies");
}

void VariantChecker::LinkElided(const Path& path, const Variant& variant) {
  std::vector<Index> ops;
  for (const Elided& elided : variant.elided) ops.push_back(elided.op);
  std::sort(ops.begin(), ops.end(), [&](Index a, Index b) { return position_[a] < position_[b]; });
  elided_.resize(ops.size());
  elided_edges_ = 0;
  for (Index i = 0; i < ops.size(); ++i) {
    elided_at_[ops[i]] = i;
    std::vector<Index>& sources = elided_[i].sources;
    if (!AddSources(entry_.operators[ops[i]], kNone, sources)) return ReportElidedEdges(path);
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  }
}

void VariantChecker::Mark(const Group& group) {
  ++stamp_;
  for (const Index op : group.ops) in_group_[op] = stamp_;
}

void VariantChecker::LinkGroups(const Path& path, Variant& variant) {
  for (Index g = 0; g < variant.groups.size(); ++g) {
    Group& group = variant.groups[g];
    Mark(group);
    for (const Index op : group.ops) {
      const Operator& member = entry_.operators[op];
      if (!AddSources(member, g, group.predecessors)) return ReportElidedEdges(path);
      for (const Index before : member.predecessors) {
        if (owner_[before] == kElided) ConsumerOf(before) = Merge(ConsumerOf(before), g);
      }
    }
    std::sort(group.predecessors.begin(), group.predecessors.end());
    group.predecessors.erase(std::unique(group.predecessors.begin(), group.predecessors.end()),
                             group.predecessors.end());
    group.predecessors.shrink_to_fit();
  }
}

void VariantChecker::CollectReads(Variant& variant) {
  for (Index g = 0; g < variant.groups.size(); ++g) {
    Group& group = variant.groups[g];
    Mark(group);
    for (const Index op : group.ops) {
      for (const Index tensor : entry_.operators[op].inputs) {
        const Index producer = uses_.Producer(tensor);
        const bool state = body_.tensors[tensor].kind == TensorKind::kState;
        // What a state held before the run is read even where the group updates it.
        if (InMarked(producer) && !state) continue;
        // An elided operator that only reshapes what the group itself made.
        if (producer != kNone && owner_[producer] == kElided) {
          const std::vector<Index>& sources = elided_[elided_at_[producer]].sources;
          if (sources.size() == 1 && sources[0] == g) continue;
        }
        stored_[uses_.Slot(uses_.Stored(tensor))] = 1;
        if (std::exchange(read_by_[uses_.Slot(tensor)], stamp_) == stamp_) continue;
        group.reads.push_back(tensor);
      }
    }
    std::sort(group.reads.begin(), group.reads.end());
    group.reads.shrink_to_fit();
  }
  MarkElidedReads(variant);
}

// What an elided operator reads is in memory unless all of it happens inside one group.
void VariantChecker::MarkElidedReads(const Variant& variant) {
  std::vector<Index> ops;
  for (const Elided& elided : variant.elided) ops.push_back(elided.op);
  std::sort(ops.begin(), ops.end(), [&](Index a, Index b) { return position_[a] > position_[b]; });
  for (const Index op : ops) {
    const Operator& elided = entry_.operators[op];
    for (const Index tensor : elided.outputs) {
      if (body_.tensors[tensor].kind != TensorKind::kActivation) ConsumerOf(op) = kMany;
    }
    for (const Index before : elided.predecessors) {
      if (owner_[before] != kElided) continue;
      ConsumerOf(before) = Merge(ConsumerOf(before), ConsumerOf(op));
    }
    for (const Index tensor : elided.inputs) {
      const Index producer = uses_.Producer(tensor);
      if (producer == kNone || owner_[producer] == ConsumerOf(op)) continue;
      stored_[uses_.Slot(uses_.Stored(tensor))] = 1;
    }
  }
}

void VariantChecker::CollectWrites(Variant& variant) {
  for (Index g = 0; g < variant.groups.size(); ++g) {
    Group& group = variant.groups[g];
    for (const Index op : group.ops) {
      if (owner_[op] != g) continue;
      for (const Index tensor : entry_.operators[op].outputs) {
        const bool kept = body_.tensors[tensor].kind != TensorKind::kActivation;
        // What nobody reads is made all the same.
        if (kept || !uses_.IsRead(tensor) || stored_[uses_.Slot(tensor)] != 0)
          group.writes.push_back(tensor);
      }
    }
    std::sort(group.writes.begin(), group.writes.end());
    group.writes.erase(std::unique(group.writes.begin(), group.writes.end()), group.writes.end());
    group.writes.shrink_to_fit();
  }
}

// What is converted once stays so for those that read it later.
void VariantChecker::CollectConverts(const std::vector<Index>& order, Variant& variant) {
  if (variant.layouts.empty()) return;
  absl::flat_hash_map<Index, const Layout*> left;
  for (const Layout& layout : variant.layouts) left.emplace(layout.tensor, &layout);
  for (const Index g : order) {
    Group& group = variant.groups[g];
    const auto convert = [&](const std::vector<Index>& tensors, TensorKind kind) {
      for (const Index tensor : tensors) {
        if (body_.tensors[tensor].kind != kind) continue;
        const auto found = left.find(tensor);
        if (found == left.end()) continue;
        group.converts.push_back(*found->second);
        left.erase(found);
      }
    };
    convert(group.reads, TensorKind::kInput);
    convert(group.writes, TensorKind::kOutput);
  }
}

// Back to how the constructor left it, in the time that the variant's own size takes.
void VariantChecker::Reset(const Variant& variant) {
  for (const Elided& elided : variant.elided) {
    owner_[elided.op] = elided_at_[elided.op] = kNone;
  }
  for (const Group& group : variant.groups) {
    for (const Index op : group.ops) {
      if (op == kUnresolved) continue;
      owner_[op] = kNone;
      for (const Index tensor : entry_.operators[op].inputs) {
        stored_[uses_.Slot(uses_.Stored(tensor))] = 0;
      }
    }
  }
  for (const Elided& elided : variant.elided) {
    for (const Index tensor : entry_.operators[elided.op].inputs) {
      stored_[uses_.Slot(uses_.Stored(tensor))] = 0;
    }
  }
  elided_.clear();
}

}  // namespace leeway::plan
