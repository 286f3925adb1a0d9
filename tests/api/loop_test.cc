// The closed loop on planted stories: each must end with its verdict.

#include "leeway/loop.h"

#include <vector>

#include "tests/catch.h"
#include "tests/retune/support/loop_inputs.h"

namespace leeway {
namespace {

using Arrived = retune::testing::Call;
using retune::testing::DrawnHours;
using retune::testing::Hour;
using retune::testing::Recorded;
using retune::testing::ToyModel;

Device DefaultDevice() { return Device::Load("onnxim_tpuv4_c4").value(); }

LoopOptions Options() {
  LoopOptions options;
  options.seed = 3;
  options.compile.variants = 4;
  options.load.sample = 1000;
  return options;
}

LoopSummary Run(const Traffic& traffic, const LoopOptions& options = Options()) {
  return RunLoop(ToyModel(), DefaultDevice(), traffic, options).value().summary();
}

std::vector<Hour> Hours(std::size_t count, const Hour& hour) {
  return std::vector<Hour>(count, hour);
}

Traffic Shifting() {
  std::vector<Hour> hours = Hours(3, {1, 200, 400});
  hours.resize(12, {1, 1200, 2400});
  return Traffic(DrawnHours(hours, 24'000));
}

Traffic Still() { return Traffic(DrawnHours(Hours(12, {1, 200, 400}), 24'000)); }

void CheckIdentities(const LoopSummary& summary) {
  for (const LoopArm* arm : {&summary.frozen, &summary.adapted, &summary.clairvoyant}) {
    CAPTURE(arm->name);
    CHECK(arm->submitted == summary.scored_requests);
    CHECK(arm->ok == arm->submitted);
    REQUIRE(arm->accuracy);
    const MappingAccuracy& a = *arm->accuracy;
    CHECK(a.accuracy + a.lost_envelope + a.lost_variant + a.lost_placement + a.lost_cost ==
          Approx(1).epsilon(1e-12));
    CHECK(arm->fallback_time >= a.lost_envelope - 1e-12);
    CHECK(arm->p50 <= arm->p95);
    CHECK(arm->p95 <= arm->p99);
    for (const LoopTail& tail : arm->tails) CHECK(tail.mean.total() > Nanos{0});
  }
  std::uint64_t requests = 0;
  Nanos frozen{0}, adapted{0}, clairvoyant{0};
  for (const LoopWindow& window : summary.windows) {
    CHECK(window.clairvoyant_work <= window.frozen_work);
    CHECK(window.clairvoyant_work <= window.adapted_work);
    CHECK(window.clairvoyant_work <= window.cross_fitted_work);
    requests += window.requests;
    frozen += window.frozen_work;
    adapted += window.adapted_work;
    clairvoyant += window.clairvoyant_work;
  }
  CHECK(requests == summary.scored_requests);
  CHECK(frozen == summary.frozen.work);
  CHECK(adapted == summary.adapted.work);
  CHECK(clairvoyant == summary.clairvoyant.work);
}

}  // namespace

TEST_CASE("shapes that shift: adaptation pays, and the verdict says how much", "[api][loop]") {
  const LoopSummary summary = Run(Shifting());
  CheckIdentities(summary);
  CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kPresent);
  CHECK(summary.gain.captured.value().value > 0.7);
  CHECK(summary.adapted.work < summary.frozen.work);
  CHECK(summary.gain.work.interval);
  // The frozen plan leaves all that is longer than 400 tokens to the fallback.
  CHECK(summary.frozen.accuracy->lost_envelope > 0.5);
  CHECK(summary.adapted.accuracy->lost_envelope < summary.frozen.accuracy->lost_envelope / 2);
  CHECK(summary.adapted.p50 < summary.frozen.p50);
  CHECK(summary.adapted.capacity_rps.value().value > summary.frozen.capacity_rps.value().value);
  CHECK(summary.compiles >= 1);
  CHECK(summary.actions.size() == summary.compiles + summary.switches);
}

TEST_CASE("shapes that stay: no headroom, nothing compiled, nothing captured", "[api][loop]") {
  const LoopSummary summary = Run(Still());
  CheckIdentities(summary);
  CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kNone);
  CHECK_FALSE(summary.gain.captured);
  CHECK(summary.compiles == 0);
  CHECK(summary.adapted.work == summary.frozen.work);
  CHECK(summary.adapted.p99 == summary.frozen.p99);
}

TEST_CASE("a burst of the rate without a change of shapes is a matter of capacity, not of mapping",
          "[api][loop]") {
  std::vector<Arrived> calls;
  base::Prng prng(5);
  for (int hour = 0; hour < 10; ++hour) {
    const int count = hour == 6 ? 12'000 : 1500;
    for (int i = 0; i < count; ++i) {
      calls.push_back(
          {hour * 3600.0 + 3600.0 * i / count, 200 + static_cast<std::int64_t>(prng.Below(200))});
    }
  }
  LoopOptions options = Options();
  options.load.window = 1h;
  // The mean of the loads; the burst is eight times the others.
  options.load.load = 0.5;
  const LoopSummary summary = Run(Traffic(Recorded(calls)), options);
  CheckIdentities(summary);
  CHECK(summary.rate == "recorded");
  CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kNone);
  CHECK(summary.overloaded_windows >= 1);
  CHECK(summary.windows[6].overloaded);
  CHECK_FALSE(summary.windows[1].overloaded);
  CHECK(summary.compiles <= 1);
  // The tails are of the requests that the percentiles are of.
  std::uint64_t counted = 0;
  for (const LoopWindow& window : summary.windows) {
    if (!window.overloaded) counted += window.requests;
  }
  REQUIRE(summary.frozen.tails.size() == 3);
  CHECK(summary.frozen.tails[0].requests == counted);
  CHECK(summary.frozen.tails[2].mean.total() < summary.windows[6].frozen_p99);
  // Left out of the percentiles: no other window waits half a window's time.
  CHECK(summary.frozen.p99 < summary.windows[6].frozen_p99);
}

TEST_CASE("wilder errors of the cost model lower the accuracy and leave the gain in work alone",
          "[api][loop]") {
  LoopOptions usual = Options(), wild = Options();
  wild.reality.per_operator = wild.reality.per_size = 0.3;
  const LoopSummary a = Run(Shifting(), usual);
  const LoopSummary b = Run(Shifting(), wild);
  // Few kernels make the accuracy of one seed a matter of luck: its range over seeds is not.
  CHECK(b.adapted.accuracy->over_seeds->first < a.adapted.accuracy->over_seeds->first);
  CHECK(b.adapted.accuracy->cost_error > a.adapted.accuracy->cost_error);
  // Requests are spread by what the device gets through, which moves the mix a little.
  CHECK(b.gain.work.value == Approx(a.gain.work.value).epsilon(0.1));
}

TEST_CASE("an envelope that misses one request in a thousand loses to the envelope, as fallback",
          "[api][loop]") {
  std::vector<Arrived> calls;
  base::Prng prng(8);
  for (int i = 0; i < 20'000; ++i) {
    const bool rare = i > 4000 && i % 1000 == 0;
    calls.push_back({i * 2.0, rare ? 4000 : 200 + static_cast<std::int64_t>(prng.Below(200))});
  }
  const LoopSummary summary = Run(Traffic(Recorded(calls)));
  CheckIdentities(summary);
  CHECK(summary.frozen.fallback_rate > 0.0005);
  CHECK(summary.frozen.fallback_rate < 0.002);
  // Ten times as long and unfused: at least their share of the tokens.
  CHECK(summary.frozen.accuracy->lost_envelope > 0.01);
  CHECK(summary.frozen.fallback_time == Approx(summary.frozen.accuracy->lost_envelope));
}

TEST_CASE("equal inputs give equal reports, on one thread and on two", "[api][determinism]") {
  LoopOptions one = Options(), two = Options();
  one.load.sweep = two.load.sweep = {0.4, 0.8};
  two.jobs = 2;
  const LoopResult a = RunLoop(ToyModel(), DefaultDevice(), Shifting(), one).value();
  const LoopResult b = RunLoop(ToyModel(), DefaultDevice(), Shifting(), two).value();
  CHECK(a.ToJson() == b.ToJson());
  CHECK(a.ToMarkdown() == b.ToMarkdown());
  CHECK(a.adapted_telemetry() == b.adapted_telemetry());
  CHECK(a.adapted_plan().digest() == b.adapted_plan().digest());
  REQUIRE(a.summary().sweep.size() == 2);
  CHECK(a.summary().sweep[0].frozen_p99 <= a.summary().sweep[1].frozen_p99);
}

TEST_CASE("odd traffic gets a right answer: gaps, one length, one request, an odd first window",
          "[api][loop]") {
  SECTION("empty hours and one length") {
    std::vector<Hour> hours;
    for (int h = 0; h < 12; ++h) hours.push_back({h % 3 == 1 ? 0.0 : 1.0, 300, 300});
    const LoopSummary summary = Run(Traffic(DrawnHours(hours, 12'000)));
    CheckIdentities(summary);
    // One bucket is exact, whatever else is allowed.
    CHECK(summary.frozen.padding_waste == Approx(0).margin(1e-12));
    CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kNone);
  }
  SECTION("more variants than distinct lengths") {
    LoopOptions options = Options();
    options.compile.variants = 64;
    const LoopSummary summary = Run(Traffic(DrawnHours(Hours(6, {1, 300, 303}), 9000)), options);
    CheckIdentities(summary);
    CHECK(summary.frozen_buckets.size() <= 4);
  }
  SECTION("a first window unlike all others") {
    std::vector<Hour> hours = Hours(10, {1, 1000, 2000});
    hours.front() = {1, 10, 20};
    const LoopSummary summary = Run(Traffic(DrawnHours(hours, 20'000)));
    CheckIdentities(summary);
    CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kPresent);
    CHECK(summary.gain.captured.value().value > 0.7);
  }
  SECTION("windows of one request, not merged") {
    std::vector<Arrived> calls;
    for (int i = 0; i < 9; ++i) calls.push_back({i * 3600.0, 100 + 50 * i});
    LoopOptions options = Options();
    options.load.window = 1h;
    options.load.min_requests = 1;
    const LoopSummary summary = Run(Traffic(Recorded(calls)), options);
    CheckIdentities(summary);
    CHECK(summary.scored_requests == 8);
  }
  SECTION("too few windows to prove anything") {
    const LoopSummary summary = Run(Traffic(DrawnHours(Hours(3, {1, 100, 900}), 6000)));
    CheckIdentities(summary);
    CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kInsufficient);
    CHECK_FALSE(summary.gain.captured);
  }
}

TEST_CASE("requests above the domain are clamped, counted and held against the verdict",
          "[api][loop]") {
  const Traffic traffic(DrawnHours(Hours(6, {1, 3900, 4400}), 9000));
  const LoopSummary summary = Run(traffic);
  CHECK(summary.clamped_rate > 0.4);
  REQUIRE_FALSE(summary.contradictions.empty());
  CHECK(summary.contradictions.front().find("outside the model's domain") != std::string::npos);
  LoopOptions strict = Options();
  strict.above_domain = SimulateOptions::AboveDomain::kError;
  const auto refused = RunLoop(ToyModel(), DefaultDevice(), traffic, strict);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == StatusCode::kOutOfRange);
}

TEST_CASE("options out of range, too little traffic and a caller who gives up end in words",
          "[api][loop]") {
  auto message = [](const Traffic& traffic, const LoopOptions& options) {
    const auto result = RunLoop(ToyModel(), DefaultDevice(), traffic, options);
    REQUIRE_FALSE(result.ok());
    return std::string(result.status().message());
  };
  LoopOptions options = Options();
  options.compile.variants = 0;
  CHECK(message(Still(), options) == "variants is 0; between 1 and 4096");
  options = Options();
  options.compile.phi = 0.5;
  CHECK(message(Still(), options) == "phi is 0.5; between 1 and 1000");
  options = Options();
  options.load.load = 0;
  CHECK(message(Still(), options) == "a load is not above 0 and at most 1.5");
  options = Options();
  options.jobs = 0;
  CHECK(message(Still(), options) == "jobs is 0; at least 1");
  CHECK(message(Traffic(DrawnHours(Hours(8, {1, 5, 9}), 1500)), Options()) ==
        "hours: 1500 requests make fewer than two windows of 1000");
  options = Options();
  options.progress = [](const LoopProgress& progress) {
    return progress.stage != LoopProgress::Stage::kServe;
  };
  const auto cancelled = RunLoop(ToyModel(), DefaultDevice(), Still(), options);
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.status().code() == StatusCode::kCancelled);
}

TEST_CASE("batches by bucket pad less than batches in order of arrival", "[api][loop]") {
  const LoopSummary summary = Run(Traffic(DrawnHours(Hours(8, {1, 50, 3000}), 16'000)));
  REQUIRE(summary.formation.size() == 2);
  CHECK(summary.formation[0].name == "by bucket");
  CHECK(summary.formation[1].name == "first come");
  CHECK(summary.formation[0].padding_share < summary.formation[1].padding_share);
  CHECK(summary.formation[0].throughput_rps > summary.formation[1].throughput_rps);
}

}  // namespace leeway
