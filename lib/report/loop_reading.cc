#include "report/loop_reading.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "report/figures.h"

namespace leeway::report {
namespace {

// Served and judged; the first window is only compiled for.
bool IsScored(const LoopWindow& window) { return window.requests > 0; }

// A mean over windows, weighted by their work, of what some of them may lack.
class WeightedMean {
 public:
  void Add(const std::optional<double>& value, Nanos weight) {
    if (!value || weight.count() <= 0) return;
    sum_ += *value * static_cast<double>(weight.count());
    weight_ += static_cast<double>(weight.count());
  }
  std::optional<double> value() const {
    return weight_ > 0 ? std::optional(sum_ / weight_) : std::nullopt;
  }

 private:
  double sum_ = 0, weight_ = 0;
};

void Include(Range& range, std::int64_t value, bool first) {
  range.low = first ? value : std::min(range.low, value);
  range.high = first ? value : std::max(range.high, value);
}

using WindowIterator = std::vector<const LoopWindow*>::const_iterator;

WindowGroup GroupOf(WindowIterator begin, WindowIterator end) {
  WindowGroup group;
  WeightedMean frozen, adapted;
  group.from = (*begin)->from;
  for (auto it = begin; it != end; ++it) {
    const LoopWindow& window = **it;
    group.to = window.to;
    group.requests += window.requests;
    group.overloaded += window.overloaded ? 1 : 0;
    group.load += window.load;
    group.frozen_work += window.frozen_work;
    group.adapted_work += window.adapted_work;
    group.clairvoyant_work += window.clairvoyant_work;
    group.frozen_p99 = std::max(group.frozen_p99, window.frozen_p99);
    group.adapted_p99 = std::max(group.adapted_p99, window.adapted_p99);
    frozen.Add(window.frozen_accuracy, window.frozen_work);
    adapted.Add(window.adapted_accuracy, window.adapted_work);
    group.plan = window.plan;
    Include(group.median, window.median, it == begin);
    Include(group.p95, window.p95, it == begin);
    ++group.windows;
  }
  group.load /= static_cast<double>(group.windows);
  group.frozen_accuracy = frozen.value();
  group.adapted_accuracy = adapted.value();
  return group;
}

}  // namespace

const char* VerdictName(LoopHeadroom::Verdict verdict) {
  switch (verdict) {
    case LoopHeadroom::Verdict::kPresent:
      return "present";
    case LoopHeadroom::Verdict::kNone:
      return "none";
    case LoopHeadroom::Verdict::kInsufficient:
      return "insufficient";
  }
  return "insufficient";
}

const char* FamilyName(Cause cause) {
  switch (cause) {
    case Cause::kAdmission:
    case Cause::kBatching:
    case Cause::kHigherPriority:
    case Cause::kLowerPriorityInFlight:
    case Cause::kCapacity:
    case Cause::kDispatch:
    case Cause::kResponseOrder:
      return "queueing";
    case Cause::kCoreImbalance:
      return "imbalance";
    case Cause::kFallback:
      return "fallback";
    case Cause::kPlanned:
    case Cause::kBatchMates:
    case Cause::kPadding:
    case Cause::kLayout:
    case Cause::kResidency:
    case Cause::kLaunch:
    case Cause::kThrottle:
    case Cause::kContention:
      return "execution";
    case Cause::kUnexplained:
      return "unexplained";
  }
  return "unexplained";
}

std::vector<Cause> AllCauses() {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < kCauseCount; ++i) causes.push_back(static_cast<Cause>(i));
  return causes;
}

const LoopTail* FindTail(const LoopArm& arm, double percentile) {
  for (const LoopTail& tail : arm.tails) {
    if (std::abs(tail.percentile - percentile) < 1e-9 && tail.requests > 0) return &tail;
  }
  return nullptr;
}

std::vector<CauseChange> Changes(const Attribution& before, const Attribution& after) {
  std::vector<CauseChange> changes;
  for (const Cause cause : AllCauses()) {
    const CauseChange change = {cause, before.part(cause), after.part(cause)};
    if (change.before.count() != 0 || change.after.count() != 0) changes.push_back(change);
  }
  std::stable_sort(changes.begin(), changes.end(), [](const CauseChange& a, const CauseChange& b) {
    return std::chrono::abs(a.change()) > std::chrono::abs(b.change());
  });
  return changes;
}

bool IsLatency(Nanos latency) { return latency > Nanos{0} && latency < Nanos::max(); }

std::string Latency(Nanos latency) { return IsLatency(latency) ? Duration(latency) : kDash; }

std::vector<WindowGroup> GroupedWindows(const LoopSummary& summary, std::size_t rows) {
  std::vector<const LoopWindow*> scored;
  for (const LoopWindow& window : summary.windows) {
    if (IsScored(window)) scored.push_back(&window);
  }
  if (scored.empty() || rows == 0) return {};
  const std::size_t size = (scored.size() + rows - 1) / rows;
  std::vector<WindowGroup> groups;
  for (std::size_t at = 0; at < scored.size(); at += size) {
    const auto begin = scored.cbegin() + static_cast<std::ptrdiff_t>(at);
    const auto count = static_cast<std::ptrdiff_t>(std::min(size, scored.size() - at));
    groups.push_back(GroupOf(begin, begin + count));
  }
  for (const LoopAction& action : summary.actions) {
    for (WindowGroup& group : groups) {
      if (action.at < group.from || action.at >= group.to) continue;
      ++(action.kind == LoopAction::Kind::kCompile ? group.compiles : group.switches);
    }
  }
  return groups;
}

std::uint64_t ScoredWindows(const LoopSummary& summary) {
  return static_cast<std::uint64_t>(
      std::count_if(summary.windows.begin(), summary.windows.end(), IsScored));
}

}  // namespace leeway::report
