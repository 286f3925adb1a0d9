#include "device/live_set.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"

namespace leeway::device {
namespace {

using Sizes = std::span<const std::int64_t>;

// A view lives as long as what it is a view of.
plan::Index Root(const plan::Body& plan, plan::Index tensor) {
  for (std::size_t hop = 0; hop < plan.tensors.size() && plan.tensors[tensor].alias_of; ++hop) {
    tensor = *plan.tensors[tensor].alias_of;
  }
  return tensor;
}

bool Counts(plan::TensorKind kind) {
  return kind != plan::TensorKind::kWeight && kind != plan::TensorKind::kState;
}

double TensorBytes(const plan::Body& plan, plan::Index tensor, Sizes dims) {
  return static_cast<double>(plan.tensors[tensor].Bytes(dims));
}

// Peaks at one set of dims by variant: what is called often is looked at once.
using Peaks = absl::flat_hash_map<const plan::Variant*, double>;

double CalledPeak(const plan::Body& plan, const plan::Entry& entry, const plan::Variant& variant,
                  std::size_t group, Sizes dims, Peaks& peaks);

std::vector<Lifetime> LifetimesIn(const plan::Body& plan, const plan::Variant& variant,
                                  Sizes dims) {
  struct Life {
    std::size_t begin = 0, end = 0;
    bool used = false;
  };
  std::vector<Life> lives(plan.tensors.size());
  const std::size_t groups = variant.groups.size();
  const auto touch = [&](plan::Index tensor, std::size_t group) {
    tensor = Root(plan, tensor);
    const plan::TensorKind kind = plan.tensors[tensor].kind;
    if (!Counts(kind)) return;
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
  std::vector<Lifetime> buffers;
  for (std::size_t t = 0; t < lives.size(); ++t) {
    if (!lives[t].used) continue;
    buffers.push_back(
        {TensorBytes(plan, static_cast<plan::Index>(t), dims), lives[t].begin, lives[t].end});
  }
  return buffers;
}

double PeakOf(const plan::Body& plan, const plan::Entry& entry, const plan::Variant& variant,
              Sizes dims, Peaks& peaks) {
  if (const auto known = peaks.find(&variant); known != peaks.end()) return known->second;
  const std::vector<double> alive =
      LiveBytes(LifetimesIn(plan, variant, dims), variant.groups.size());
  double peak = 0;
  for (std::size_t g = 0; g < variant.groups.size(); ++g) {
    const auto workspace = static_cast<double>(variant.groups[g].workspace_bytes(dims));
    peak = std::max(peak, alive[g] + workspace + CalledPeak(plan, entry, variant, g, dims, peaks));
  }
  peaks[&variant] = peak;
  return peak;
}

// What a CALL runs holds its own inputs and outputs too: they may be copies of the caller's.
double CalledPeak(const plan::Body& plan, const plan::Entry& entry, const plan::Variant& variant,
                  std::size_t group, Sizes dims, Peaks& peaks) {
  const plan::Call* call = plan::CallOf(entry, variant.groups[group]);
  if (call == nullptr) return 0;
  const auto called = plan.CalledVariant(variant, call->entry);
  if (!called) return 0;
  const plan::Entry& callee = plan.entries[call->entry];
  return PeakOf(plan, callee, callee.variants[*called], dims, peaks);
}

// The buffers of a group while its operators run one by one, in its order.
class OneByOne {
 public:
  OneByOne(const plan::Body& plan, const plan::Entry& entry, const plan::Group& group, Sizes dims)
      : plan_(plan), dims_(dims), steps_(group.ops.size()) {
    // What comes from outside is there already, what others read stays.
    for (const plan::Index tensor : group.reads) Touch(tensor, 0);
    for (std::size_t i = 0; i < steps_; ++i) {
      const plan::Operator& op = entry.operators[group.ops[i]];
      for (const plan::Index tensor : op.inputs) Touch(tensor, i);
      for (const plan::Index tensor : op.outputs) Touch(tensor, i);
    }
    for (const plan::Index tensor : group.writes) Touch(tensor, steps_ - 1);
  }

  double Peak() const {
    const std::vector<double> alive = LiveBytes(buffers_, steps_);
    return *std::max_element(alive.begin(), alive.end());
  }

 private:
  void Touch(plan::Index tensor, std::size_t step) {
    tensor = Root(plan_, tensor);
    if (!Counts(plan_.tensors[tensor].kind)) return;
    const auto [at, added] = places_.try_emplace(tensor, buffers_.size());
    if (added) buffers_.push_back({TensorBytes(plan_, tensor, dims_), step, step});
    buffers_[at->second].end = std::max(buffers_[at->second].end, step);
  }

  const plan::Body& plan_;
  Sizes dims_;
  std::size_t steps_;
  absl::flat_hash_map<plan::Index, std::size_t> places_;
  std::vector<Lifetime> buffers_;  // in order of first use
};

// Each tensor once, however often and under how many views it is named.
double OuterBytes(const plan::Body& plan, const plan::Group& group, Sizes dims) {
  std::vector<plan::Index> roots;
  for (const auto& tensors : {group.reads, group.writes}) {
    for (const plan::Index tensor : tensors) roots.push_back(Root(plan, tensor));
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  double bytes = 0;
  for (const plan::Index tensor : roots) {
    if (Counts(plan.tensors[tensor].kind)) bytes += TensorBytes(plan, tensor, dims);
  }
  return bytes;
}

}  // namespace

std::vector<double> LiveBytes(std::span<const Lifetime> buffers, std::size_t steps) {
  std::vector<double> change(steps + 1, 0);
  for (const Lifetime& buffer : buffers) {
    change[buffer.begin] += buffer.bytes;
    change[buffer.end + 1] -= buffer.bytes;
  }
  for (std::size_t s = 1; s < steps; ++s) change[s] += change[s - 1];
  change.resize(steps);
  return change;
}

GroupMemory MemoryOf(const plan::Body& plan, const plan::Entry& entry, const plan::Group& group,
                     std::span<const std::int64_t> dims) {
  GroupMemory memory;
  memory.peak = OuterBytes(plan, group, dims) + static_cast<double>(group.workspace_bytes(dims));
  if (group.ops.empty()) return memory;
  memory.burst = memory.peak - OneByOne(plan, entry, group, dims).Peak();
  return memory;
}

double PeakActivations(const plan::Body& plan, const plan::Entry& entry,
                       const plan::Variant& variant, std::span<const std::int64_t> dims) {
  Peaks peaks;
  return PeakOf(plan, entry, variant, dims, peaks);
}

double StateBytes(const plan::Body& plan, std::span<const std::int64_t> dims) {
  double bytes = 0;
  for (const plan::Tensor& tensor : plan.tensors) {
    if (tensor.kind != plan::TensorKind::kState || tensor.alias_of) continue;
    bytes += static_cast<double>(tensor.Bytes(dims));
  }
  return bytes;
}

double RunBudget(const plan::Body& plan, std::span<const std::int64_t> dims, const Spec& device,
                 int runs) {
  const double left = static_cast<double>(device.dram_capacity_bytes) -
                      static_cast<double>(plan.WeightBytes()) - StateBytes(plan, dims);
  return left / runs;
}

bool AcceptsFusion(Nanos saved, double peak, double burst, double budget) {
  return saved > Nanos{0} && peak + burst <= budget;
}

}  // namespace leeway::device
