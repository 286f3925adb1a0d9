#include "leeway/drift.h"

#include "base/prng.h"
#include "leeway/simulate.h"
#include "plan/body.h"
#include "telemetry/snapshot.h"
#include "tests/catch.h"
#include "tests/retune/support/toy_plan.h"

namespace leeway {
namespace {

using Counts = std::vector<std::pair<std::int64_t, std::uint64_t>>;

std::string DigestOf(const Plan& plan) {
  const auto& bytes = plan.body()->digest.bytes;
  return std::string(bytes.begin(), bytes.end());
}

telemetry::LengthWindow Window(std::int64_t hour, const Counts& counts) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  telemetry::LengthWindow window{"main", "seq", "s", hour * kHour, (hour + 1) * kHour, {}};
  for (const auto& [length, count] : counts) window.counts.counts.push_back({length, count});
  return window;
}

// What a production replica of the plan would export, a window an hour.
telemetry::Snapshot Seen(const Plan& plan, const std::vector<Counts>& hours) {
  telemetry::Snapshot snapshot;
  snapshot.origin = Origin::kMeasured;
  snapshot.plan_digest = DigestOf(plan);
  std::uint64_t requests = 0;
  for (std::size_t h = 0; h < hours.size(); ++h) {
    snapshot.lengths.push_back(Window(static_cast<std::int64_t>(h), hours[h]));
    for (const auto& [length, count] : hours[h]) requests += count;
  }
  snapshot.ranges.push_back({"replica", 0, 1, requests});
  return snapshot;
}

Result<DriftReport> Detect(const Plan& plan, const telemetry::Snapshot& snapshot,
                           const DriftOptions& options = {}) {
  return DetectDrift(plan, snapshot.Serialize().value(), options);
}

Plan TunedPlan() {
  return testing::MakeToyPlan({.edges = {100, 400, 1000},
                               .per_token = 10ns,
                               .expects = {{100, 0.5}, {400, 0.3}, {1000, 0.2}}});
}

TEST_CASE("requests that the plan was tuned for are no drift by any measure", "[api][drift]") {
  const Plan plan = TunedPlan();
  const auto report = Detect(plan, Seen(plan, {{{100, 2500}, {400, 1500}, {1000, 1000}}})).value();
  CHECK_FALSE(report.drifted);
  REQUIRE(report.dims.size() == 1);
  const DimDrift& seq = *report.dim("seq");
  CHECK(seq.requests == 5000);
  CHECK(seq.edges == std::vector<std::int64_t>{100, 400, 1000});
  CHECK(seq.regret <= 0);
  CHECK_FALSE(seq.psi->above());
  CHECK_FALSE(seq.js->above());
  CHECK_FALSE(seq.wasserstein->above());
  CHECK_FALSE(seq.work_ks->above());
  CHECK(seq.out_of_envelope == 0);
  CHECK(seq.padding_waste == Approx(0).margin(1e-12));
  CHECK_FALSE(seq.since);
  CHECK(report.basis == CostBasis::kPlanProfile);
  CHECK(report.origin == Origin::kMeasured);
  CHECK(report.coverage.variants == 3);
  CHECK(report.coverage.variants_hit == 3);
  CHECK(report.dim("batch") == nullptr);
}

TEST_CASE(
    "samples of the declared distribution are above a distance's threshold one time in a "
    "thousand",
    "[api][property]") {
  const Plan plan = TunedPlan();
  base::Prng prng(3);
  int above = 0;
  // Four distances, 60 samples: 0.24 expected; more than 4 has a chance below 10⁻⁴ even where the
  // four go together.
  for (int sample = 0; sample < 60; ++sample) {
    const std::uint64_t a = prng.Binomial(2000, 0.5), b = prng.Binomial(2000 - a, 0.6);
    const auto report =
        Detect(plan, Seen(plan, {{{100, a}, {400, b}, {1000, 2000 - a - b}}})).value();
    CHECK_FALSE(report.drifted);
    const DimDrift& seq = report.dims[0];
    above += seq.psi->above() + seq.js->above() + seq.wasserstein->above() + seq.work_ks->above();
  }
  CHECK(above <= 4);
}

TEST_CASE("one token across a bucket's edge is a tiny distance and a large regret",
          "[api][drift]") {
  const Plan plan = TunedPlan();
  const auto report = Detect(plan, Seen(plan, {{{101, 5000}, {400, 3000}, {1000, 2000}}})).value();
  const DimDrift& seq = report.dims[0];
  CHECK(seq.psi->value < 0.001);
  CHECK_FALSE(seq.psi->above());
  CHECK(seq.wasserstein->value == Approx(0.5));
  // 5,000 requests pay 400 instead of 101.
  CHECK(seq.regret == Approx((5000.0 * 400 + 3000 * 400 + 2000 * 1000) /
                                 (5000.0 * 101 + 3000 * 400 + 2000 * 1000) -
                             1));
  CHECK(report.drifted);
  // 5,000 · 299 tokens of 10 ns in an hour.
  CHECK(*seq.cost_ns_per_s == Approx(5000.0 * 299 * 10 / 3600));
}

TEST_CASE("a large distance that costs nothing is no drift", "[api][drift]") {
  const Plan plan = TunedPlan();
  const auto report = Detect(plan, Seen(plan, {{{100, 200}, {400, 200}, {1000, 6000}}})).value();
  CHECK(report.dims[0].psi->above());
  CHECK(report.dims[0].psi->value > 0.2);
  CHECK_FALSE(report.drifted);
}

TEST_CASE("drift began with the first window from which regret stayed high", "[api][drift]") {
  const Plan plan = TunedPlan();
  const Counts calm = {{100, 2500}, {400, 1500}, {1000, 1000}};
  const Counts moved = {{101, 2500}, {401, 1500}, {1000, 1000}};
  const auto report = Detect(plan, Seen(plan, {calm, moved, calm, moved, moved, moved})).value();
  REQUIRE(report.drifted);
  REQUIRE(report.dims[0].since);
  CHECK(*report.dims[0].since == Instant(3h));
  // One window alone has no before.
  CHECK_FALSE(Detect(plan, Seen(plan, {moved})).value().dims[0].since);
  // Windows too small to judge are joined.
  const Counts few = {{101, 250}, {401, 150}, {1000, 100}};
  CHECK(*Detect(plan, Seen(plan, {calm, few, few, moved})).value().dims[0].since == Instant(1h));
}

TEST_CASE("lengths that no variant covers are counted and priced at phi", "[api][drift]") {
  const Plan plan = TunedPlan();
  const auto seen = Seen(plan, {{{100, 9000}, {2000, 1000}}});
  const auto report = Detect(plan, seen).value();
  CHECK(report.dims[0].out_of_envelope == Approx(0.1));
  CHECK(report.dims[0].padding_waste == Approx(1 - (900e3 + 2000e3) / (900e3 + 4000e3)));
  DriftOptions dear;
  dear.phi = 4;
  CHECK(Detect(plan, seen, dear).value().dims[0].regret > report.dims[0].regret);
}

TEST_CASE("without a shape profile there are no distances, without predictions work is in tokens",
          "[api][drift]") {
  const Plan plan = testing::MakeToyPlan({.edges = {512, 4096}});
  const auto report = Detect(plan, Seen(plan, {{{512, 3000}, {513, 3000}}})).value();
  const DimDrift& seq = report.dims[0];
  CHECK_FALSE(seq.psi);
  CHECK_FALSE(seq.work_ks);
  CHECK_FALSE(seq.cost_ns_per_s);
  CHECK(report.basis == CostBasis::kTokens);
  // The top bucket must stay, so the best two are 513 and 4,096.
  CHECK(report.drifted);
  CHECK(seq.regret == Approx((512.0 + 4096) / (2 * 513) - 1).epsilon(0.01));
}

TEST_CASE("chance alone is not taken for drift in small samples", "[api][property]") {
  // Uniform lengths under the buckets that are best for them: in sample, 300 requests would always
  // find better ones.
  const Plan plan = testing::MakeToyPlan({.edges = {250, 500, 750, 1000}, .domain_max = 1000});
  base::Prng prng(5);
  for (int sample = 0; sample < 40; ++sample) {
    std::map<std::int64_t, std::uint64_t> drawn;
    for (int i = 0; i < 300; ++i) ++drawn[1 + static_cast<std::int64_t>(prng.Below(1000))];
    CHECK_FALSE(Detect(plan, Seen(plan, {Counts(drawn.begin(), drawn.end())})).value().drifted);
  }
}

TEST_CASE("partial telemetry is judged as far as it goes, and the report says how far",
          "[api][drift]") {
  const Plan plan = TunedPlan();
  telemetry::Snapshot without_lengths = Seen(plan, {{{100, 10}}});
  without_lengths.lengths.clear();
  auto report = Detect(plan, without_lengths).value();
  CHECK_FALSE(report.drifted);
  CHECK(report.dims[0].requests == 0);
  CHECK_FALSE(report.dims[0].psi);
  CHECK(report.coverage.variants_hit == 0);
  CHECK(report.coverage.groups == 3);
  CHECK_FALSE(report.coverage.groups_launched);
  CHECK(report.notes.size() == 2);

  telemetry::Snapshot with_groups = Seen(plan, {{{100, 3000}, {390, 1000}}});
  with_groups.groups.push_back({"main", "s100", "ffn", 12, 1us, 1us, 0ns});
  with_groups.groups.push_back({"main", "gone", "ffn", 12, 1us, 1us, 0ns});
  report = Detect(plan, with_groups).value();
  CHECK(report.coverage.groups_launched == 1u);
  CHECK(report.coverage.variants_hit == 3);  // the variant to 1,000 covers 390 too
  CHECK(report.notes.empty());

  telemetry::Snapshot unnamed = Seen(plan, {{{100, 10}}});
  unnamed.plan_digest.clear();
  CHECK(Detect(plan, unnamed).ok());
}

TEST_CASE("what is no telemetry of the plan is refused, and why", "[api][errors]") {
  const Plan plan = TunedPlan();
  CHECK(DetectDrift(plan, "no snapshot").status().code() == StatusCode::kInvalidArgument);
  CHECK(DetectDrift(plan, "").status().message() == "the telemetry holds nothing");
  const Plan other = testing::MakeToyPlan({.edges = {100}});
  const Status wrong = Detect(plan, Seen(other, {{{100, 10}}})).status();
  CHECK(wrong.code() == StatusCode::kFailedPrecondition);
  CHECK(wrong.message() == "the telemetry is of plan " + other.digest().substr(0, 12) +
                               ", not of " + plan.digest().substr(0, 12));
  DriftOptions options;
  options.entry = "decode";
  CHECK(Detect(plan, Seen(plan, {{{100, 10}}}), options).status().message() ==
        "the plan has no entry \"decode\"; it has: main");
  options = {};
  options.tau = -1;
  CHECK(Detect(plan, Seen(plan, {{{100, 10}}}), options).status().message() ==
        "tau is -1; between 0 and 10");
  options = {};
  options.align = 0;
  CHECK(Detect(plan, Seen(plan, {{{100, 10}}}), options).status().message() ==
        "align is 0; between 1 and 2^32");
}

TEST_CASE("what a simulation exports is judged as production's is, and equal bytes twice",
          "[api][drift]") {
  const Plan plan = TunedPlan();
  const Device device = Device::Load("onnxim_tpuv4_c4").value();
  const Traffic traffic = Traffic::Poisson(100, 60s, "seq", {101, 101, 401, 1000}).value();
  const SimResult result = Simulate(plan, device, traffic, {.seed = 7}).value();
  const auto report = DetectDrift(plan, result.telemetry()).value();
  CHECK(report.drifted);
  CHECK(report.dims[0].requests == result.summary().counts.submitted);
  CHECK(report.dims[0].regret == DetectDrift(plan, result.telemetry()).value().dims[0].regret);
}

}  // namespace
}  // namespace leeway
