// The gates of the default policy on the published traces and on perturbations of them.

#include <algorithm>
#include <string>

#include "retune/bucket_study.h"
#include "tests/catch.h"
#include "tests/retune/support/recorded_traffic.h"

namespace leeway::retune {
namespace {

using testing::Windows;

const std::string kTraffic = LEEWAY_SHARED_DATA_DIR "/traffic/";

const Windows& MLarge() {
  static const Windows windows =
      testing::ReadLengthHistograms(kTraffic + "servegen_m_large_hourly.csv.gz");
  return windows;
}

BucketStudyResult Study(const Windows& windows, int buckets) {
  BucketStudyOptions options;
  options.policy.spec.max_buckets = buckets;
  options.policies = {"frozen", "oracle", "refx", "leeway"};
  return StudyBuckets(windows, options).value();
}

TEST_CASE("on two weeks of production mixes the default policy holds every gate",
          "[retune][gates]") {
  const int buckets = GENERATE(8, 16);
  CAPTURE(buckets);
  const BucketStudyResult r = Study(MLarge(), buckets);
  const PolicyOutcome& ref = *r.Find("refx");
  const PolicyOutcome& leeway = *r.Find("leeway");
  CHECK(*leeway.captured >= *ref.captured - 0.02);
  CHECK(leeway.retunes <= ref.retunes);
  CHECK(leeway.worst_window <= ref.worst_window);
  CHECK(leeway.harm <= 0.005);
}

TEST_CASE("on single days the default policy holds the gates of gain and of compiles",
          "[retune][gates]") {
  const int buckets = GENERATE(8, 16);
  const std::size_t day = GENERATE(0, 2, 4, 6, 8, 10, 12);
  CAPTURE(buckets, day);
  const BucketStudyResult r = Study(testing::Slice(MLarge(), 24 * day + 5, 24 * day + 29), buckets);
  const PolicyOutcome& ref = *r.Find("refx");
  const PolicyOutcome& leeway = *r.Find("leeway");
  CHECK(*leeway.captured >= *ref.captured - 0.02);
  CHECK(leeway.retunes <= ref.retunes);
  CHECK(leeway.harm <= 0.005);
}

TEST_CASE("on an hour of recorded requests it compiles at most once and loses at most 0.25 %",
          "[retune][gates]") {
  const int buckets = GENERATE(4, 8, 16, 32);
  CAPTURE(buckets);
  const Windows windows =
      testing::ReadAzureArrivals(kTraffic + "AzureLLMInferenceTrace_conv.csv", 600);
  const PolicyOutcome leeway = *Study(windows, buckets).Find("leeway");
  CHECK(leeway.retunes <= 1);
  CHECK(leeway.gain >= -0.0025);
}

}  // namespace
}  // namespace leeway::retune
