#include "retune/adaptation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status_macros.h"

namespace leeway::retune {
namespace {

// What has been seen of a window by `until`.
TrafficWindow SeenBy(Instant until, const ServedWindow& window) {
  const auto end =
      std::lower_bound(window.requests.begin(), window.requests.end(), until,
                       [](const LoopRequest& request, Instant time) { return request.at < time; });
  return LengthsOf(LoopRequests(window.requests.begin(), end));
}

class Run {
 public:
  Run(BucketPolicy& policy, const BucketSpec& spec, const CompiledEdges& compiled)
      : policy_(policy), spec_(spec), compiled_(compiled) {}

  void Begin(const TrafficWindow& first) {
    library_.plans = {compiled_(policy_.Begin(first))};
    result_.plan_of = {0};
  }

  // Decides for window `serves`, knowing `closed`.
  void Close(const TrafficWindow& closed, std::size_t serves, Instant at) {
    const std::size_t before = library_.current;
    BucketDecision decision = policy_.Close(closed, library_);
    LoopAction action;
    switch (decision.kind) {
      case BucketDecision::Kind::kKeep:
        return;
      case BucketDecision::Kind::kSwitch:
        if (decision.plan == before) return;
        library_.current = decision.plan;
        action.kind = LoopAction::Kind::kSwitch;
        ++result_.switches;
        break;
      case BucketDecision::Kind::kCompile:
        library_.current = library_.plans.size();
        library_.plans.push_back(compiled_(decision.edges));
        action.kind = LoopAction::Kind::kCompile;
        ++result_.compiles;
        break;
    }
    action.window = serves;
    action.at = at;
    action.plan = library_.current;
    action.edges = library_.serving();
    action.expected_gain = Gain(closed.lengths, before, library_.current);
    result_.actions.push_back(std::move(action));
  }

  void Serve() { result_.plan_of.push_back(library_.current); }

  Adaptation Finish(const std::vector<TrafficWindow>& served) {
    result_.library = library_.plans;
    for (std::size_t a = 0; a < result_.actions.size(); ++a) Observe(served, a);
    return std::move(result_);
  }

 private:
  double Cost(std::size_t plan, const LengthHistogram& lengths) const {
    return Evaluate(library_.plans[plan], lengths, spec_).cost;
  }
  double Gain(const LengthHistogram& lengths, std::size_t before, std::size_t after) const {
    const double cost = Cost(after, lengths);
    return cost > 0 ? Cost(before, lengths) / cost - 1 : 0;
  }

  // Until the next action.
  void Observe(const std::vector<TrafficWindow>& served, std::size_t a) {
    LoopAction& action = result_.actions[a];
    const std::size_t before = a == 0 ? 0 : result_.actions[a - 1].plan;
    const std::size_t end =
        a + 1 < result_.actions.size() ? result_.actions[a + 1].window : served.size();
    double old_cost = 0, new_cost = 0;
    for (std::size_t w = action.window; w < end; ++w) {
      old_cost += Cost(before, served[w].lengths);
      new_cost += Cost(action.plan, served[w].lengths);
    }
    action.observed_gain = new_cost > 0 ? old_cost / new_cost - 1 : 0;
  }

  BucketPolicy& policy_;
  const BucketSpec& spec_;
  const CompiledEdges& compiled_;
  PlanLibrary library_;
  Adaptation result_;
};

}  // namespace

Result<Adaptation> Adapt(std::string_view policy, const BucketPolicyOptions& options,
                         const TrafficWindow& first, const std::vector<ServedWindow>& windows,
                         Nanos compile_time, const CompiledEdges& compiled) {
  LEEWAY_ASSIGN_OR_RETURN(const std::unique_ptr<BucketPolicy> made,
                          MakeBucketPolicy(policy, options));
  Run run(*made, options.spec, compiled);
  run.Begin(first);
  std::vector<TrafficWindow> served;
  for (const ServedWindow& window : windows) served.push_back(LengthsOf(window.requests));
  // Window 0 is the first; the policy has closed it by beginning.
  std::size_t next = 1;
  for (std::size_t w = 1; w < windows.size(); ++w) {
    const Instant until = windows[w].from - compile_time;
    for (; next < w && windows[next].from < until; ++next) {
      // All of a window that ended earlier; what came too late for this bound is never looked at.
      const bool last = next + 1 == w || windows[next + 1].from >= until;
      const TrafficWindow closed = last ? SeenBy(until, windows[next]) : served[next];
      if (closed.lengths.total() > 0) run.Close(closed, w, windows[w].from);
    }
    run.Serve();
  }
  return run.Finish(served);
}

}  // namespace leeway::retune
