// Figures on real traffic through the public API. The expected values are the reference figures of
// the bucketing protocol, computed by three independent programs; see docs/bucketing.md.

#include "leeway/buckets.h"
#include "leeway/loop.h"
#include "tests/catch.h"

#ifdef LEEWAY_SHARED_DATA_DIR

namespace leeway {
namespace {

const std::string kTraffic = LEEWAY_SHARED_DATA_DIR "/traffic/";

BucketStudy Study(const std::string& file, const std::string& format, Nanos window, int buckets) {
  TrafficOptions traffic;
  traffic.format = format;
  BucketStudyOptions options;
  options.window = window;
  options.buckets = buckets;
  return StudyBuckets(Traffic::Open(kTraffic + file, traffic).value(), options).value();
}

const BucketPolicyResult& Find(const BucketStudy& study, const std::string& name) {
  for (const BucketPolicyResult& policy : study.policies) {
    if (policy.name == name) return policy;
  }
  FAIL("no policy " << name);
  return study.policies.front();
}

double Percent(double fraction) { return 100 * fraction; }

}  // namespace

TEST_CASE("fourteen days of a production service give the reference figures", "[api][reference]") {
  struct Row {
    int buckets;
    double frozen, ref, oracle, captured;
    std::uint64_t retunes;
  };
  const auto row =
      GENERATE(Row{8, 26.86, 15.27, 13.29, 87.4, 56}, Row{16, 14.60, 8.48, 6.73, 79.3, 43});
  CAPTURE(row.buckets);
  const BucketStudy study =
      Study("servegen_m_large_hourly.csv.gz", "length-histogram", 1h, row.buckets);
  CHECK(study.windows == 336);
  CHECK(study.max_length == 30712);
  CHECK(std::abs(Percent(Find(study, "frozen").waste) - row.frozen) <= 0.05);
  CHECK(std::abs(Percent(Find(study, "ref").waste) - row.ref) <= 0.05);
  CHECK(std::abs(Percent(Find(study, "oracle").waste) - row.oracle) <= 0.05);
  CHECK(std::abs(Percent(Find(study, "ref").captured.value()) - row.captured) <= 0.05);
  CHECK(Find(study, "ref").retunes == row.retunes);

  // The gates of the default policy.
  const BucketPolicyResult& ours = Find(study, "leeway");
  const BucketPolicyResult& ref = Find(study, "ref");
  CHECK(ours.captured.value() >= ref.captured.value() - 0.02);
  CHECK(ours.retunes <= ref.retunes);
  CHECK(ours.worst_window <= ref.worst_window);
  CHECK(ours.excess <= 0.005);
}

TEST_CASE("on one hour the default policy compiles at most once and loses next to nothing",
          "[api][reference]") {
  const int buckets = GENERATE(8, 16);
  CAPTURE(buckets);
  const BucketStudy study = Study("AzureLLMInferenceTrace_conv.csv", "azure-llm", 10min, buckets);
  CHECK(study.requests == 19366);
  const BucketPolicyResult& ours = Find(study, "leeway");
  CHECK(ours.retunes <= 1);
  CHECK(Percent(ours.gain) >= -0.25);
}

namespace {

LoopSummary Loop(const std::string& file, const TrafficOptions& traffic, Nanos window) {
  LoopOptions options;
  options.load.window = window;
  options.load.sample = 0;
  return RunLoop(
             Plan::Load("llama2_7b_prefill").value(), Device::Load("onnxim_tpuv4_c4").value(),
             Traffic::Open(std::string(LEEWAY_SHARED_DATA_DIR "/traffic/") + file, traffic).value(),
             options)
      .value()
      .summary();
}

}  // namespace

TEST_CASE("on one hour of a conversation service the loop finds no headroom",
          "[api][loop][reference]") {
  TrafficOptions traffic;
  traffic.format = "azure-llm";
  const LoopSummary summary = Loop("AzureLLMInferenceTrace_conv.csv", traffic, 10min);
  CHECK(summary.requests == 19366);
  CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kNone);
  CHECK_FALSE(summary.gain.captured);
  CHECK(summary.compiles <= 1);
}

TEST_CASE("on fourteen days of a service the loop finds headroom, and no work below the bound",
          "[api][loop][reference]") {
  TrafficOptions traffic;
  traffic.format = "length-histogram";
  // A fiftieth of what the experiment draws by itself: windows are merged to hold 1,000.
  traffic.requests = 20'000;
  const LoopSummary summary = Loop("servegen_m_large_hourly.csv.gz", traffic, 1h);
  CHECK(summary.headroom.verdict == LoopHeadroom::Verdict::kPresent);
  CHECK(summary.adapted.work < summary.frozen.work);
  CHECK(summary.gain.captured.value().value > 0);
  CHECK(summary.gain.captured.value().value <= 1);
  for (const LoopWindow& window : summary.windows) {
    if (window.requests > 0) CHECK(window.requests >= 1000);
    CHECK(window.clairvoyant_work <= window.frozen_work);
    CHECK(window.clairvoyant_work <= window.adapted_work);
  }
}

}  // namespace leeway

#endif  // LEEWAY_SHARED_DATA_DIR
