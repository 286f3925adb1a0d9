// The figures of the protocol on the two published traces. The expected values were computed by
// independent programs before this code was written; they are not this program's output.

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

BucketStudyResult Study(const Windows& windows, int buckets, double threshold,
                        std::vector<std::string> policies) {
  BucketStudyOptions options;
  options.policy.spec.max_buckets = buckets;
  options.policy.threshold = threshold;
  options.policy.max_length = 32768;
  options.policies = std::move(policies);
  return StudyBuckets(windows, options).value();
}

struct Figure {
  int buckets;
  double frozen;  // waste, per cent
  double ref;
  double oracle;
  double gain;
  double captured;
  std::int64_t retunes;
  double worst;
};

TEST_CASE("the hourly production mix gives the reference figures", "[retune][figures]") {
  const Figure f = GENERATE(Figure{8, 26.86, 15.27, 13.29, 15.9, 87.4, 56, 12.1},
                            Figure{16, 14.60, 8.48, 6.73, 7.2, 79.3, 43, 14.9});
  CAPTURE(f.buckets);
  const BucketStudyResult r = Study(MLarge(), f.buckets, 0.03, {"frozen", "ref", "oracle"});
  CHECK(r.windows == 335);
  CHECK(100 * r.Find("frozen")->waste == Approx(f.frozen).margin(0.05));
  CHECK(100 * r.Find("oracle")->waste == Approx(f.oracle).margin(0.05));
  const PolicyOutcome& ref = *r.Find("ref");
  CHECK(100 * ref.waste == Approx(f.ref).margin(0.05));
  CHECK(100 * ref.gain == Approx(f.gain).margin(0.05));
  CHECK(100 * *ref.captured == Approx(f.captured).margin(0.05));
  CHECK(ref.retunes == f.retunes);
  CHECK(ref.switches == 0);
  CHECK(100 * ref.worst_window == Approx(f.worst).margin(0.05));
}

TEST_CASE("the threshold trades retunes for captured gain as the reference says",
          "[retune][figures]") {
  struct Row {
    double threshold;
    std::int64_t retunes;
    double captured;
  };
  const Row row = GENERATE(Row{0.01, 116, 90.5}, Row{0.05, 32, 86.3}, Row{0.10, 12, 73.3});
  CAPTURE(row.threshold);
  const BucketStudyResult r = Study(MLarge(), 8, row.threshold, {"ref"});
  CHECK(r.Find("ref")->retunes == row.retunes);
  CHECK(100 * *r.Find("ref")->captured == Approx(row.captured).margin(0.05));
}

TEST_CASE("on exact windows cross-fitting changes nothing, and powers of two waste a third",
          "[retune][figures]") {
  const BucketStudyResult r = Study(MLarge(), 8, 0.03, {"ref", "refx", "pow2"});
  CHECK(r.Find("refx")->work.cost == r.Find("ref")->work.cost);
  CHECK(100 * r.Find("pow2")->waste == Approx(33.2).margin(0.05));
}

TEST_CASE("an hour of recorded requests has no headroom worth a retune", "[retune][figures]") {
  struct Row {
    int buckets;
    double frozen;
    double oracle;
    double gain;  // of refx, per cent
  };
  const Row row = GENERATE(Row{8, 11.91, 9.98, -0.23}, Row{16, 7.08, 5.00, -0.02});
  CAPTURE(row.buckets);
  const Windows windows =
      testing::ReadAzureArrivals(kTraffic + "AzureLLMInferenceTrace_conv.csv", 600);
  const BucketStudyResult r = Study(windows, row.buckets, 0.03, {"frozen", "oracle", "refx"});
  CHECK(r.windows == 5);
  CHECK(100 * r.Find("frozen")->waste == Approx(row.frozen).margin(0.05));
  CHECK(100 * r.Find("oracle")->waste == Approx(row.oracle).margin(0.05));
  CHECK(100 * r.Find("refx")->gain == Approx(row.gain).margin(0.005));
  CHECK(r.Find("refx")->retunes == 1);
}

}  // namespace
}  // namespace leeway::retune
