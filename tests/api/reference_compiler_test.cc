#include "leeway/reference_compiler.h"

#include <chrono>

#include "leeway/evaluate.h"
#include "leeway/simulate.h"
#include "plan/body.h"
#include "retune/plan_buckets.h"
#include "tests/catch.h"
#include "tests/retune/support/toy_plan.h"

namespace leeway {
namespace {

Device DefaultDevice() { return Device::Load("onnxim_tpuv4_c4").value(); }

RetuneRequest RequestFor(const Plan& plan) {
  RetuneRequest request;
  request.plan_digest = plan.digest();
  request.device_digest = DefaultDevice().digest();
  return request;
}

RetuneAction Action(RetuneAction::Kind kind, std::int64_t from, std::int64_t to,
                    std::string dim = "seq") {
  RetuneAction action;
  action.kind = kind;
  action.dim = std::move(dim);
  action.from = from;
  action.to = to;
  return action;
}

std::vector<std::int64_t> EdgesOf(const Plan& plan) {
  const plan::Body& body = *plan.body();
  const plan::Entry& entry = body.entries[retune::FindEntry(body, "").value()];
  return retune::PlanBuckets(body, entry, *body.FindDim("seq")).edges();
}

TEST_CASE("the built-in compiler does what it is asked and declines the rest with a reason",
          "[api][compiler]") {
  using Kind = RetuneAction::Kind;
  const Plan plan = testing::MakeToyPlan({.edges = {100, 400, 1000}});
  RetuneRequest request = RequestFor(plan);
  request.actions = {Action(Kind::kMoveBucket, 100, 128), Action(Kind::kAddBucket, 0, 700),
                     Action(Kind::kDropBucket, 400, 0),   Action(Kind::kMoveBucket, 100, 90),
                     Action(Kind::kAddBucket, 0, 5000),   Action(Kind::kAddBucket, 0, 5, "heads")};
  ReferenceCompiler compiler(plan, DefaultDevice());
  double told = 0;
  CompileContext context;
  context.progress = [&told](double share) { told = share; };
  const RetuneResponse response = compiler.Compile(request, context).value();
  CHECK(response.accepted == std::vector<std::size_t>{0, 1, 2});
  REQUIRE(response.declined.size() == 3);
  CHECK(response.declined[0].action == 3);
  CHECK(response.declined[0].reason == "no bucket ends at 100");
  CHECK(response.declined[1].reason == "edge 5000 is outside the domain [1, 4096]");
  CHECK(response.declined[2].reason == "only dim \"seq\" is bucketed here");
  CHECK(EdgesOf(response.plan) == std::vector<std::int64_t>{128, 700, 1000});
  CHECK(response.compile_time > Nanos(0));
  CHECK(told == 1);
}

TEST_CASE("asked for nothing, the built-in compiler hands back the plan it has",
          "[api][compiler]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100}});
  ReferenceCompiler compiler(plan, DefaultDevice());
  CHECK(compiler.Compile(RequestFor(plan), {}).value().plan.digest() == plan.digest());
}

TEST_CASE("a request for another plan or device, a cancellation and a deadline end a compilation",
          "[api][errors]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100}});
  ReferenceCompiler compiler(plan, DefaultDevice());
  RetuneRequest other = RequestFor(testing::MakeToyPlan({.edges = {200}}));
  CHECK(compiler.Compile(other, {}).status().code() == StatusCode::kFailedPrecondition);
  other = RequestFor(plan);
  other.device_digest = std::string(64, '0');
  CHECK(compiler.Compile(other, {}).status().message().find("the request is for device 0000") == 0);
  CompileContext context;
  context.cancelled = [] { return true; };
  CHECK(compiler.Compile(RequestFor(plan), context).status().code() == StatusCode::kCancelled);
  context = {};
  context.deadline = std::chrono::steady_clock::time_point::min();
  CHECK(compiler.Compile(RequestFor(plan), context).status().code() ==
        StatusCode::kDeadlineExceeded);
}

TEST_CASE("the loop closes on a model that ships: drift, advice, a compiled answer, a better plan",
          "[api][story]") {
  const Device device = DefaultDevice();
  const Plan model = Plan::Load("bert_base").value();
  // A plan that the same compiler made for other lengths.
  RetuneRequest first = RequestFor(model);
  ReferenceCompiler made_by(model, device);
  std::vector<std::int64_t> edges = EdgesOf(model);
  REQUIRE(edges.back() == 512);
  for (const std::int64_t edge : edges) {
    if (edge != 512) first.actions.push_back(Action(RetuneAction::Kind::kDropBucket, edge, 0));
  }
  first.actions.push_back(Action(RetuneAction::Kind::kAddBucket, 0, 100));
  const Plan plan = made_by.Compile(first, {}).value().plan;
  CHECK(EdgesOf(plan) == std::vector<std::int64_t>{100, 512});

  const Traffic traffic = Traffic::Poisson(200, 20s, "seq", {150, 160, 170, 500}).value();
  const SimResult served = Simulate(plan, device, traffic, {.seed = 1}).value();
  const DriftReport drift = DetectDrift(plan, served.telemetry(), {.device = device}).value();
  CHECK(drift.basis == CostBasis::kDevice);
  CHECK(drift.drifted);
  const RetuneRequest ask = Advise(plan, device, served.recording()).value();
  REQUIRE(ask.actions.size() == 1);
  CHECK(ask.actions[0].from == 100);
  CHECK(ask.basis == CostBasis::kDevice);
  ReferenceCompiler compiler(plan, device);
  const RetuneResponse answer = compiler.Compile(ask, {}).value();
  CHECK(answer.declined.empty());
  const Evaluation judged =
      Evaluate(plan, answer.plan, device, traffic, {}, {.seed = 2, .primary = Metric::kMean})
          .value();
  INFO(judged.reason);
  CHECK(judged.verdict == Verdict::kBetter);
  CHECK(-judged.metric(Metric::kWork).change == Approx(ask.predicted_gain).margin(0.05));
}

}  // namespace
}  // namespace leeway
