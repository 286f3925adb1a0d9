// What loading and a check against the device accept runs: nothing is found out later that could
// have been known.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/prng.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/simulate.h"
#include "leeway/text.h"
#include "leeway/traffic.h"
#include "tests/catch.h"
#include "tests/support/random_plan.h"

namespace leeway {
namespace {

using testing::PlanField;

std::string Encoded(const PlanField& plan) {
  const Result<std::string> bytes = TextToBinary(Schema::kPlan, TextOf(plan), "random");
  return bytes.value_or("");
}

void CollectScalars(PlanField& message, std::vector<PlanField*>& scalars) {
  for (PlanField& field : message.fields) {
    // Names tie a plan together; how dims bind decides which traffic it takes.
    const bool apart = field.name == "name" || field.name == "batch_rule" || field.name == "bind";
    if (!field.value.empty() && !apart) scalars.push_back(&field);
    CollectScalars(field, scalars);
  }
}

// Replaces scalars by values that are at home elsewhere, by extremes, or by nothing.
void Mutate(PlanField& plan, base::Prng& prng) {
  const std::vector<std::string> numbers = {
      "0", "1", "2", "3", "7", "64", "511", "4096", "1000000", "4294967295", "9223372036854775807"};
  const std::vector<std::string> sizes = {"\"0\"",
                                          "\"1\"",
                                          "\"seq\"",
                                          "\"n\"",
                                          "\"seq * seq * seq * 4096\"",
                                          "\"1125899906842624\"",
                                          "\"seq * 1000000000\"",
                                          "\"n * 9000000000000000\"",
                                          "\"seq - 1\"",
                                          "\"4611686018427387904\"",
                                          "\"max(seq - 100, 0)\"",
                                          "\"(n - 1) * 1099511627776\""};
  std::vector<PlanField*> scalars;
  CollectScalars(plan, scalars);
  for (std::uint64_t i = 0; i <= prng.Below(3); ++i) {
    PlanField& field = *scalars[prng.Below(scalars.size())];
    const bool text = field.value[0] == '"';
    if (prng.Below(6) == 0) {
      field.value = text ? "\"\"" : "0";
    } else if (prng.Below(3) == 0) {
      field.value = scalars[prng.Below(scalars.size())]->value;
    } else {
      const std::vector<std::string>& values = text ? sizes : numbers;
      field.value = values[prng.Below(values.size())];
    }
  }
}

// Arrivals whose dims are spread over the domain of "seq".
Traffic TrafficFor(std::uint64_t seed) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t length : {1, 2, 7, 16, 33, 64, 100, 511, 4096}) {
    lengths.push_back(length + static_cast<std::int64_t>(seed % 3));
  }
  return Traffic::Poisson(400, 100ms, "seq", lengths).value();
}

Status Run(const std::string& bytes, const Device& device, std::uint64_t seed) {
  const Result<Plan> plan = Plan::Parse(bytes, "random");
  REQUIRE(plan.ok());
  SimulateOptions options;
  options.entry = "e0";
  options.seed = seed;
  options.serving.max_concurrent_runs = 1;
  options.serving.batching.max_batch_size = 1 + static_cast<int>(seed % 4);
  return Simulate(*plan, device, TrafficFor(seed), options).status();
}

TEST_CASE("a random plan that checks clean against the device runs", "[api][property]") {
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  const PlanField plan = testing::RandomPlan(seed, {.runs = true});
  const std::string bytes = Encoded(plan);
  const Result<CheckResult> check = Plan::Check(bytes, &device);
  REQUIRE(check.ok());
  for (const Finding& finding : check->findings) {
    if (finding.severity == Severity::kWarning) continue;
    CAPTURE(finding.path, finding.message);
    // A random group may be too large for the SRAM.
    CHECK(finding.message.find("no tile fits") != std::string::npos);
  }
  if (!check->ok) return;
  const Status status = Run(bytes, device, seed);
  CAPTURE(status.ToString());
  CHECK(status.ok());
}

// How many mutants: as many as LEEWAY_MUTANTS says.
std::uint64_t Mutants() {
  const char* const count = std::getenv("LEEWAY_MUTANTS");
  return count == nullptr ? 1000 : std::strtoull(count, nullptr, 10);
}

TEST_CASE("what a check accepts of mutated plans runs, or is of a documented kind that does not",
          "[api][property][hostile]") {
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < Mutants(); ++seed) {
    base::Prng prng(seed);
    PlanField plan = testing::RandomPlan(seed, {.runs = true});
    Mutate(plan, prng);
    const std::string bytes = Encoded(plan);
    const Result<CheckResult> check = Plan::Check(bytes, &device);
    if (bytes.empty() || !check.ok() || !check->ok) continue;
    ++accepted;
    const Status status = Run(bytes, device, seed);
    CAPTURE(seed, status.ToString());
    // How long the trace gets is its own.
    const bool too_long = status.message().find("virtual time passes 2^53 ns") == 0;
    CHECK((status.ok() || status.code() == StatusCode::kUnimplemented || too_long));
  }
  // Otherwise the mutations show nothing.
  CHECK(accepted >= Mutants() / 10);
}

}  // namespace
}  // namespace leeway
