#include "plan/graph.h"

#include <algorithm>
#include <utility>

namespace leeway::plan {

Order TopologicalOrder(std::size_t nodes,
                       const std::function<std::span<const Index>(Index)>& predecessors) {
  enum : char { kUnseen, kOpen, kDone };
  struct Frame {
    Index node;
    std::size_t next;
  };
  Order order;
  order.nodes.reserve(nodes);
  std::vector<char> state(nodes, kUnseen);
  std::vector<Frame> stack;
  for (Index root = 0; root < nodes; ++root) {
    if (state[root] != kUnseen) continue;
    state[root] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Frame& top = stack.back();
      const std::span<const Index> needed = predecessors(top.node);
      if (top.next == needed.size()) {
        state[top.node] = kDone;
        order.nodes.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const Index next = needed[top.next++];
      if (state[next] == kOpen) {
        // The stack from `next` up: each frame needs the one above it, the last needs `next`.
        do {
          order.cycle.push_back(stack.back().node);
          stack.pop_back();
        } while (order.cycle.back() != next);
        StartAtSmallest(order.cycle);
        order.nodes.clear();
        return order;
      }
      if (state[next] == kUnseen) {
        state[next] = kOpen;
        stack.push_back({next, 0});
      }
    }
  }
  return order;
}

void StartAtSmallest(std::vector<Index>& cycle) {
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
}

std::string ShowPath(std::span<const Index> path, const std::function<std::string(Index)>& show) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.size() > 2 * kShown && i == kShown) {
      text += " -> ...";
      i = path.size() - kShown;
    }
    if (i > 0) text += " -> ";
    text += show(path[i]);
  }
  return text;
}

std::string ShowCycle(const std::vector<Index>& cycle,
                      const std::function<std::string_view(Index)>& name) {
  const auto show = [&](Index node) { return Quote(name(node)); };
  return ShowPath(cycle, show) + " -> " + show(cycle.front());
}

TensorUses::TensorUses(const Body& body, const Entry& entry, std::vector<Index>& slots)
    : body_(body), slots_(slots) {
  for (const Operator& op : entry.operators) {
    for (const Index tensor : op.inputs) Touch(tensor);
    for (const Index tensor : op.outputs) Touch(tensor);
  }
  // What a view is of may occur only through the view.
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (const auto& base = body.tensors[tensors_[i]].alias_of) Touch(*base);
  }
  writers_.assign(tensors_.size(), kNone);
  for (Index op = 0; op < entry.operators.size(); ++op) {
    for (const Index tensor : entry.operators[op].outputs) {
      Index& writer = writers_[slots_[tensor]];
      if (writer == kNone) writer = op;
    }
  }
  producers_ = writers_;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Index stored = Stored(tensors_[i]);
    producers_[i] = writers_[slots_[stored]];
  }
  read_.assign(tensors_.size(), 0);
  for (const Operator& op : entry.operators) {
    for (const Index tensor : op.inputs) read_[slots_[Stored(tensor)]] = 1;
  }
}

TensorUses::~TensorUses() {
  for (const Index tensor : tensors_) slots_[tensor] = kNone;
}

void TensorUses::Touch(Index tensor) {
  if (slots_[tensor] != kNone) return;
  slots_[tensor] = static_cast<Index>(tensors_.size());
  tensors_.push_back(tensor);
}

Index TensorUses::Stored(Index tensor) const {
  const std::optional<Index>& base = body_.tensors[tensor].alias_of;
  return base && writers_[slots_[tensor]] == kNone ? *base : tensor;
}

namespace {

// Orders the uses of STATE tensors as they are listed.
class StateOrder {
 public:
  StateOrder(const Body& body, const TensorUses& uses)
      : body_(body), uses_(uses), last_writer_(uses.size(), kNone), readers_(uses.size()) {}

  void Visit(Index index, Operator& op) {
    for (const Index tensor : op.inputs) {
      if (!IsState(tensor)) continue;
      const Index slot = uses_.Slot(uses_.Stored(tensor));
      Wait(op, index, last_writer_[slot]);
      readers_[slot].push_back(index);
    }
    for (const Index tensor : op.outputs) {
      if (!IsState(tensor)) continue;
      const Index slot = uses_.Slot(tensor);
      Wait(op, index, last_writer_[slot]);
      for (const Index reader : readers_[slot]) Wait(op, index, reader);
      readers_[slot].clear();
      last_writer_[slot] = index;
    }
  }

 private:
  bool IsState(Index tensor) const {
    return body_.tensors[uses_.Stored(tensor)].kind == TensorKind::kState;
  }
  static void Wait(Operator& op, Index index, Index before) {
    if (before != kNone && before != index) op.predecessors.push_back(before);
  }

  const Body& body_;
  const TensorUses& uses_;
  std::vector<Index> last_writer_;
  std::vector<std::vector<Index>> readers_;  // since the last write
};

void CheckRepeats(const Body& body, const Path& path, const Operator& op, Findings& findings) {
  if (op.outputs.size() < 2) return;
  std::vector<std::pair<Index, std::size_t>> outputs;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) outputs.emplace_back(op.outputs[i], i);
  std::sort(outputs.begin(), outputs.end());
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    if (outputs[i].first != outputs[i - 1].first) continue;
    findings.Error(path.At("outputs", outputs[i].second),
                   "tensor " + Quote(body.tensors[outputs[i].first].name) +
                       " is listed twice among the outputs of operator " + Quote(op.name));
  }
}

void CheckOutputs(const Body& body, const TensorUses& uses, const Path& path, const Entry& entry,
                  Index index, Findings& findings) {
  const Operator& op = entry.operators[index];
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Tensor& tensor = body.tensors[op.outputs[i]];
    const Path at = path.At("outputs", i);
    if (tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kWeight) {
      findings.Error(at, "operator " + Quote(op.name) + " writes tensor " + Quote(tensor.name) +
                             (tensor.kind == TensorKind::kInput ? ", an input" : ", a weight"));
    } else if (tensor.kind != TensorKind::kState && uses.Producer(op.outputs[i]) != index) {
      findings.Error(at, "tensor " + Quote(tensor.name) + " is already produced by operator " +
                             Quote(entry.operators[uses.Producer(op.outputs[i])].name));
    }
  }
}

void LinkInputs(const Body& body, const TensorUses& uses, const Path& path, Operator& op,
                const Entry& entry, Findings& findings) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& tensor = body.tensors[uses.Stored(op.inputs[i])];
    if (tensor.kind != TensorKind::kActivation && tensor.kind != TensorKind::kOutput) continue;
    const Index producer = uses.Producer(op.inputs[i]);
    if (producer != kNone) {
      op.predecessors.push_back(producer);
    } else {
      findings.Error(path.At("inputs", i), "tensor " + Quote(tensor.name) +
                                               " is produced by no operator of entry " +
                                               Quote(entry.name));
    }
  }
}

}  // namespace

void LinkOperators(const Body& body, const TensorUses& uses, const Path& path, Entry& entry,
                   Findings& findings) {
  StateOrder states(body, uses);
  for (Index i = 0; i < entry.operators.size(); ++i) {
    Operator& op = entry.operators[i];
    const Path at = path.At("operators", i);
    CheckOutputs(body, uses, at, entry, i, findings);
    CheckRepeats(body, at, op, findings);
    LinkInputs(body, uses, at, op, entry, findings);
    states.Visit(i, op);
    std::sort(op.predecessors.begin(), op.predecessors.end());
    op.predecessors.erase(std::unique(op.predecessors.begin(), op.predecessors.end()),
                          op.predecessors.end());
    op.predecessors.shrink_to_fit();
  }
}

}  // namespace leeway::plan
