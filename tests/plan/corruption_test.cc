// A valid plan with one random corruption is found out, and the field is named.
#include <algorithm>
#include <string>
#include <vector>

#include "base/prng.h"
#include "plan/findings.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"
#include "tests/support/random_plan.h"

namespace leeway::plan {
namespace {

using testing::Corruption;
using testing::PlanField;
using testing::RandomPlan;
using testing::Spoilt;

std::vector<std::string> ErrorPaths(const CheckResult& check) {
  std::vector<std::string> paths;
  for (const Finding& finding : check.findings) {
    if (finding.severity == Severity::kError) paths.push_back(finding.path);
  }
  return paths;
}

TEST_CASE("a random plan is valid", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  const std::string text = TextOf(RandomPlan(seed));
  const std::string findings = FindingsOf(Encode(text));
  CAPTURE(text, findings);
  REQUIRE(LoadValidPlan(Encode(text), "random").ok());
}

TEST_CASE("a valid plan with one corruption is found out, and a finding names the field",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  const PlanField plan = RandomPlan(seed);
  base::Prng prng(seed);
  for (const Corruption& corruption : testing::Corruptions()) {
    const Spoilt spoilt = Spoil(plan, corruption, prng);
    if (spoilt.text.empty()) continue;
    CAPTURE(seed, corruption.name, spoilt.path);
    const Result<Loaded> loaded = LoadPlan(Encode(spoilt.text), "spoilt");
    REQUIRE(loaded.ok());
    CHECK_FALSE(loaded->check.ok);
    CHECK(loaded->body == nullptr);
    const std::vector<std::string> paths = ErrorPaths(loaded->check);
    CAPTURE(Describe(loaded->check, "spoilt"));
    CHECK(std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return testing::Names(path, spoilt.path, corruption.enclosing);
    }));
  }
}

TEST_CASE("every corruption has a place in some random plan", "[plan][property]") {
  std::vector<PlanField> plans;
  for (std::uint64_t seed = 0; seed < 40; ++seed) plans.push_back(RandomPlan(seed));
  for (const Corruption& corruption : testing::Corruptions()) {
    CAPTURE(corruption.name, corruption.pattern);
    base::Prng prng(0);
    CHECK(std::any_of(plans.begin(), plans.end(), [&](const PlanField& plan) {
      return !Spoil(plan, corruption, prng).text.empty();
    }));
  }
}

TEST_CASE("a flipped byte never breaks the loader", "[plan][property][hostile]") {
  const auto seed = GENERATE(range(0u, 400u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::string flipped = Encode(TextOf(RandomPlan(seed % 20)));
  for (std::uint64_t i = 0; i <= prng.Below(4); ++i) {
    flipped[prng.Below(flipped.size())] = static_cast<char>(prng.Below(256));
  }
  const Result<Loaded> loaded = LoadPlan(flipped, "flipped");
  if (loaded.ok()) CHECK(loaded->check.ok == (loaded->body != nullptr));
}

}  // namespace
}  // namespace leeway::plan
