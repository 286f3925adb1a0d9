#include "leeway/evaluate.h"

#include "tests/catch.h"
#include "tests/retune/support/toy_plan.h"

namespace leeway {
namespace {

Device DefaultDevice() { return Device::Load("onnxim_tpuv4_c4").value(); }

Traffic Prompts(double rate, Nanos span) {
  return Traffic::Poisson(rate, span, "seq", {60, 200, 300, 900}).value();
}

const GuardrailResult& Guard(const Evaluation& evaluation, std::string_view name) {
  for (const GuardrailResult& guardrail : evaluation.guardrails) {
    if (guardrail.name == name) return guardrail;
  }
  FAIL("no guardrail " << name);
  return evaluation.guardrails.front();
}

TEST_CASE("a plan compared with itself changes nothing, exactly", "[api][evaluate]") {
  const Plan plan = testing::MakeToyPlan({.edges = {256, 1024}});
  const Evaluation same = Evaluate(plan, plan, DefaultDevice(), Prompts(1000, 5s)).value();
  CHECK(same.verdict == Verdict::kNoEvidence);
  REQUIRE(same.metrics.size() == 5);
  for (const MetricChange& metric : same.metrics) {
    CAPTURE(MetricName(metric.metric));
    CHECK(metric.before == metric.after);
    CHECK(metric.before > 0);
    CHECK(metric.change == 0);
    REQUIRE(metric.interval);
    CHECK(metric.interval->low == 0);
    CHECK(metric.interval->high == 0);
  }
  for (const GuardrailResult& guardrail : same.guardrails) {
    CHECK(guardrail.ok);
    CHECK(guardrail.value == 0);
  }
  CHECK(same.windows >= 6);
  CHECK(same.before.counts.submitted == same.after.counts.submitted);
}

TEST_CASE("better one way round is worse the other", "[api][evaluate]") {
  const Plan loose = testing::MakeToyPlan({.edges = {4096}});
  const Plan tight = testing::MakeToyPlan({.edges = {60, 200, 300, 900}});
  const Device device = DefaultDevice();
  const Evaluation better = Evaluate(loose, tight, device, Prompts(1000, 5s)).value();
  CHECK(better.verdict == Verdict::kBetter);
  CHECK(better.metric(Metric::kP99).interval->high < 0);
  CHECK(better.metric(Metric::kWork).change < -0.5);
  const Evaluation worse = Evaluate(tight, loose, device, Prompts(1000, 5s)).value();
  CHECK(worse.verdict == Verdict::kWorse);
  CHECK_FALSE(Guard(worse, "p99").ok);
  CHECK_FALSE(Guard(worse, "stream").ok);
  CHECK(Guard(worse, "stream").note == "p99 of stream \"default\"");
  CHECK(worse.before.work == better.after.work);
}

TEST_CASE("percentiles are exact, not those of a sketch", "[api][evaluate]") {
  // Every request alone on an idle device takes one of two times.
  const Plan plan = testing::MakeToyPlan({.edges = {256, 1024}});
  const Traffic slow = Traffic::Poisson(5, 1000s, "seq", {256, 1024}).value();
  const Evaluation same = Evaluate(plan, plan, DefaultDevice(), slow).value();
  CHECK(same.metric(Metric::kP50).before >= static_cast<double>(same.before.latency.min.count()));
  // The sketch's p99 is its bucket's end or the maximum, at most 0.27 % above.
  const double sketch = static_cast<double>(same.before.latency.p99.count());
  CHECK(same.metric(Metric::kP99).before <= sketch);
  CHECK(same.metric(Metric::kP99).before >= sketch / 1.0028);
}

TEST_CASE("a guardrail that does not hold outweighs a better metric", "[api][evaluate]") {
  // Tight buckets, but the longest quarter of requests has none.
  const Plan loose = testing::MakeToyPlan({.edges = {4096}});
  const Plan holes = testing::MakeToyPlan({.edges = {60, 200, 300}});
  EvaluateOptions options;
  options.primary = Metric::kP50;
  const Evaluation judged =
      Evaluate(loose, holes, DefaultDevice(), Prompts(1000, 5s), {}, options).value();
  CHECK(judged.metric(Metric::kP50).interval->high < 0);
  CHECK_FALSE(Guard(judged, "fallback_rate").ok);
  CHECK(Guard(judged, "fallback_rate").value == Approx(0.25).margin(0.03));
  CHECK(judged.verdict == Verdict::kWorse);
  CHECK(judged.reason.find("guardrail fallback_rate: +2") == 0);
  Guardrails allowed;
  allowed.max_fallback_rate_rise = 0.5;
  allowed.max_p99_change = allowed.max_stream_change = 10;
  CHECK(Evaluate(loose, holes, DefaultDevice(), Prompts(1000, 5s), allowed, options)
            .value()
            .verdict == Verdict::kBetter);
}

TEST_CASE("too few requests in the tail are no ground for a verdict", "[api][evaluate]") {
  const Plan loose = testing::MakeToyPlan({.edges = {4096}});
  const Plan tight = testing::MakeToyPlan({.edges = {60, 200, 300, 900}});
  // About 1,000 requests: ten above p99, fifty above p95.
  const Traffic few = Prompts(200, 5s);
  const Evaluation judged = Evaluate(loose, tight, DefaultDevice(), few).value();
  CHECK(judged.verdict == Verdict::kInsufficient);
  CHECK_FALSE(judged.metric(Metric::kP99).interval);
  CHECK(judged.metric(Metric::kP95).interval);
  CHECK(judged.reason.find("requests lie above p99; at least 30 are needed") != std::string::npos);
  EvaluateOptions by_p95;
  by_p95.primary = Metric::kP95;
  CHECK(Evaluate(loose, tight, DefaultDevice(), few, {}, by_p95).value().verdict ==
        Verdict::kBetter);
}

TEST_CASE("equal seeds evaluate equally, and arrivals follow the seed", "[api][determinism]") {
  const Plan loose = testing::MakeToyPlan({.edges = {512, 4096}});
  const Plan tight = testing::MakeToyPlan({.edges = {512, 1024}});
  auto judged = [&](std::uint64_t seed) {
    return Evaluate(loose, tight, DefaultDevice(), Prompts(1000, 4s), {}, {.seed = seed}).value();
  };
  const Evaluation a = judged(1), b = judged(1), c = judged(2);
  CHECK(a.metric(Metric::kMean).interval->low == b.metric(Metric::kMean).interval->low);
  CHECK(a.metric(Metric::kMean).before == b.metric(Metric::kMean).before);
  CHECK(a.metric(Metric::kMean).before != c.metric(Metric::kMean).before);
}

TEST_CASE("plans of other dims, domains or entries cannot be compared, and the message says which",
          "[api][errors]") {
  const Plan plan = testing::MakeToyPlan({.edges = {512}});
  auto message = [&](const testing::ToyPlan& other) {
    const auto result =
        Evaluate(plan, testing::MakeToyPlan(other), DefaultDevice(), Prompts(10, 1s));
    CHECK(result.status().code() == StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  CHECK(message({.edges = {512}, .dim = "length"}) ==
        "dim \"seq\" is in the plan before, not in the one after");
  CHECK(message({.edges = {512}, .domain_max = 1024})
            .find("[1, 4096] in the plan before, [1, "
                  "1024] in the one after") != std::string::npos);
  CHECK(message({.edges = {512}, .entry = "decode"}) ==
        "the plan before runs entry \"main\", the one after \"decode\"");
}

TEST_CASE("options out of range and traffic without requests are refused", "[api][errors]") {
  const Plan plan = testing::MakeToyPlan({.edges = {512}});
  EvaluateOptions options;
  options.confidence = 1;
  CHECK(Evaluate(plan, plan, DefaultDevice(), Prompts(10, 1s), {}, options).status().message() ==
        "confidence is 1; between 0 and 1");
  options = {};
  options.resamples = 0;
  CHECK(Evaluate(plan, plan, DefaultDevice(), Prompts(10, 1s), {}, options).status().message() ==
        "resamples is 0; between 1 and 100000");
  const Status empty = Evaluate(plan, plan, DefaultDevice(), Prompts(10, 1s).First(0ns)).status();
  CHECK(empty.code() == StatusCode::kInvalidArgument);
  CHECK(empty.message() == "plan before: the traffic holds no request");
}

}  // namespace
}  // namespace leeway
