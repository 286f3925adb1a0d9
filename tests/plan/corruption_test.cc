// A valid plan with one random corruption is found out, and the field is named.
#include <algorithm>
#include <string>
#include <utility>
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
  const auto seed = GENERATE(range(0u, 16u));
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

std::vector<PlanField*> All(PlanField& message, const std::string& name) {
  std::vector<PlanField*> all;
  for (PlanField& field : message.fields) {
    if (field.name == name) all.push_back(&field);
  }
  return all;
}

std::string At(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

CheckResult Checked(const PlanField& plan) {
  const Result<Loaded> loaded = LoadPlan(Encode(TextOf(plan)), "spoilt");
  REQUIRE(loaded.ok());
  return loaded->check;
}

bool HasError(const CheckResult& check, const std::string& path, const std::string& message) {
  return std::any_of(check.findings.begin(), check.findings.end(), [&](const Finding& finding) {
    return finding.severity == Severity::kError && finding.path == path &&
           finding.message.find(message) != std::string::npos;
  });
}

TEST_CASE("a name that is given twice is found where it is given again", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  const auto repeat = [&](PlanField& plan, PlanField& scope, const std::string& prefix,
                          const std::string& kind) {
    const std::vector<PlanField*> all = All(scope, kind);
    if (all.size() < 2) return;
    const std::string before = std::exchange(all.back()->fields[0].value, all[0]->fields[0].value);
    const CheckResult check = Checked(plan);
    CAPTURE(kind, Describe(check, "spoilt"));
    CHECK(HasError(check, prefix + At(kind, all.size() - 1) + ".name", "repeats the name"));
    all.back()->fields[0].value = before;
  };
  PlanField plan = RandomPlan(seed);
  for (const char* kind : {"dims", "tensors", "entries"}) repeat(plan, plan, "", kind);
  PlanField& entry = *All(plan, "entries")[0];
  for (const char* kind : {"operators", "variants"}) repeat(plan, entry, "entries[0].", kind);
  repeat(plan, *All(entry, "variants")[0], "entries[0].variants[0].", "fusion_groups");
}

TEST_CASE("operators and groups that wait for each other are found, with the way round",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  PlanField plan = RandomPlan(seed);
  PlanField& entry = *All(plan, "entries")[0];
  const std::vector<PlanField*> operators = All(entry, "operators");
  // Each reads the one before: any wait for a later one closes a cycle.
  base::Prng prng(seed);
  const std::size_t first = prng.Below(operators.size());
  const std::size_t last = first + prng.Below(operators.size() - first);
  PlanField cyclic = plan;
  All(*All(cyclic, "entries")[0], "operators")[first]->Add("after",
                                                           operators[last]->fields[0].value);
  const CheckResult check = Checked(cyclic);
  CAPTURE(first, last, Describe(check, "spoilt"));
  std::size_t named = 0;
  for (std::size_t i = first; i <= last; ++i) {
    named += HasError(check, "entries[0]." + At("operators", i), "wait for each other: ") ? 1 : 0;
  }
  CHECK(named == 1);
}

TEST_CASE("a group that takes over the last operator, or loses one, is found", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  PlanField plan = RandomPlan(seed);
  PlanField& variant = *All(*All(plan, "entries")[0], "variants")[0];
  const std::vector<PlanField*> groups = All(variant, "fusion_groups");
  PlanField& last = *groups.back();
  std::vector<PlanField>& fields = last.fields;
  const auto op = std::find_if(fields.rbegin(), fields.rend(),
                               [](const PlanField& field) { return field.name == "ops"; });
  const PlanField moved = *op;
  const bool alone = All(last, "ops").size() == 1;
  fields.erase(std::next(op).base());
  const std::string path = "entries[0].variants[0].fusion_groups";
  CheckResult check = Checked(plan);
  CAPTURE(moved.value, Describe(check, "spoilt"));
  CHECK(HasError(check, path, "is owned by no group and not elided"));
  if (groups.size() < 2 || alone) return;
  groups[0]->fields.push_back(moved);
  check = Checked(plan);
  CAPTURE(Describe(check, "moved"));
  CHECK(std::any_of(check.findings.begin(), check.findings.end(), [](const Finding& finding) {
    return finding.message.find("is not convex: ") != std::string::npos ||
           finding.message.find("is a CALL and not alone") != std::string::npos;
  }));
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
