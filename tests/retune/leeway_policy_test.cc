#include "retune/leeway_policy.h"

#include <string>

#include "retune/bucket_study.h"
#include "tests/catch.h"
#include "tests/retune/support/synthetic_traffic.h"

namespace leeway::retune {
namespace {

using testing::Service;
using testing::Windows;

BucketStudyResult Study(const Windows& windows, std::vector<std::string> policies) {
  BucketStudyOptions options;
  options.policies = std::move(policies);
  return StudyBuckets(windows, options).value();
}

TrafficWindow Around(std::int64_t length, double requests) {
  TrafficWindow w;
  // A spread of lengths, so that eight buckets are not enough for an exact fit.
  for (std::int64_t i = 0; i < 40; ++i) w.lengths.Add(length + i * length / 40, requests / 40);
  return w;
}

TEST_CASE("still traffic is never compiled for", "[retune][leeway]") {
  const Windows windows(40, testing::MakeService(Service::kStationary, 1, 5).front());
  const BucketStudyResult r = Study(windows, {"leeway"});
  CHECK(r.policies[0].retunes == 0);
  CHECK(r.policies[0].switches == 0);
}

TEST_CASE("a shift that stays is compiled for and then left alone", "[retune][leeway]") {
  Windows windows(6, Around(100, 1e5));
  windows.insert(windows.end(), 30, Around(1000, 1e5));
  const BucketStudyResult r = Study(windows, {"leeway", "oracle"});
  const PolicyOutcome& leeway = *r.Find("leeway");
  CHECK(leeway.retunes >= 1);
  CHECK(leeway.retunes <= 3);
  // One window of 35 is lost to the shift itself.
  CHECK(*leeway.captured > 0.9);
}

TEST_CASE("a season that returns costs switches, not compiles", "[retune][leeway]") {
  Windows windows;
  for (int day = 0; day < 12; ++day) {
    windows.insert(windows.end(), 6, Around(100, 1e5));
    windows.insert(windows.end(), 6, Around(1000, 1e5));
  }
  const Windows first_days = testing::Slice(windows, 0, 36);
  const BucketStudyResult early = Study(first_days, {"leeway"});
  const BucketStudyResult all = Study(windows, {"leeway"});
  CHECK(all.policies[0].retunes == early.policies[0].retunes);
  CHECK(all.policies[0].switches >= early.policies[0].switches + 12);
}

TEST_CASE("until five windows or 50,000 requests have been seen it compiles at most once",
          "[retune][leeway]") {
  Windows windows;
  for (const std::int64_t length : {100, 104, 100, 96, 100, 104}) {
    windows.push_back(Around(length, 1000));
  }
  CHECK(Study(windows, {"leeway"}).policies[0].retunes <= 1);
  // A little that is seen says enough where it says much.
  Windows steps;
  for (const std::int64_t length : {100, 200, 200, 400, 400, 800}) {
    steps.push_back(Around(length, 1000));
  }
  CHECK(Study(steps, {"leeway"}).policies[0].retunes > 1);
}

TEST_CASE("a small service that swings by day and grows is followed from its first hours",
          "[retune][leeway]") {
  const auto requests = GENERATE(300, 500, 1000);
  const auto growth = GENERATE(0, 1, 3);  // per cent an hour
  CAPTURE(requests, growth);
  Windows expected;
  for (std::int64_t hour = 0; hour < 48; ++hour) {
    const std::int64_t from_noon = hour % 24 < 12 ? hour % 24 : 24 - hour % 24;
    expected.push_back(Around((60 + 12 * from_noon) * (100 + growth * hour) / 100, 1000));
  }
  const BucketStudyResult r =
      Study(testing::Draw(expected, requests, 7), {"ref", "leeway", "oracle"});
  CHECK(*r.Find("leeway")->captured >= *r.Find("ref")->captured - 0.02);
  CHECK(r.Find("leeway")->retunes <= r.Find("ref")->retunes);
}

TEST_CASE("it never compiles more often than the cross-fitted reference", "[retune][property]") {
  const auto service = testing::kServices[GENERATE(range(0u, 8u))];
  const auto seed = GENERATE(range(40u, 42u));
  CAPTURE(testing::ServiceName(service), seed);
  const Windows expected = testing::MakeService(service, 36, seed);
  for (const Windows& windows : {expected, testing::Draw(expected, 500, seed)}) {
    const BucketStudyResult r = Study(windows, {"refx", "leeway"});
    CHECK(r.Find("leeway")->retunes <= r.Find("refx")->retunes);
  }
}

TEST_CASE("the cost of work comes from outside", "[retune][leeway]") {
  // Attention-like work: at 4,096 tokens a request costs twice what its tokens say.
  BucketStudyOptions options;
  options.policy.spec.cost = [](std::int64_t x) {
    const auto tokens = static_cast<double>(x);
    return tokens * (1 + tokens / 4096);
  };
  options.policies = {"refx", "leeway", "oracle"};
  const auto r = StudyBuckets(testing::MakeService(Service::kFlipping, 36, 6), options);
  REQUIRE(r.ok());
  CHECK(r->Find("leeway")->retunes <= r->Find("refx")->retunes);
  CHECK(r->Find("leeway")->work.cost >= r->Find("oracle")->work.cost);
}

}  // namespace
}  // namespace leeway::retune
