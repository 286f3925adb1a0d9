#include "leeway/retune.h"

#include <algorithm>
#include <numeric>

#include "leeway/compile.h"
#include "leeway/evaluate.h"
#include "leeway/simulate.h"
#include "tests/catch.h"
#include "tests/retune/support/toy_plan.h"

namespace leeway {
namespace {

Device DefaultDevice() { return Device::Load("onnxim_tpuv4_c4").value(); }

Recording RecordingOf(double rate, Nanos span, std::vector<std::int64_t> lengths,
                      std::uint64_t seed = 1) {
  return Recording(Traffic::Poisson(rate, span, "seq", std::move(lengths)).value(), {.seed = seed});
}

std::uint64_t Sum(const ObservedDim& dim) {
  return std::accumulate(dim.lengths.begin(), dim.lengths.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

TEST_CASE("a plan that fits its traffic is left alone, and the request says why", "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100, 400, 1000}});
  const RetuneRequest ask =
      Advise(plan, DefaultDevice(), RecordingOf(100, 60s, {100, 400, 1000})).value();
  CHECK(ask.actions.empty());
  CHECK(ask.predicted_gain == 0);
  CHECK(ask.reason == "dim \"seq\": regret 0 % is not above 3 %");
  CHECK(ask.dim("seq")->edges_after == ask.dim("seq")->edges_before);
  CHECK(ask.plan_digest == plan.digest());
  CHECK(ask.device_digest == DefaultDevice().digest());
  CHECK(ask.entry == "main");
  CHECK(ask.limits.max_variants == 3);
  CHECK(ask.expires_after == 24h);
}

TEST_CASE("small samples of the traffic that a plan was tuned to ask for nothing",
          "[api][advise]") {
  const Device device = DefaultDevice();
  std::vector<std::int64_t> lengths(1000);
  std::iota(lengths.begin(), lengths.end(), 1);
  // Tuned on 30,000 requests: the same advice until there is none.
  std::vector<std::int64_t> edges = {250, 500, 750, 1000};
  const Recording large = RecordingOf(500, 60s, lengths, 99);
  auto plan = [&] { return testing::MakeToyPlan({.edges = edges, .domain_max = 1000}); };
  AdviseOptions many;
  many.max_actions = 8;
  many.tau = 0;
  for (int round = 0; round < 4; ++round) {
    edges = Advise(plan(), device, large, many).value().dim("seq")->edges_after;
  }
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    const RetuneRequest ask = Advise(plan(), device, RecordingOf(10, 60s, lengths, seed)).value();
    CHECK(ask.actions.empty());
    CHECK(ask.dim("seq")->regret < 0.01);
  }
}

TEST_CASE("an edge one token too low is moved up by one token", "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100, 400, 1000}});
  const RetuneRequest ask =
      Advise(plan, DefaultDevice(), RecordingOf(100, 60s, {101, 101, 400, 1000})).value();
  REQUIRE(ask.actions.size() == 1);
  const RetuneAction& action = ask.actions[0];
  CHECK(action.kind == RetuneAction::Kind::kMoveBucket);
  CHECK(action.dim == "seq");
  CHECK(action.from == 100);
  CHECK(action.to == 101);
  CHECK(action.predicted_gain == ask.predicted_gain);
  CHECK(action.predicted_gain > 0.2);
  CHECK(action.owner == "compiler");
  CHECK(action.rollback.find(plan.digest().substr(0, 12)) != std::string::npos);
  CHECK(action.evidence.text.find("have \"seq\" in (0, 101] and are padded to 400") !=
        std::string::npos);
  CHECK(ask.dim("seq")->edges_after == std::vector<std::int64_t>{101, 400, 1000});
}

TEST_CASE("a bucket is added where the limit has room, and the top one always stays",
          "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {4096}});
  const Recording recording = RecordingOf(100, 60s, {50, 300});
  CHECK(Advise(plan, DefaultDevice(), recording).value().actions.empty());
  AdviseOptions options;
  options.max_variants = 3;
  const RetuneRequest ask = Advise(plan, DefaultDevice(), recording, options).value();
  REQUIRE(ask.actions.size() == 2);
  for (const RetuneAction& action : ask.actions) {
    CHECK(action.kind == RetuneAction::Kind::kAddBucket);
  }
  CHECK(ask.dim("seq")->edges_after == std::vector<std::int64_t>{50, 300, 4096});
}

TEST_CASE("requests past the top edge move it up", "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {512}});
  const RetuneRequest ask =
      Advise(plan, DefaultDevice(), RecordingOf(100, 60s, {512, 700})).value();
  REQUIRE(ask.actions.size() == 1);
  CHECK(ask.actions[0].from == 512);
  CHECK(ask.actions[0].to == 700);
  CHECK(ask.actions[0].evidence.text.find("run unfused") != std::string::npos);
}

TEST_CASE("variants above the limit are dropped, at a price", "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100, 390, 400, 1000}});
  AdviseOptions options;
  options.max_variants = 3;
  const RetuneRequest ask =
      Advise(plan, DefaultDevice(), RecordingOf(100, 60s, {100, 390, 400, 1000}), options).value();
  REQUIRE_FALSE(ask.actions.empty());
  CHECK(ask.actions[0].kind == RetuneAction::Kind::kDropBucket);
  CHECK(ask.actions[0].from == 390);
  CHECK(ask.actions[0].to == 0);
  CHECK(ask.actions[0].predicted_gain < 0);
}

TEST_CASE("no more actions are asked for than allowed", "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100, 200, 300, 400, 4096}});
  const Recording recording = RecordingOf(100, 60s, {101, 201, 301, 401});
  for (int allowed = 1; allowed <= 5; ++allowed) {
    AdviseOptions options;
    options.max_actions = allowed;
    const RetuneRequest ask = Advise(plan, DefaultDevice(), recording, options).value();
    CHECK(ask.actions.size() == static_cast<std::size_t>(std::min(allowed, 4)));
  }
}

TEST_CASE("a retune that does not pay back is not asked for", "[api][advise]") {
  const Device device = DefaultDevice();
  auto plan = [&](std::vector<std::int64_t> edges) {
    return Compile(testing::MakeToyPlan({.edges = {4096}}), device, {.buckets = std::move(edges)})
        .value();
  };
  const Recording recording = RecordingOf(100, 60s, {1001, 1001, 2400, 4000});
  // What the move saves in the minute that was seen, by the engine's own account.
  auto work = [&](const Plan& served) {
    return Simulate(served, device, recording.traffic(), {.seed = 1}).value().summary().work;
  };
  const Plan serving = plan({1000, 2400, 4000});
  const Nanos saved = work(serving) - work(plan({1001, 2400, 4000}));
  REQUIRE(saved > Nanos(0));
  AdviseOptions options;
  options.horizon = 60s;
  options.retune_cost = saved * 4 / 10;
  CHECK(Advise(serving, device, recording, options).value().actions.size() == 1);
  options.retune_cost = saved * 6 / 10;
  const RetuneRequest ask = Advise(serving, device, recording, options).value();
  CHECK(ask.actions.empty());
  CHECK(ask.reason.find("times the cost of the retune, not above 2") != std::string::npos);
}

TEST_CASE("the observed shapes are joint, exact while few and bounded when many", "[api][advise]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100, 400}});
  const Recording few = RecordingOf(100, 60s, {100, 400});
  const RetuneRequest ask = Advise(plan, DefaultDevice(), few).value();
  REQUIRE(ask.observed.size() == 2);
  REQUIRE(ask.observed[0].dims.size() == 2);
  CHECK(ask.observed[0].dims[0].dim == "seq");
  CHECK(ask.observed[0].dims[0].value == 100);
  CHECK(ask.observed[0].count + ask.observed[1].count == Sum(ask.dims[0]));

  const Plan wide = testing::MakeToyPlan({.edges = {100'000}, .domain_max = 100'000});
  std::vector<std::int64_t> lengths(20'000);
  std::iota(lengths.begin(), lengths.end(), 80'001);
  const RetuneRequest many = Advise(wide, DefaultDevice(), RecordingOf(500, 60s, lengths)).value();
  CHECK(many.observed.size() <= 4096);
  std::uint64_t requests = 0;
  for (const ObservedShape& shape : many.observed) {
    requests += shape.count;
    CHECK(shape.dims[0].value <= 100'000);
  }
  CHECK(requests == Sum(many.dims[0]));
}

TEST_CASE("an empty recording and options out of range are refused by name", "[api][errors]") {
  const Plan plan = testing::MakeToyPlan({.edges = {100, 400}});
  const Traffic none = Traffic::Poisson(1, 60s, "seq", {100}).value().First(0ns);
  CHECK(Advise(plan, DefaultDevice(), Recording(none)).status().message() ==
        "the recording holds no request");
  const Recording recording = RecordingOf(10, 10s, {100});
  AdviseOptions options;
  options.max_actions = 0;
  CHECK(Advise(plan, DefaultDevice(), recording, options).status().message() ==
        "max_actions is 0; between 1 and 64");
  options = {};
  options.phi = 0;
  CHECK(Advise(plan, DefaultDevice(), recording, options).status().message() ==
        "phi is 0; between 1 and 1000");
  const Recording elsewhere(recording.traffic(), {.entry = "decode"});
  CHECK(Advise(plan, DefaultDevice(), elsewhere).status().code() == StatusCode::kNotFound);
  const Recording unbound(recording.traffic(), {.bind = {{"tokens", "seq"}}});
  CHECK(Advise(plan, DefaultDevice(), unbound).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE(
    "shifted lengths are drift, are acted on, and the new plan is better on traffic that it "
    "was not fitted to",
    "[api][story]") {
  const Device device = DefaultDevice();
  const Plan plan = testing::MakeToyPlan({.edges = {256, 1024, 4096}});
  const std::vector<std::int64_t> shifted = {300, 310, 320, 1100, 1200, 3000};
  const SimResult served =
      Simulate(plan, device, Traffic::Poisson(2000, 5s, "seq", shifted).value(), {.seed = 1})
          .value();
  CHECK(DetectDrift(plan, served.telemetry()).value().drifted);
  const RetuneRequest ask = Advise(plan, device, served.recording()).value();
  REQUIRE_FALSE(ask.actions.empty());
  const Plan retuned = testing::MakeToyPlan({.edges = ask.dim("seq")->edges_after});
  const Evaluation evaluation =
      Evaluate(plan, retuned, device, Traffic::Poisson(2000, 5s, "seq", shifted).value(), {},
               {.seed = 2, .primary = Metric::kMean})
          .value();
  CHECK(evaluation.verdict == Verdict::kBetter);
  // The work saved is the gain that was predicted, on other draws of the same traffic.
  CHECK(-evaluation.metric(Metric::kWork).change == Approx(ask.predicted_gain).margin(0.1));
}

}  // namespace
}  // namespace leeway
