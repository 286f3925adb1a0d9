// Streams that compete, held to what theory says of them (tests/support/scenario_pack.cc).

#include <algorithm>
#include <map>
#include <string>

#include "tests/catch.h"
#include "tests/support/child_cost.h"
#include "tests/support/mixes.h"

namespace leeway {
namespace {

using testing::Figure;
using testing::MixRun;
using testing::Scenario;

// A sanitizer takes ten times as long.
const std::uint64_t kSeeds = testing::IsSanitized() ? 1 : 2;

Scenario Named(const std::string& name) {
  for (Scenario& scenario : testing::ScenarioPack()) {
    if (scenario.mix.name == name) return scenario;
  }
  FAIL("no mix " << name);
  return {};
}

}  // namespace

TEST_CASE("every mix keeps the bound that theory gives it", "[exec][mix]") {
  for (const Scenario& scenario : testing::ScenarioPack()) {
    for (const Policy policy : scenario.bound_to) {
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        for (const Figure& figure : scenario.judge(ServeMix(scenario.mix, policy, seed))) {
          CAPTURE(scenario.mix.name, PolicyName(policy), seed, figure.name, figure.value,
                  figure.bound);
          CHECK(figure.holds());
        }
      }
    }
  }
}

TEST_CASE("where mixes compare policies fairly, none serves the urgent better than the default",
          "[exec][mix]") {
  for (const Scenario& scenario : testing::ScenarioPack()) {
    if (!scenario.fair) continue;
    // One draw of arrivals; the table of the documentation has five.
    std::map<Policy, double> first;
    for (const Policy policy : kPolicies) {
      first[policy] = scenario.judge(ServeMix(scenario.mix, policy, 0)).front().value;
    }
    for (const Policy policy : kPolicies) {
      CAPTURE(scenario.mix.name, PolicyName(policy), first[policy]);
      // A tie is what one draw cannot tell apart.
      CHECK(first[Policy::kLeeway] <= first[policy] * 1.02);
    }
  }
}

TEST_CASE("however one server orders requests, their mean waits weighed by load are the same",
          "[exec][mix]") {
  // Kleinrock's conservation law (Queueing Systems II, 1976, 3.4): Σ load · wait depends on the
  // arrivals alone, where the server never idles while work waits and does not preempt.
  const Scenario levels = Named("three levels of priority");
  REQUIRE(levels.mix.cores == 1);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::map<Policy, double> sum;
    for (const Policy policy : kPolicies) {
      const MixRun run = ServeMix(levels.mix, policy, seed);
      for (std::uint32_t s = 0; s < levels.mix.streams.size(); ++s) {
        const auto step = static_cast<double>(testing::TotalWork(levels.mix.streams[s].graph));
        sum[policy] += run.Offered(s) * (run.Mean(s) - step);
      }
    }
    for (const Policy policy : kPolicies) {
      CAPTURE(PolicyName(policy), seed);
      CHECK(sum[policy] == Approx(sum[Policy::kFifo]).epsilon(1e-9));
    }
  }
}

TEST_CASE("mixes draw equal arrivals for a stream whatever else is served", "[exec][mix]") {
  const testing::Mix mix = Named("urgent and bulk chains").mix;
  const auto all = ArrivalsOf(mix, 7);
  const auto urgent = ArrivalsOf(FirstStreams(mix, 1), 7);
  std::vector<std::int64_t> of_all, alone;
  for (const auto& arrival : all) {
    if (arrival.stream == 0) of_all.push_back(arrival.at_ns);
  }
  for (const auto& arrival : urgent) alone.push_back(arrival.at_ns);
  CHECK(of_all == alone);
  CHECK(of_all.size() == 32000);  // 20 % of 4 cores for 4 s, by 100 us
}

}  // namespace leeway
