#include "leeway/guardrails.h"

#include <limits>

#include "support/sample_loop.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

const Guardrail& Named(const std::vector<Guardrail>& all, const std::string& name) {
  for (const Guardrail& guardrail : all) {
    if (guardrail.name == name) return guardrail;
  }
  FAIL("no guardrail " << name);
  return all.front();
}

TEST_CASE("a window that needs more than a fifth more work fails its guardrail", "[report]") {
  LoopSummary summary = SampleLoop();
  for (const auto& [worst, ok] : {std::pair{-0.1, true}, {0.2, true}, {0.2001, false}}) {
    summary.worst_window = worst;
    const Guardrail guardrail = Named(CheckGuardrails(summary), "worst_window");
    CHECK(guardrail.ok == ok);
    CHECK(guardrail.value == worst);
    CHECK(guardrail.limit == 0.2);
  }
}

TEST_CASE("p99 fails its guardrail only when the whole interval of its gain is a loss",
          "[report]") {
  LoopSummary summary = SampleLoop();
  summary.gain.p99 = {-0.05, std::pair(-0.1, 0.01)};
  CHECK(Named(CheckGuardrails(summary), "p99").ok);
  summary.gain.p99 = {-0.05, std::pair(-0.1, -0.2)};
  const Guardrail failed = Named(CheckGuardrails(summary), "p99");
  CHECK(!failed.ok);
  CHECK(*failed.value == Approx(0.25));  // 1/(1 − 0.2) − 1
  summary.gain.p99->interval.reset();
  const Guardrail unknown = Named(CheckGuardrails(summary), "p99");
  CHECK(unknown.ok);
  CHECK(!unknown.value);
}

TEST_CASE("guardrails judge by finite numbers only", "[report]") {
  LoopSummary summary = SampleLoop();
  summary.worst_window = std::numeric_limits<double>::quiet_NaN();
  summary.gain.p99->interval = {-2, std::numeric_limits<double>::infinity()};
  for (const Guardrail& guardrail : CheckGuardrails(summary)) {
    CHECK(guardrail.ok);
    CHECK(!guardrail.value);
  }
}

}  // namespace
}  // namespace leeway::testing
