// A simulation taken apart, so that a test can look at the policy at every dispatch. Whatever it
// serves, the laws of laws.h are checked.

#ifndef LEEWAY_TESTS_EXEC_HARNESS_H_
#define LEEWAY_TESTS_EXEC_HARNESS_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "exec/attributor.h"
#include "exec/simulated_world.h"
#include "sched/scheduler.h"
#include "tests/catch.h"
#include "tests/exec/laws.h"
#include "tests/support/task_graphs.h"

namespace leeway::testing {

struct HarnessArrival {
  std::int64_t at_ns = 0;
  std::uint32_t stream = 0;
  std::int64_t seq = 1;
  Nanos timeout{0};
  Nanos cancel_after = Nanos::max();
};

// Passes what the policy and the world tell on to the attributor and, first, to a test's hooks.
class Watch final : public sched::Observer, public exec::StepListener {
 public:
  Watch(exec::Attributor& attributor, Laws& laws) : attributor_(attributor), laws_(laws) {}

  std::function<void(sched::CoreId, const sched::StepRef&)> on_launch, on_retired, on_started;
  std::function<void(sched::CoreId, const sched::StepRef&, Nanos)> on_finished;
  std::function<void(sched::RunId, const sched::Run&)> on_run_started;
  std::function<void(const sched::Request&)> on_response_held;
  std::function<void(const sched::Request&, Outcome, const sched::Run*)> on_request_ended;

  void OnRunStarted(sched::RunId id, const sched::Run& run) override {
    if (on_run_started) on_run_started(id, run);
    attributor_.OnRunStarted(id, run);
  }
  void OnReady(sched::RunId id, const sched::Run& run, sched::NodeId node,
               sched::NodeId by) override {
    attributor_.OnReady(id, run, node, by);
  }
  void OnLaunch(sched::CoreId core, const sched::StepRef& step) override {
    laws_.Launched(core, step);
    if (on_launch) on_launch(core, step);
  }
  void OnRetired(sched::CoreId core, const sched::StepRef& step) override {
    laws_.Retired(core, step);
    if (on_retired) on_retired(core, step);
    attributor_.OnRetired(core, step);
  }
  void OnRoundEnded(sched::RunId id, const sched::Run& run, std::uint32_t frame,
                    sched::NodeId last) override {
    attributor_.OnRoundEnded(id, run, frame, last);
  }
  void OnResponseHeld(const sched::Request& request, const sched::Run& run) override {
    laws_.ResponseHeld(request);
    if (on_response_held) on_response_held(request);
    attributor_.OnResponseHeld(request, run);
  }
  void OnRequestEnded(const sched::Request& request, Outcome outcome,
                      const sched::Run* run) override {
    laws_.RequestEnded(request, outcome);
    if (on_request_ended) on_request_ended(request, outcome, run);
    attributor_.OnRequestEnded(request, outcome, run);
  }
  void OnStarted(sched::CoreId core, const sched::StepRef& step) override {
    laws_.Started(core);
    if (on_started) on_started(core, step);
    attributor_.OnStarted(core, step);
  }
  void OnFinished(sched::CoreId core, const sched::StepRef& step,
                  const exec::StepTimes& times) override {
    laws_.Finished(core, times.duration);
    if (on_finished) on_finished(core, step, times.duration);
    attributor_.OnFinished(core, step, times);
  }
  void OnRunEnded(sched::RunId run) override { attributor_.OnRunEnded(run); }

 private:
  exec::Attributor& attributor_;
  Laws& laws_;
};

class Harness {
 public:
  Harness(std::shared_ptr<const plan::Body> plan, std::shared_ptr<const device::Spec> device,
          const sched::SchedulerOptions& options = {}, double phi = 1)
      : device_(std::move(device)),
        model_(sched::Model::Create(std::move(plan), device_, "", phi, domains_).value()),
        attributor_(
            *device_, domains_,
            [this](const exec::RequestRecord& record) {
              if (on_ok) on_ok(record);
            },
            [](const sched::Request&, Outcome) {}),
        laws_(world, scheduler, domains_, *device_, WithMoving(options).moving),
        watch(attributor_, laws_),
        world(*device_, &watch),
        scheduler(world, *device_, domains_, WithMoving(options), &watch) {
    world.Attach(scheduler);
    attributor_.Attach(world);
  }

  sched::StreamId Open(Priority priority, std::uint32_t max_queue_size = 0,
                       Nanos timeout = Nanos{0},
                       sched::TimeoutAction action = sched::TimeoutAction::kReject) {
    sched::StreamSpec spec;
    spec.name = "stream";
    spec.priority = priority;
    spec.max_queue_size = max_queue_size;
    spec.timeout = timeout;
    spec.timeout_action = action;
    spec.model = model_;
    return scheduler.OpenStream(std::move(spec)).value();
  }

  sched::StreamId Open(sched::StreamSpec spec) {
    spec.name = "stream";
    spec.model = model_;
    return scheduler.OpenStream(std::move(spec)).value();
  }

  Result<sched::RequestId> Submit(const HarnessArrival& arrival) {
    const std::int64_t dims[] = {arrival.seq, 1};
    laws_.Submitted(sched::StreamId(arrival.stream));
    return scheduler.Submit(sched::StreamId(arrival.stream), dims, arrival.timeout, 0);
  }

  // Serves the arrivals, which rise in time, and everything they lead to.
  void Serve(const std::vector<HarnessArrival>& arrivals) {
    std::size_t next = 0;
    // What was submitted before.
    world.PumpWoken();
    while (true) {
      Instant at = world.next_event();
      if (next < arrivals.size()) at = std::min(at, Instant(Nanos{arrivals[next].at_ns}));
      if (!cancels_.empty()) at = std::min(at, cancels_.begin()->first);
      if (at == Instant::Max()) break;
      world.AdvanceTo(at);
      for (; !cancels_.empty() && cancels_.begin()->first <= at; cancels_.erase(cancels_.begin())) {
        (void)scheduler.Cancel(cancels_.begin()->second);
      }
      for (; next < arrivals.size() && arrivals[next].at_ns <= at.count(); ++next) {
        const Result<sched::RequestId> id = Submit(arrivals[next]);
        const Nanos cancel_after = arrivals[next].cancel_after;
        if (id.ok() && cancel_after < Instant::Max() - at) cancels_.emplace(at + cancel_after, *id);
      }
      world.PumpWoken();
      laws_.InstantEnded();
      if (after_instant) after_instant();
    }
    CHECK(laws_.Broken() == "");
  }

  const sched::DomainTable& domains() const { return domains_; }
  sched::Model& model() { return *model_; }
  const exec::Attributor& attributor() const { return attributor_; }
  const Laws& laws() const { return laws_; }

  std::function<void(const exec::RequestRecord&)> on_ok;
  std::function<void()> after_instant;

 private:
  // Unless the test says what moving costs, it is what the world says.
  sched::SchedulerOptions WithMoving(sched::SchedulerOptions options) {
    const bool keeps = std::any_of(device_->classes.begin(), device_->classes.end(),
                                   [](const auto& of) { return of.resident_bytes > 0; });
    if (keeps && !options.moving) {
      options.moving = [this](const sched::Run& run, sched::NodeId node, sched::CoreId core) {
        return world.FetchTime(run, node, core);
      };
    }
    return options;
  }

  std::shared_ptr<const device::Spec> device_;
  sched::DomainTable domains_;
  std::shared_ptr<sched::Model> model_;
  exec::Attributor attributor_;
  // In order of time, of one time in order of arrival.
  std::multimap<Instant, sched::RequestId> cancels_;
  Laws laws_;

 public:
  Watch watch;
  exec::SimulatedWorld world;
  sched::Scheduler scheduler;
};

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_HARNESS_H_
