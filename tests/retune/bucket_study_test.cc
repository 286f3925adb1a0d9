#include "retune/bucket_study.h"

#include "tests/catch.h"
#include "tests/retune/support/synthetic_traffic.h"

namespace leeway::retune {
namespace {

using testing::Windows;

TrafficWindow Window(std::vector<LengthWeight> entries) {
  return {LengthHistogram(std::move(entries)), {}, {}};
}

BucketStudyOptions OneBucket(std::vector<std::string> policies) {
  BucketStudyOptions options;
  options.policy.spec.max_buckets = 1;
  options.policy.max_length = 64;
  options.policies = std::move(policies);
  return options;
}

TEST_CASE("the study scores every window after the first as worked out by hand",
          "[retune][study]") {
  const Windows windows = {
      Window({{10, 20'000}}),  // plan 0: {10}
      Window({{20, 20'000}}),  // frozen and ref: fallback, 2·20
      Window({{20, 20'000}}),  // frozen: fallback; ref adopted {20}
      Window({{10, 20'000}}),  // frozen: 10; ref: 20
  };
  const auto result = StudyBuckets(windows, OneBucket({"frozen", "oracle", "ref", "pow2"}));
  REQUIRE(result.ok());
  CHECK(result->windows == 3);

  const PolicyOutcome& frozen = *result->Find("frozen");
  CHECK(frozen.waste == Approx(1 - 50.0 / 90));
  CHECK(frozen.fallback_rate == Approx(2.0 / 3));
  CHECK(frozen.gain == 0);
  CHECK(frozen.captured == 0);
  CHECK(frozen.worst_window == 0);

  const PolicyOutcome& oracle = *result->Find("oracle");
  CHECK(oracle.waste == 0);
  CHECK(oracle.captured == 1);
  CHECK(oracle.worst_window == 0);

  // 40 + 20 + 20. The blend after window 1 gives {20}; the change back is not scored.
  const PolicyOutcome& ref = *result->Find("ref");
  CHECK(ref.work.cost == 80 * 20'000);
  CHECK(ref.retunes == 1);
  CHECK(ref.gain == Approx(90.0 / 80 - 1));
  CHECK(*ref.captured == Approx(10.0 / 40));
  CHECK(ref.worst_window == Approx(1));
  CHECK(ref.harm == Approx(10.0 / 80));

  // 32 + 32 + 16.
  CHECK(result->Find("pow2")->work.cost == 80 * 20'000);
  CHECK(result->Find("best") == nullptr);
}

TEST_CASE("empty windows are skipped and leave no trace", "[retune][study]") {
  const Windows windows = {Window({}), Window({{10, 3}}), Window({}), Window({{10, 3}}),
                           Window({{12, 0}})};
  const auto result = StudyBuckets(windows, OneBucket({"frozen"}));
  REQUIRE(result.ok());
  CHECK(result->windows == 1);
}

TEST_CASE("where the oracle saves nothing there is no captured share", "[retune][study]") {
  const Windows windows(5, Window({{10, 20'000}}));
  const auto result = StudyBuckets(windows, OneBucket({"ref", "leeway"}));
  REQUIRE(result.ok());
  for (const PolicyOutcome& p : result->policies) {
    CAPTURE(p.name);
    CHECK_FALSE(p.captured.has_value());
    CHECK(p.retunes == 0);
  }
}

TEST_CASE("no traffic at all gives zeros", "[retune][study]") {
  const auto result = StudyBuckets({}, OneBucket({"frozen", "oracle", "leeway"}));
  REQUIRE(result.ok());
  CHECK(result->windows == 0);
  CHECK(result->policies.size() == 3);
  CHECK(result->policies.front().waste == 0);
}

TEST_CASE("a study refuses what its policies refuse", "[retune][study]") {
  CHECK(StudyBuckets({}, OneBucket({"best"})).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("no policy beats the oracle in any window", "[retune][property]") {
  const auto service = GENERATE(testing::Service::kChurn, testing::Service::kFlipping);
  const Windows windows = testing::MakeService(service, 16, 21);
  BucketStudyOptions options;
  options.policy.max_length = 32768;
  for (std::size_t n = 2; n <= windows.size(); ++n) {
    // Window by window: the study of a prefix less that of the prefix before it.
    const auto to = StudyBuckets(testing::Slice(windows, 0, n), options);
    const auto before = StudyBuckets(testing::Slice(windows, 0, n - 1), options);
    REQUIRE((to.ok() && before.ok()));
    const double oracle = to->Find("oracle")->work.cost - before->Find("oracle")->work.cost;
    for (const PolicyOutcome& p : to->policies) {
      CAPTURE(n, p.name);
      // pow2 has more than K edges.
      if (p.name == "pow2") continue;
      CHECK(p.work.cost - before->Find(p.name)->work.cost >= oracle * (1 - 1e-9));
    }
  }
}

TEST_CASE("a policy decides the same whatever follows", "[retune][property]") {
  const Windows windows = testing::MakeService(testing::Service::kFlipping, 24, 4);
  BucketStudyOptions options;
  options.policies = {"leeway"};
  auto whole = BucketStudy::Create(options);
  REQUIRE(whole.ok());
  for (const TrafficWindow& w : windows) {
    whole->Add(w);
    auto prefix = BucketStudy::Create(options);
    for (const TrafficWindow& p : windows) {
      prefix->Add(p);
      if (&p - windows.data() == &w - windows.data()) break;
    }
    CHECK(prefix->Finish().policies[0].work.cost == whole->Finish().policies[0].work.cost);
  }
}

}  // namespace
}  // namespace leeway::retune
