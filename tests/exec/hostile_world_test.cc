// The policy in a world that keeps the seam's letter and nothing more: completions come late, out
// of order, at once and twice, some of nobody, some failed; timers are late, cores are woken for
// nothing; callers cancel whenever they like.

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/exec/random_system.h"

namespace leeway {
namespace {

using sched::CoreId;
using sched::StepRef;
using testing::System;

using Step = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
Step Name(const StepRef& s) {
  return {s.run.value(), s.generation, s.node.value(), s.shard, s.round};
}

class HostileWorld final : public sched::Env {
 public:
  HostileWorld(std::uint64_t seed, std::size_t cores) : prng_(seed), free_(cores), cores_(cores) {}

  void Attach(sched::Scheduler& scheduler) { scheduler_ = &scheduler; }

  Instant Now() const override { return now_; }

  // A core is in order: a step ends after those launched before it. What is told of it is not.
  void Launch(CoreId core, StepRef step) override {
    ++launched_;
    Instant& free = free_[core.value()];
    const bool at_once = free <= now_ && prng_.Below(6) == 0;
    free = std::max(free, now_) + (at_once ? Nanos{0} : Random(300));
    const auto outcome =
        prng_.Below(40) == 0 ? sched::StepOutcome::kFailed : sched::StepOutcome::kDone;
    if (outcome == sched::StepOutcome::kFailed) failing_.insert(Name(step));
    if (prng_.Below(3) == 0) TellOfNobody(core, step);
    if (at_once) {
      Tell(core, step, outcome);
    } else {
      Later(free + (prng_.Below(3) == 0 ? Random(500) : Nanos{0}), core, step, outcome);
    }
    if (prng_.Below(4) == 0) Later(free + Random(800), core, step, outcome);
  }

  void SetTimer(CoreId core, Instant due) override {
    timers_.push({std::max(due, now_) + (prng_.Below(2) == 0 ? Random(40) : Nanos{0}), core});
  }
  void Wake(sched::CoreSet cores) override {
    woken_ = woken_ | cores;
    if (prng_.Below(5) == 0) woken_.Add(CoreId(prng_.Below(cores_)));
  }
  void Ended(sched::RunId run) override {
    ++ended_;
    if (scheduler_->run(run).steps_in_flight > 0) ++ended_early_;
  }

  Instant next_event() const {
    Instant next = Instant::Max();
    if (!told_later_.empty()) next = told_later_.begin()->first;
    if (!timers_.empty()) next = std::min(next, timers_.top().first);
    return next;
  }

  void AdvanceTo(Instant at) {
    now_ = at;
    for (; !told_later_.empty() && told_later_.begin()->first <= at;
         told_later_.erase(told_later_.begin())) {
      const Told& told = told_later_.begin()->second;
      Tell(told.core, told.step, told.outcome);
    }
    for (; !timers_.empty() && timers_.top().first <= at; timers_.pop()) {
      woken_.Add(timers_.top().second);
    }
  }

  void PumpWoken() {
    while (!woken_.empty()) {
      std::vector<CoreId> cores;
      woken_.ForEach([&](CoreId core) { cores.push_back(core); });
      const CoreId core = cores[prng_.Below(cores.size())];
      woken_.Remove(core);
      scheduler_->Pump(core);
    }
  }

  bool Fails(const StepRef& step) const { return failing_.count(Name(step)) > 0; }
  std::uint64_t launched() const { return launched_; }
  std::uint64_t told() const { return told_; }
  std::uint64_t ended() const { return ended_; }
  std::uint64_t ended_early() const { return ended_early_; }

 private:
  struct Told {
    CoreId core;
    StepRef step;
    sched::StepOutcome outcome;
  };

  Nanos Random(std::uint64_t below) { return Nanos{static_cast<std::int64_t>(prng_.Below(below))}; }

  void Tell(CoreId core, const StepRef& step, sched::StepOutcome outcome) {
    ++told_;
    scheduler_->Complete(core, step, outcome);
    woken_.Add(core);
  }
  void Later(Instant at, CoreId core, const StepRef& step, sched::StepOutcome outcome) {
    told_later_.emplace(at, Told{core, step, outcome});
  }

  // The name of a step that is not in flight on the core, much like one that is.
  void TellOfNobody(CoreId core, StepRef step) {
    switch (prng_.Below(6)) {
      case 0:
        step.generation -= 1 + static_cast<std::uint32_t>(prng_.Below(3));
        break;
      case 1:
        step.round += 1 + static_cast<std::uint32_t>(prng_.Below(3));
        break;
      case 2:
        step.shard += 1000;
        break;
      case 3:
        step.node = sched::NodeId(step.node.value() + 10'000);
        break;
      case 4:
        step.run = sched::RunId(step.run.value() + 1000);
        break;
      default:
        if (cores_ == 1) return;
        core = CoreId((core.value() + 1 + prng_.Below(cores_ - 1)) % cores_);
    }
    const bool failed = prng_.Below(2) == 0;
    Tell(core, step, failed ? sched::StepOutcome::kFailed : sched::StepOutcome::kDone);
  }

  base::Prng prng_;
  sched::Scheduler* scheduler_ = nullptr;
  Instant now_;
  std::vector<Instant> free_;  // by core: when all that was launched there has ended
  std::size_t cores_;
  std::multimap<Instant, Told> told_later_;
  using Timer = std::pair<Instant, CoreId>;
  struct Due {
    bool operator()(const Timer& a, const Timer& b) const { return a.first > b.first; }
  };
  std::priority_queue<Timer, std::vector<Timer>, Due> timers_;
  sched::CoreSet woken_;
  std::set<Step> failing_;
  std::uint64_t launched_ = 0, told_ = 0, ended_ = 0, ended_early_ = 0;
};

// Holds the policy to its promises, and counts where it breaks one.
class Judge final : public sched::Observer {
 public:
  Judge(const HostileWorld& world, const sched::DomainTable& domains, std::uint32_t depth)
      : world_(world), domains_(domains), depth_(depth) {}

  void Attach(const sched::Scheduler& scheduler) { scheduler_ = &scheduler; }

  struct Broken {
    std::size_t ran_twice = 0, before_inputs = 0, not_allowed = 0, too_deep = 0, after_failure = 0;
    std::size_t ended_twice = 0, ok_in_part = 0, wrong_outcome = 0, out_of_order = 0;
    friend bool operator==(const Broken&, const Broken&) = default;
  };
  const Broken& broken() const { return broken_; }
  std::size_t ended() const { return ends_.size(); }
  bool HasEnded(sched::RequestId id) const { return ends_.count(id) > 0; }
  void Cancelled(sched::RequestId id) { cancelled_.insert(id); }
  void Submitted(std::uint32_t stream) { live_[stream].insert(submitted_++); }
  std::uint64_t held() const { return held_responses_; }
  std::uint64_t count(Outcome outcome) const {
    const auto found = by_outcome_.find(outcome);
    return found == by_outcome_.end() ? 0 : found->second;
  }

  void OnRunStarted(sched::RunId id, const sched::Run& run) override {
    slots_[&run] = id;
    steps_of_[RunKey(id.value(), run.generation)] = 0;
  }

  void OnLaunch(CoreId core, const StepRef& step) override {
    const sched::Run& run = scheduler_->run(step.run);
    const sched::Node& node = run.graph->nodes()[step.node.value()];
    if (!launched_.insert(Name(step)).second) ++broken_.ran_twice;
    if (run.state != sched::Run::State::kLive) ++broken_.after_failure;
    if (!domains_[node.domain].allowed.Contains(core)) ++broken_.not_allowed;
    std::vector<Step>& ahead = in_flight_[core.value()];
    for (std::uint32_t p : run.graph->predecessors(node)) {
      for (std::uint32_t shard = 0; shard < run.costs->shards[p]; ++shard) {
        StepRef input = step;
        input.node = sched::NodeId(p);
        input.shard = shard;
        const bool ordered = std::find(ahead.begin(), ahead.end(), Name(input)) != ahead.end();
        if (retired_.count(Name(input)) == 0 && !ordered) ++broken_.before_inputs;
      }
    }
    ahead.push_back(Name(step));
    if (ahead.size() > depth_) ++broken_.too_deep;
    ++steps_of_[KeyOf(step)];
  }

  void OnRetired(CoreId core, const StepRef& step) override {
    std::vector<Step>& ahead = in_flight_[core.value()];
    const auto found = std::find(ahead.begin(), ahead.end(), Name(step));
    REQUIRE(found != ahead.end());
    ahead.erase(found);
    retired_.insert(Name(step));
    if (world_.Fails(step)) failed_.insert(KeyOf(step));
  }

  void OnRequestEnded(const sched::Request& request, Outcome outcome,
                      const sched::Run* run) override {
    if (!ends_.insert(request.id).second) ++broken_.ended_twice;
    ++by_outcome_[outcome];
    const bool cancelled = cancelled_.count(request.id) > 0;
    if (cancelled != (outcome == Outcome::kCancelled)) ++broken_.wrong_outcome;
    std::set<sched::RequestId>& live = live_[request.stream.value()];
    const bool ordered = scheduler_->streams()[request.stream.value()].preserve_ordering;
    const bool ok = outcome == Outcome::kOk;
    if (ordered && ok && *live.begin() != request.id) ++broken_.out_of_order;
    live.erase(request.id);
    const bool was_held = held_.erase(request.id) > 0;
    if (run == nullptr && ok != (was_held && !cancelled)) ++broken_.wrong_outcome;
    if (run != nullptr) CheckRun(outcome, cancelled, *run);
  }

  void OnResponseHeld(const sched::Request& request, const sched::Run& run) override {
    ++held_responses_;
    held_.insert(request.id);
    CheckRun(Outcome::kOk, false, run);
  }

  bool all_retired() const { return launched_ == retired_; }

 private:
  void CheckRun(Outcome outcome, bool cancelled, const sched::Run& ended) {
    const sched::Run* run = &ended;
    const RunKey key(slots_.at(run).value(), run->generation);
    const bool failed = failed_.count(key) > 0;
    if (!cancelled && outcome != (failed ? Outcome::kFailed : Outcome::kOk)) {
      ++broken_.wrong_outcome;
    }
    if (outcome == Outcome::kOk && steps_of_.at(key) != run->costs->steps) ++broken_.ok_in_part;
  }

  using RunKey = std::pair<std::uint32_t, std::uint32_t>;
  static RunKey KeyOf(const StepRef& step) { return {step.run.value(), step.generation}; }

  const HostileWorld& world_;
  const sched::DomainTable& domains_;
  std::uint32_t depth_;
  const sched::Scheduler* scheduler_ = nullptr;
  std::set<Step> launched_, retired_;
  std::map<std::uint32_t, std::vector<Step>> in_flight_;  // by core, in order
  std::map<const sched::Run*, sched::RunId> slots_;
  std::map<RunKey, std::uint64_t> steps_of_;
  std::set<RunKey> failed_;
  std::set<sched::RequestId> ends_, cancelled_, held_;
  std::map<std::uint32_t, std::set<sched::RequestId>> live_;  // by stream
  sched::RequestId submitted_ = 0;
  std::uint64_t held_responses_ = 0;
  std::map<Outcome, std::uint64_t> by_outcome_;
  Broken broken_;
};

// Everything of one such world, and callers that cancel at random.
class Trial {
 public:
  Trial(std::uint64_t seed, System system, std::uint32_t depth)
      : prng_(seed ^ 0x5eed),
        system_(std::move(system)),
        model_(sched::Model::Create(system_.plan, system_.device, "", 1, domains_).value()),
        world_(seed, system_.device->core_count()),
        judge_(world_, domains_, depth),
        scheduler_(world_, *system_.device, domains_, system_.options, &judge_) {
    world_.Attach(scheduler_);
    judge_.Attach(scheduler_);
    for (std::uint32_t s = 0; s < system_.streams; ++s) {
      sched::StreamSpec spec;
      spec.priority = Priority(static_cast<int>(s) + 1);
      if (prng_.Below(3) == 0) spec.max_queue_size = 4;
      if (s == 1) spec.timeout_action = sched::TimeoutAction::kDelay;
      spec.preserve_ordering = (seed + s) % 2 == 0;
      spec.model = model_;
      REQUIRE(scheduler_.OpenStream(std::move(spec)).ok());
    }
  }

  void Serve() {
    const auto& arrivals = system_.arrivals;
    std::size_t next = 0;
    while (true) {
      Instant at = world_.next_event();
      if (next < arrivals.size()) at = std::min(at, Instant(Nanos{arrivals[next].at_ns}));
      if (!cancels_.empty()) at = std::min(at, cancels_.begin()->first);
      if (at == Instant::Max()) break;
      world_.AdvanceTo(at);
      for (; !cancels_.empty() && cancels_.begin()->first <= at; cancels_.erase(cancels_.begin())) {
        Cancel(cancels_.begin()->second);
      }
      for (; next < arrivals.size() && arrivals[next].at_ns <= at.count(); ++next) {
        Submit(arrivals[next]);
      }
      world_.PumpWoken();
      balanced_ = balanced_ && Balanced();
    }
  }

  void Check() const {
    CHECK(judge_.broken() == Judge::Broken());
    CHECK(world_.ended_early() == 0);
    CHECK(balanced_);
    CHECK(misjudged_cancels_ == 0);
    CHECK(scheduler_.idle());
    CHECK(scheduler_.status().ok());
    CHECK(judge_.ended() == system_.arrivals.size());
    CHECK(judge_.all_retired());
    CHECK(world_.ended() == scheduler_.counters().runs);
    CHECK(world_.launched() == scheduler_.counters().steps);
    // One completion a step counts, however many came.
    CHECK(scheduler_.counters().stray_completions == world_.told() - world_.launched());
    sched::StreamCounters sum;
    for (std::uint32_t s = 0; s < system_.streams; ++s) {
      const sched::StreamCounters& c = scheduler_.counters(sched::StreamId(s));
      CHECK(c.in_flight == 0);
      sum.ok += c.ok;
      sum.failed += c.failed;
      sum.cancelled += c.cancelled;
    }
    CHECK(sum.ok == judge_.count(Outcome::kOk));
    CHECK(sum.failed == judge_.count(Outcome::kFailed));
    CHECK(sum.cancelled == judge_.count(Outcome::kCancelled));
  }

  const Judge& judge() const { return judge_; }
  std::uint64_t strays() const { return scheduler_.counters().stray_completions; }

 private:
  void Submit(const testing::HarnessArrival& arrival) {
    const std::int64_t dims[] = {arrival.seq, 1};
    judge_.Submitted(arrival.stream);
    const auto id = scheduler_.Submit(sched::StreamId(arrival.stream), dims, arrival.timeout, 0);
    if (!id.ok() || prng_.Below(3) > 0) return;
    const auto wait = Nanos{static_cast<std::int64_t>(prng_.Below(2500))};
    cancels_.emplace(world_.Now() + wait, *id);
    // Somebody asks again.
    if (prng_.Below(4) == 0) cancels_.emplace(world_.Now() + 2 * wait, *id);
  }

  void Cancel(sched::RequestId id) {
    const bool live = !judge_.HasEnded(id);
    // Told before: a waiting request ends within the call.
    if (live) judge_.Cancelled(id);
    const Status status = scheduler_.Cancel(id);
    const bool as_expected = live ? status.ok() : status.code() == StatusCode::kNotFound;
    if (!as_expected) ++misjudged_cancels_;
  }

  bool Balanced() const {
    for (std::uint32_t s = 0; s < system_.streams; ++s) {
      const sched::StreamCounters& c = scheduler_.counters(sched::StreamId(s));
      if (c.submitted != c.ok + c.rejected + c.expired + c.cancelled + c.failed + c.in_flight) {
        return false;
      }
    }
    return true;
  }

  base::Prng prng_;
  System system_;
  sched::DomainTable domains_;
  std::shared_ptr<sched::Model> model_;
  HostileWorld world_;
  Judge judge_;
  sched::Scheduler scheduler_;
  std::multimap<Instant, sched::RequestId> cancels_;
  bool balanced_ = true;
  std::size_t misjudged_cancels_ = 0;
};

System HostileSystem(std::uint64_t seed, std::uint32_t depth) {
  base::Prng prng(seed);
  const auto classes = prng.Below(2) == 0 ? testing::Classes::kOne : testing::Classes::kSeveral;
  System system = RandomSystem(seed, testing::GraphShape::Bytes::kNone, depth, classes);
  if (prng.Below(3) == 0) {
    testing::GraphShape shape;
    shape.tasks = 1 + static_cast<std::uint32_t>(prng.Below(6));
    shape.cores = 1;
    system.plan =
        testing::LoopPlanOf(testing::RandomGraph(prng, shape), static_cast<int>(prng.Below(4)));
  }
  return system;
}

}  // namespace

TEST_CASE(
    "whatever the world does with completions and callers with cancels, every request ends "
    "once, no step runs twice or before its inputs, and what is of nobody is counted",
    "[exec][conformance][property]") {
  const auto seed = GENERATE(range(0u, 250u));
  const auto depth = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed, depth);
  Trial trial(seed, HostileSystem(seed, depth), depth);
  trial.Serve();
  trial.Check();
}

TEST_CASE(
    "the hostile worlds are hostile: requests fail, are cancelled and end well, and strays come",
    "[exec][conformance]") {
  std::uint64_t ok = 0, failed = 0, cancelled = 0, strays = 0, held = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    Trial trial(seed, HostileSystem(seed, 2), 2);
    trial.Serve();
    ok += trial.judge().count(Outcome::kOk);
    failed += trial.judge().count(Outcome::kFailed);
    cancelled += trial.judge().count(Outcome::kCancelled);
    strays += trial.strays();
    held += trial.judge().held();
  }
  CHECK(held > 5);
  CHECK(ok > 100);
  CHECK(failed > 100);
  CHECK(cancelled > 100);
  CHECK(strays > 1000);
}

}  // namespace leeway
