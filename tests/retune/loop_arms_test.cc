#include "retune/loop_arms.h"

#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/retune/support/loop_inputs.h"

namespace leeway::retune {
namespace {

constexpr Nanos kWindow = 1s;

const compile::WorkCurve& ToyCurve() {
  static const compile::WorkCurve curve = [] {
    compile::Compiler compiler = testing::ToyCompiler();
    return compile::WorkCurve::Make(compiler, 1).value();
  }();
  return curve;
}

ServedWindow WindowOf(std::size_t w, std::size_t requests, std::int64_t low, std::int64_t high,
                      base::Prng& prng) {
  ServedWindow window;
  window.from = Instant(kWindow * static_cast<std::int64_t>(w));
  for (std::size_t i = 0; i < requests; ++i) {
    const Nanos at = kWindow * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(requests);
    const auto above =
        static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(high - low + 1)));
    window.requests.push_back(
        {.at = window.from + at, .position = static_cast<std::uint32_t>(i), .length = low + above});
  }
  return window;
}

ArmOptions Options(int variants) {
  ArmOptions options;
  options.policy.spec = SpecOf(ToyCurve(), variants, 2);
  options.policy.threshold = 0.03;
  options.compile_time = kWindow / 100;
  return options;
}

}  // namespace

TEST_CASE("the clairvoyant needs the least work of all in every window", "[retune][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<ServedWindow> windows;
  const std::size_t count = 2 + prng.Below(12);
  for (std::size_t w = 0; w < count; ++w) {
    const auto low = 1 + static_cast<std::int64_t>(prng.Below(2000));
    const auto high = low + static_cast<std::int64_t>(prng.Below(2000));
    // One request, one length and many of each.
    windows.push_back(WindowOf(w, 1 + prng.Below(600), low, prng.Below(4) == 0 ? low : high, prng));
  }
  const int variants = 1 + static_cast<int>(prng.Below(10));
  ArmOptions options = Options(variants);
  if (prng.Below(2) == 0) {
    // The fallback has a model of its own, which need not rise with the length.
    options.policy.spec = SpecOf(ToyCurve(), variants, 1, [](std::int64_t length) {
      return static_cast<double>(ToyCurve()(length).count() + length * 7919 % 100'003);
    });
  }
  const LoopArms arms = MakeArms(windows, ToyCurve(), options).value();
  for (std::size_t w = 1; w < count; ++w) {
    // Sums of integers below 2^53 are exact.
    CHECK(arms.clairvoyant.work[w] <= arms.frozen.work[w]);
    CHECK(arms.clairvoyant.work[w] <= arms.adapted.work[w]);
    CHECK(arms.clairvoyant.work[w] <= arms.cross_fitted[w]);
    CHECK(arms.clairvoyant.useful[w] <= arms.clairvoyant.work[w]);
    CHECK(static_cast<int>(arms.adapted.edges[w].size()) <= variants);
    CHECK(static_cast<int>(arms.clairvoyant.edges[w].size()) <= variants);
  }
  CHECK(arms.frozen.work[0] == 0);
  CHECK(arms.adaptation.plan_of[0] == 0);
  if (count > 1) CHECK(arms.adaptation.plan_of[1] == 0);
  LoopSummary summary;
  SummariseWork(arms, 0.03, seed, summary);
  if (count < 5) CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kInsufficient);
  CHECK(summary.gain.captured.has_value() ==
        (summary.headroom.verdict == LoopHeadroom::Verdict::kPresent));
}

TEST_CASE("decisions see no request that comes later than the compile time before their bound",
          "[retune][adaptation]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<ServedWindow> windows;
  for (std::size_t w = 0; w < 8; ++w) {
    windows.push_back(WindowOf(w, 400, 100 + 200 * static_cast<std::int64_t>(w % 3), 900, prng));
  }
  ArmOptions options = Options(4);
  options.compile_time = kWindow / 10;
  const LoopArms before = MakeArms(windows, ToyCurve(), options).value();
  // Whatever comes in the last tenth of a window must not move a plan.
  for (ServedWindow& window : windows) {
    if (&window == &windows.front()) continue;
    for (LoopRequest& request : window.requests) {
      if (request.at - window.from >= kWindow - options.compile_time) request.length = 4000;
    }
  }
  const LoopArms after = MakeArms(windows, ToyCurve(), options).value();
  CHECK(after.adaptation.plan_of == before.adaptation.plan_of);
  CHECK(after.adaptation.library == before.adaptation.library);
}

TEST_CASE("what takes longer to compile than a window serves the window after the next",
          "[retune][adaptation]") {
  base::Prng prng(1);
  std::vector<ServedWindow> windows;
  for (std::size_t w = 0; w < 10; ++w) {
    windows.push_back(w < 3 ? WindowOf(w, 30'000, 100, 120, prng)
                            : WindowOf(w, 30'000, 1500, 1600, prng));
  }
  ArmOptions options = Options(2);
  auto first_change = [&](Nanos compile_time) {
    options.compile_time = compile_time;
    const LoopArms arms = MakeArms(windows, ToyCurve(), options).value();
    return arms.adaptation.actions.at(0).window;
  };
  // Shapes shift in window 3, which is closed for window 4.
  CHECK(first_change(kWindow / 100) == 4);
  CHECK(first_change(kWindow + kWindow / 2) == 5);
}

TEST_CASE("shapes that shift for good are adapted to, shapes that stay are left alone",
          "[retune][adaptation]") {
  base::Prng prng(3);
  std::vector<ServedWindow> shifting, still;
  for (std::size_t w = 0; w < 12; ++w) {
    shifting.push_back(w < 3 ? WindowOf(w, 20'000, 100, 200, prng)
                             : WindowOf(w, 20'000, 900, 1800, prng));
    still.push_back(WindowOf(w, 20'000, 100, 200, prng));
  }
  LoopSummary moved, stayed;
  SummariseWork(MakeArms(shifting, ToyCurve(), Options(4)).value(), 0.03, 0, moved);
  SummariseWork(MakeArms(still, ToyCurve(), Options(4)).value(), 0.03, 0, stayed);
  CHECK(moved.headroom.verdict == LoopHeadroom::Verdict::kPresent);
  CHECK(moved.gain.work.value > 0.2);
  // All but the window that shows the shift is served as well as can be.
  CHECK(moved.gain.captured.value().value > 0.8);
  const auto captured = moved.gain.captured->interval.value();
  CHECK(captured.first <= moved.gain.captured->value);
  CHECK(moved.gain.captured->value <= captured.second);
  CHECK(captured.second <= 1);
  CHECK(stayed.headroom.verdict == LoopHeadroom::Verdict::kNone);
  CHECK_FALSE(stayed.gain.captured);
  CHECK(stayed.compiles == 0);
}

TEST_CASE("edges are compiled where they attain the least work", "[retune][loop]") {
  const Edges compiled = Compiled(ToyCurve(), {1, 100, 101, 3000});
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    CHECK(ToyCurve().EdgeFor(compiled[i]) == compiled[i]);
    if (i > 0) CHECK(compiled[i] > compiled[i - 1]);
  }
  CHECK(compiled.back() >= 3000);
}

}  // namespace leeway::retune
