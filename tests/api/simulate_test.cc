// The public API on what ships with the library.

#include "leeway/simulate.h"

#include <thread>

#include "leeway/attribution.h"
#include "leeway/buckets.h"
#include "leeway/plan_builder.h"
#include "leeway/recording.h"
#include "tests/catch.h"

namespace leeway {
namespace {

Plan Shipped(const char* name) { return Plan::Load(name).value(); }
Device DefaultDevice() { return Device::Load("onnxim_tpuv4_c4").value(); }

Traffic ShortPrompts() { return Traffic::Poisson(20, 60s, "tokens", {64, 100, 300, 500}).value(); }

}  // namespace

TEST_CASE("the plan's only free dim takes the traffic's only one, and the result says so",
          "[api][binding]") {
  const SimResult result = Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts()).value();
  REQUIRE(result.summary().notes.size() == 1);
  CHECK(result.summary().notes[0] == "dim \"seq\" takes the traffic's \"tokens\"");
  CHECK(result.summary().counts.submitted == result.summary().counts.ok);
  CHECK(result.summary().counts.submitted > 900);
}

TEST_CASE("resnet50 is served in batches, in no fallback and no sooner than its work allows",
          "[api][models]") {
  // Its only dim is the batch: what the traffic says of an image is left out.
  const Traffic traffic = Traffic::Poisson(20'000, 100ms, "pixels", {224}).value();
  SimulateOptions options;
  options.serving.batching.max_batch_size = 64;
  const SimResult result = Simulate(Shipped("resnet50"), DefaultDevice(), traffic, options).value();
  CHECK(result.summary().counts.submitted > 1000);
  CHECK(result.summary().counts.ok == result.summary().counts.submitted);
  CHECK(result.summary().fallback_rate == 0);
  // Multiply-adds of an image over the cells of four arrays at 1 GHz.
  CHECK(result.summary().makespan >
        Nanos(static_cast<std::int64_t>(result.summary().counts.ok * 4.089e9 / (4 * 16384))));
}

TEST_CASE("a dim that is bound to nothing is refused, naming what there is", "[api][binding]") {
  SimulateOptions options;
  options.bind = {{"length", "seq"}};
  const auto wrong = Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options);
  CHECK(wrong.status().code() == StatusCode::kInvalidArgument);
  CHECK(wrong.status().message() == "the traffic has no dim \"length\"; it has: tokens");
  options.bind = {{"tokens", "sequence"}};
  CHECK(
      Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options).status().message() ==
      "the plan has no dim \"sequence\"; it has: seq, batch");
}

TEST_CASE("a dim above the domain is clamped and counted, or ends a strict simulation",
          "[api][binding]") {
  const Traffic traffic = Traffic::Poisson(5, 60s, "seq", {100, 2000}).value();
  const SimResult result = Simulate(Shipped("bert_base"), DefaultDevice(), traffic).value();
  CHECK(result.summary().counts.clamped > 0);
  CHECK(result.summary().counts.clamped < result.summary().counts.submitted);
  SimulateOptions strict;
  strict.above_domain = SimulateOptions::AboveDomain::kError;
  const auto refused = Simulate(Shipped("bert_base"), DefaultDevice(), traffic, strict);
  CHECK(refused.status().code() == StatusCode::kOutOfRange);
  CHECK(refused.status().message().find("dim \"seq\" is 2000, outside its domain [1, 512]") !=
        std::string_view::npos);
}

TEST_CASE("a stream that states no priority has the default level", "[api][policies]") {
  SimulateOptions options;
  options.serving.batching.priority_levels = 4;
  options.serving.batching.default_priority_level = 3;
  const auto level = [&] {
    return Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options)
        .value()
        .summary()
        .streams[0]
        .priority_level;
  };
  CHECK(level() == 3);
  options.streams = {{"default", Priority(1)}};
  CHECK(level() == 1);
  options.streams = {{"default", Priority(5)}};
  const auto beyond = Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options);
  CHECK(beyond.status().code() == StatusCode::kInvalidArgument);
  CHECK(beyond.status().message() ==
        "stream \"default\": priority_level 5 exceeds priority_levels 4");
}

TEST_CASE("options of a stream replace what the traffic says of it, and only of one it has",
          "[api][policies]") {
  SimulateOptions options;
  options.streams = {{"default", Priority(7), 0}};
  const SimResult result =
      Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options).value();
  REQUIRE(result.summary().streams.size() == 1);
  CHECK(result.summary().streams[0].priority_level == 7);
  options.streams = {{"batch", Priority(7), 0}};
  const auto unknown = Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options);
  CHECK(unknown.status().code() == StatusCode::kInvalidArgument);
  CHECK(unknown.status().message() == "stream \"batch\" is not in the traffic, which has default");
  for (const int weight : {-1, StreamOptions::kMaxWeight + 1}) {
    options.streams = {{"default", std::nullopt, weight}};
    const auto refused = Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options);
    CHECK(refused.status().code() == StatusCode::kInvalidArgument);
    CHECK(refused.status().message().find("weight is " + std::to_string(weight)) !=
          std::string_view::npos);
  }
}

namespace {

Plan ProductOf(bool columns_first) {
  PlanBuilder builder("product", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, 512}, BatchRule::kMax);
  const EntryRef entry = builder.Entry("main");
  const TensorRef x = entry.Input("x", DType::kBf16, {seq, 256});
  const TensorRef w = entry.Weight("w", DType::kBf16, {256, 256});
  const OpRef mm = entry.Op("mm", Gemm{seq, 256, 256}, {x, w});
  const VariantRef variant = entry.Variant("v").Group("g", {mm});
  if (columns_first) variant.Layout(x, {.minor_to_major = {0, 1}});
  return std::move(builder).Build().value();
}

}  // namespace

TEST_CASE("an input that the variant lays out anew costs its copy, told as layout and nothing else",
          "[api][attribution][layout]") {
  const Traffic traffic = Traffic::Poisson(20, 10s, "seq", {100, 300, 500}).value();
  const SimResult plain = Simulate(ProductOf(false), DefaultDevice(), traffic).value();
  const SimResult copied = Simulate(ProductOf(true), DefaultDevice(), traffic).value();
  const MeanAttribution before = plain.tail_mean(0), after = copied.tail_mean(0);
  CHECK(before.parts().part(Cause::kLayout) == Nanos{0});
  const Nanos layout = after.parts().part(Cause::kLayout);
  CHECK(layout > Nanos{0});
  // Alone on the device every request pays it in full, at the bucket's length.
  CHECK(copied.summary().latency.min == plain.summary().latency.min + layout);
  CHECK(copied.summary().latency.max == plain.summary().latency.max + layout);
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (cause == Cause::kLayout) continue;
    CAPTURE(CauseName(cause));
    CHECK(after.parts().part(cause) == before.parts().part(cause));
  }
}

TEST_CASE("every policy serves the same requests with the same work, and by default it is leeway",
          "[api][policies]") {
  SimulateOptions options;
  // Enough for steps of several runs to wait: only there do policies differ.
  const Traffic traffic = Traffic::Open("chat_1h").value().Limit(500);
  const auto serve = [&] {
    return Simulate(Shipped("llama2_7b_prefill"), DefaultDevice(), traffic, options).value();
  };
  const SimResult by_default = serve();
  for (const Policy policy : kPolicies) {
    CAPTURE(PolicyName(policy));
    options.serving.policy = policy;
    const SimResult result = serve();
    CHECK(result.summary().counts.ok == by_default.summary().counts.ok);
    CHECK(result.summary().work == by_default.summary().work);
    CHECK(result.summary().attribution_missing == 0);
    CHECK(serve().telemetry_digest() == result.telemetry_digest());
    const bool same = result.telemetry_digest() == by_default.telemetry_digest();
    CHECK(same == (policy == Policy::kLeeway));
  }
}

TEST_CASE("a placement on cores that the device lacks ends before anything runs", "[api][fit]") {
  PlanBuilder builder("toy", Producer{"test", "1"});
  const Size seq = builder.Dim("seq", {1, 64}, BatchRule::kMax);
  const EntryRef entry = builder.Entry("main");
  const TensorRef x = entry.Input("x", DType::kBf16, {seq, 64});
  const OpRef op = entry.Op("double", Vector{seq * 64, 1}, {x});
  entry.Variant("v").Envelope(seq, 1, 64, 64).Group("g", {op}).Prefer("tensor:0");
  const Plan plan = std::move(builder).Build().value();
  const auto result = Simulate(plan, DefaultDevice(), Traffic::Poisson(1, 1s, "seq", {8}).value());
  CHECK(result.status().code() == StatusCode::kFailedPrecondition);
  CHECK(result.status().message().find("no core class \"tensor\"") != std::string_view::npos);
}

TEST_CASE("options out of range are refused by name and bound", "[api][options]") {
  SimulateOptions options;
  options.serving.batching.max_batch_size = 0;
  CHECK(
      Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options).status().message() ==
      "max_batch_size is 0; at least 1");
  options = {};
  options.serving.phi = 0.5;
  CHECK(
      Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts(), options).status().message() ==
      "phi is 0.5; between 1 and 1000");
}

TEST_CASE("the mean parts of all requests add up to the mean latency", "[api][attribution]") {
  const SimResult result = Simulate(Shipped("bert_base"), DefaultDevice(), ShortPrompts()).value();
  const MeanAttribution all = result.tail_mean(0);
  CHECK(all.count() == result.summary().counts.ok);
  // Each mean part is rounded down by less than a nanosecond.
  const Nanos gap = result.summary().latency.mean - all.parts().total();
  CHECK(gap >= Nanos{-1});
  CHECK(gap <= Nanos{static_cast<std::int64_t>(kCauseCount)});
  CHECK(result.summary().attribution_missing == 0);
  CHECK(result.tail_mean(0.99).count() < all.count());
}

TEST_CASE("equal seeds give equal bytes beside another simulation, different seeds others",
          "[api][determinism]") {
  const Plan plan = Shipped("bert_base");
  const Device device = DefaultDevice();
  auto digest = [&](std::uint64_t seed) {
    SimulateOptions options;
    options.seed = seed;
    return Simulate(plan, device, ShortPrompts(), options).value().telemetry_digest();
  };
  const std::string first = digest(7);
  std::string left, right;
  std::thread a([&] { left = digest(7); }), b([&] { right = digest(7); });
  a.join();
  b.join();
  CHECK(left == first);
  CHECK(right == first);
  CHECK(digest(8) != first);
}

TEST_CASE("what a result recorded replays to the same bytes", "[api][recording]") {
  const Plan plan = Shipped("bert_base");
  SimulateOptions options;
  options.seed = 7;
  options.bind = {{"tokens", "seq"}};
  const Traffic half = ShortPrompts().First(30s);
  const SimResult result = Simulate(plan, DefaultDevice(), half, options).value();
  const Recording recording = result.recording();
  SimulateOptions again;
  again.seed = recording.seed();
  again.entry = recording.entry();
  again.bind = recording.bind();
  again.above_domain = recording.above_domain();
  CHECK(Simulate(plan, DefaultDevice(), recording.traffic(), again).value().telemetry_digest() ==
        result.telemetry_digest());
}

TEST_CASE("a progress callback that says no cancels", "[api][cancel]") {
  SimulateOptions options;
  options.progress = [](const Progress&) { return false; };
  const Traffic traffic = Traffic::Poisson(100, 60s, "seq", {64}).value();
  CHECK(Simulate(Shipped("bert_base"), DefaultDevice(), traffic, options).status().code() ==
        StatusCode::kCancelled);
  BucketStudyOptions study;
  study.window = 10s;
  study.progress = [](std::uint64_t) { return false; };
  CHECK(StudyBuckets(traffic, study).status().code() == StatusCode::kCancelled);
}

TEST_CASE("grouping batches by bucket pads less than first come, first served", "[api][batching]") {
  // An overloaded device, so that batches form.
  const Traffic traffic = Traffic::Poisson(3000, 2s, "seq", {40, 120, 250, 500}).value();
  auto padding = [&](BatchingOptions::Formation formation) {
    SimulateOptions options;
    options.serving.batching.formation = formation;
    const SimResult result =
        Simulate(Shipped("bert_base"), DefaultDevice(), traffic, options).value();
    const MeanAttribution all = result.tail_mean(0);
    return std::pair(all.part(Cause::kPadding) + all.part(Cause::kBatchMates),
                     result.summary().makespan);
  };
  const auto by_bucket = padding(BatchingOptions::Formation::kByBucket);
  const auto first_come = padding(BatchingOptions::Formation::kFirstCome);
  CHECK(by_bucket.first < first_come.first);
  CHECK(by_bucket.second < first_come.second);
}

TEST_CASE("a study of fewer than two windows is refused with what to do about it",
          "[api][buckets]") {
  BucketStudyOptions options;
  options.window = 1h;
  const auto result = StudyBuckets(ShortPrompts(), options);
  CHECK(result.status().code() == StatusCode::kFailedPrecondition);
  CHECK(result.status().message().find("choose a shorter window") != std::string_view::npos);
  options.buckets = 0;
  CHECK(StudyBuckets(ShortPrompts(), options).status().message() ==
        "buckets is 0; between 1 and 4096");
}

TEST_CASE("a study of ten million windows is begun, one of more is refused with the bound",
          "[api][buckets][bound]") {
  // What is generated declares its span: ten seconds.
  const Traffic traffic = Traffic::Open("chat_1h").value().First(10s);
  BucketStudyOptions options;
  bool begun = false;
  options.progress = [&](std::uint64_t) {
    begun = true;
    return false;
  };
  options.window = Nanos{1000};
  CHECK(StudyBuckets(traffic, options).status().code() == StatusCode::kCancelled);
  CHECK(begun);
  begun = false;
  options.window = Nanos{999};
  const auto refused = StudyBuckets(traffic, options);
  CHECK(refused.status().code() == StatusCode::kInvalidArgument);
  CHECK(refused.status().message() ==
        "a window of 999 ns cuts 10000000000 ns of traffic into more than 10000000 windows");
  CHECK_FALSE(begun);
}

}  // namespace leeway
