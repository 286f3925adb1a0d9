// The shipped plan on the shipped device: the numbers that every experiment rests on.

#include <cstdio>
#include <string>
#include <vector>

#include "base/file.h"
#include "device/plan_fit.h"
#include "device/step_cost.h"
#include "plan/load.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

std::shared_ptr<const plan::Body> Llama() {
  const auto file = base::FindShipped(base::ShippedKind::kPlan, "llama2_7b_prefill");
  REQUIRE(file.has_value());
  auto body = plan::LoadValidPlan(file->bytes, file->name);
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  return *body;
}

struct Seconds {
  double time = 0, bytes = 0, launches = 0;
};

// All steps one after another, every shard of a step beside its mates with an equal part of DRAM.
class Prefill {
 public:
  Prefill() : plan_(Llama()), device_(testing::Shipped()) {}

  Seconds Fused(std::int64_t seq, std::int64_t batch = 1) const {
    return FusedEntry(*plan_->FindEntry("main"), Bucket(seq), Dims(Bucket(seq), batch));
  }
  Seconds FusedExact(std::int64_t seq, std::int64_t batch = 1) const {
    return FusedEntry(*plan_->FindEntry("main"), Bucket(seq), Dims(seq, batch));
  }
  Seconds Generic(std::int64_t seq, std::int64_t batch = 1) const {
    return GenericEntry(*plan_->FindEntry("main"), Dims(seq, batch));
  }

  std::int64_t Bucket(std::int64_t seq) const {
    std::int64_t bucket = 256;
    while (bucket < seq) bucket *= 2;
    return bucket;
  }

  Seconds FusedEntry(plan::Index e, std::int64_t bucket, const std::vector<std::int64_t>& dims,
                     bool print = false) const {
    const plan::Entry& entry = plan_->entries[e];
    const std::string name = "s" + std::to_string(bucket);
    Seconds total;
    for (const plan::Variant& variant : entry.variants) {
      if (variant.name != name) continue;
      for (const plan::Group& group : variant.groups) {
        const plan::Operator& first = entry.operators[group.ops[0]];
        if (const auto* call = std::get_if<plan::Call>(&first.work)) {
          const Seconds callee = FusedEntry(call->entry, bucket, dims);
          const auto times = static_cast<double>(call->times(dims));
          total.time += times * callee.time;
          total.bytes += times * callee.bytes;
          total.launches += times * callee.launches;
          continue;
        }
        const auto cost =
            GroupCost(*plan_, entry, group, dims, kShards, device_.classes[0], device_);
        INFO(cost.status().ToString());
        REQUIRE(cost.ok());
        Add(group.name, *cost, total, print);
      }
    }
    REQUIRE(total.launches > 0);
    return total;
  }

  Seconds GenericEntry(plan::Index e, const std::vector<std::int64_t>& dims,
                       bool print = false) const {
    const plan::Entry& entry = plan_->entries[e];
    Seconds total;
    for (const plan::Operator& op : entry.operators) {
      if (const auto* call = std::get_if<plan::Call>(&op.work)) {
        const Seconds callee = GenericEntry(call->entry, dims);
        const auto times = static_cast<double>(call->times(dims));
        total.time += times * callee.time;
        total.bytes += times * callee.bytes;
        total.launches += times * callee.launches;
        continue;
      }
      const auto cost = OperatorCost(*plan_, entry, op, dims, kShards, device_.classes[0], device_);
      INFO(cost.status().ToString());
      REQUIRE(cost.ok());
      Add(op.name, *cost, total, print);
    }
    return total;
  }

  void Add(const std::string& name, const StepCost& cost, Seconds& total, bool print) const {
    const Nanos alone = cost.launch + cost.Alone(device_.dram_rate() / kShards);
    total.time += static_cast<double>(alone.count()) / 1e9;
    total.bytes += static_cast<double>(cost.dram_bytes) * kShards;
    total.launches += 1;
    if (print) {
      std::printf(
          "  %-16s %10.1f us fill %5.1f compute %9.1f mem %9.1f drain %5.1f sram %5.1f MB bound "
          "%d\n",
          name.c_str(), static_cast<double>(alone.count()) / 1e3,
          static_cast<double>(cost.fill.count()) / 1e3,
          static_cast<double>(cost.compute.count()) / 1e3,
          static_cast<double>(cost.dram_bytes) / 153.6e3,
          static_cast<double>(cost.drain.count()) / 1e3,
          static_cast<double>(cost.sram_peak_bytes) / 1e6, static_cast<int>(cost.bound));
    }
  }

  std::vector<std::int64_t> Dims(std::int64_t seq, std::int64_t batch) const {
    std::vector<std::int64_t> dims(plan_->dims.size());
    dims[*plan_->FindDim("seq")] = seq;
    dims[*plan_->FindDim("batch")] = batch;
    return dims;
  }

  const plan::Body& plan() const { return *plan_; }
  const Spec& device() const { return device_; }
  static constexpr std::int64_t kShards = 4;

 private:
  std::shared_ptr<const plan::Body> plan_;
  Spec device_;
};

constexpr std::int64_t kLengths[] = {64, 256, 1024, 4096, 16'384, 30'000};

TEST_CASE("a prefill of the shipped plan takes what its multiply-adds take, and little more",
          "[device][integration]") {
  const Prefill prefill;
  // 2 · 6.5e9 multiply-adds a token (the head runs for the last one only) at 131 Tflop/s, and
  // attention; short prompts wait for the weights.
  CHECK(prefill.Fused(1024).time == Approx(0.105).epsilon(0.02));
  CHECK(prefill.Fused(256).time >= 13.2e9 / 614.4e9);
}

TEST_CASE("fused runs beat generic ones at every length, by more as attention grows",
          "[device][integration]") {
  const Prefill prefill;
  double last_ratio = 1;
  double last_time = 0;
  for (const std::int64_t seq : kLengths) {
    const Seconds fused = prefill.FusedExact(seq);
    const Seconds generic = prefill.Generic(seq);
    CAPTURE(seq, fused.time, generic.time);
    CHECK(fused.bytes < generic.bytes);
    CHECK(fused.launches < generic.launches);
    CHECK(generic.time / fused.time > last_ratio);
    CHECK(fused.time > last_time);
    last_ratio = generic.time / fused.time;
    last_time = fused.time;
  }
}

TEST_CASE("the shipped plan fits the shipped device with four runs at once",
          "[device][integration]") {
  const Prefill prefill;
  for (const Finding& finding : CheckFit(prefill.plan(), prefill.device(), 4)) {
    FAIL_CHECK(finding.path << ": " << finding.message);
  }
}

// Not run by default: prints the table of prefill times (fused at its bucket, at its exact length,
// generic) and the steps of one layer.
TEST_CASE("table of prefill times", "[.][device]") {
  const Prefill prefill;
  for (const std::int64_t seq : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 30000, 32768}) {
    const Seconds exact = prefill.FusedExact(seq);
    const Seconds padded = prefill.Fused(seq);
    const Seconds generic = prefill.Generic(seq);
    std::printf(
        "%6lld f %.5f s bucket %.5f generic %.5f ratio %.3f bytes f %.2f GB g %.2f GB launches %g "
        "%g\n",
        static_cast<long long>(seq), exact.time, padded.time, generic.time,
        generic.time / exact.time, exact.bytes / 1e9, generic.bytes / 1e9, exact.launches,
        generic.launches);
  }
  const plan::Index layer = *prefill.plan().FindEntry("layer");
  for (const std::int64_t seq : {64, 1024, 8192, 30000}) {
    std::printf("seq %lld\n", static_cast<long long>(seq));
    prefill.FusedEntry(layer, prefill.Bucket(seq), prefill.Dims(seq, 1), true);
    prefill.GenericEntry(layer, prefill.Dims(seq, 1), true);
  }
}

}  // namespace
}  // namespace leeway::device
