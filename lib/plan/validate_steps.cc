#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

// Counts the steps of runs at some dims, no further than to kMaxRunSteps + 1.
class StepCounter {
 public:
  // `budget` is of groups and operators looked at; nothing is known once it is used up.
  StepCounter(const Body& body, std::vector<std::int64_t> dims, std::size_t& budget)
      : body_(body), dims_(std::move(dims)), budget_(budget) {}

  std::uint64_t Of(const Entry& entry, const Variant& variant) {
    if (const auto at = variants_.find(&variant); at != variants_.end()) return at->second;
    std::uint64_t steps = 0;
    // By entry: looking a callee up takes time in proportion to its variants.
    absl::flat_hash_map<Index, std::uint64_t> once;
    for (const Group& group : variant.groups) {
      if (!Spend()) return 0;
      const Call* call = CallOf(entry, group);
      if (call == nullptr) {
        Add(steps, Value(group.shards), 1);
      } else {
        const auto [at, added] = once.try_emplace(call->entry, 0);
        if (added) at->second = OfCalled(variant, call->entry);
        Add(steps, Value(call->times), at->second);
      }
    }
    variants_[&variant] = steps;
    return steps;
  }

  // Operator by operator, each shared as in the first variant.
  std::uint64_t OfFallback(const Entry& entry) {
    if (const auto at = entries_.find(&entry); at != entries_.end()) return at->second;
    std::uint64_t steps = 0;
    for (const Operator& op : entry.operators) {
      if (!Spend()) return 0;
      if (const Call* call = std::get_if<Call>(&op.work)) {
        Add(steps, Value(call->times), OfFallback(body_.entries[call->entry]));
      } else {
        Add(steps, 1, 1);
      }
    }
    if (!entry.variants.empty()) {
      for (const Group& group : entry.variants.front().groups) {
        Add(steps, Value(group.shards) - 1, group.ops.size());
      }
    }
    entries_[&entry] = steps;
    return steps;
  }

 private:
  std::uint64_t OfCalled(const Variant& caller, Index entry) {
    const Entry& callee = body_.entries[entry];
    const std::optional<Index> called = body_.CalledVariant(caller, entry);
    return called ? Of(callee, callee.variants[*called]) : 0;
  }

  bool Spend() { return budget_ > 0 && budget_-- > 0; }

  std::uint64_t Value(const Expr& expr) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, expr(dims_)));
  }

  static void Add(std::uint64_t& steps, std::uint64_t times, std::uint64_t once) {
    const bool fits = once == 0 || times <= (kMaxRunSteps - std::min(steps, kMaxRunSteps)) / once;
    steps = fits ? steps + times * once : kMaxRunSteps + 1;
  }

  const Body& body_;
  const std::vector<std::int64_t> dims_;
  std::size_t& budget_;
  absl::flat_hash_map<const Variant*, std::uint64_t> variants_;
  absl::flat_hash_map<const Entry*, std::uint64_t> entries_;
};

std::string AtDims(const Body& body, const std::vector<std::int64_t>& dims) {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? " at " : ", ") + body.dims[i].name + " = " + std::to_string(dims[i]);
  }
  return text;
}

}  // namespace

void CheckSteps(const Body& body, Findings& findings) {
  std::size_t budget = std::size_t{1} << 24;
  const std::string launches = "launches more than " + std::to_string(kMaxRunSteps) + " steps";
  std::vector<std::int64_t> largest;
  for (const Dim& dim : body.dims) largest.push_back(dim.max);
  StepCounter fallback(body, largest, budget);
  const Path plan("");
  for (std::size_t e = 0; e < body.entries.size(); ++e) {
    const Entry& entry = body.entries[e];
    if (entry.internal) continue;
    const Path path = plan.At("entries", e);
    if (fallback.OfFallback(entry) > kMaxRunSteps) {
      findings.Error(path, "a run by single operators " + launches + AtDims(body, largest));
    }
    for (std::size_t v = 0; v < entry.variants.size(); ++v) {
      const Variant& variant = entry.variants[v];
      std::vector<std::int64_t> dims;
      for (const Range& range : variant.envelope) dims.push_back(range.max);
      if (!Covers(variant, dims)) continue;
      if (StepCounter(body, dims, budget).Of(entry, variant) <= kMaxRunSteps) continue;
      findings.Error(path.At("variants", v), "a run " + launches + AtDims(body, dims));
    }
  }
}

}  // namespace leeway::plan
