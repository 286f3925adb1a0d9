// The small case study, BERT on a Blackhole: fusing a layer's whole second half saves launches and
// intermediates, and so mean latency. But its wide panels leave room for few rows in 1.5 MiB of
// SRAM: for long texts weights stream by several times, which computation hides while a run is
// alone, and which the shared DRAM shows once eleven run at once. Twice the DRAM mends it.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/math.h"
#include "device/step_cost.h"
#include "leeway_internal/plan/v1/plan.pb.h"
#include "plan/load.h"
#include "tests/catch.h"
#include "tests/exec/served.h"

namespace leeway {
namespace {

namespace pb = ::leeway_internal::plan::v1;

std::shared_ptr<const device::Spec> ShippedSpec(std::string_view name) {
  const auto file = base::FindShipped(base::ShippedKind::kDevice, name);
  REQUIRE(file.has_value());
  auto spec = device::ParseSpec(file->bytes, file->name);
  INFO(spec.status().ToString());
  REQUIRE(spec.ok());
  return std::make_shared<const device::Spec>(*std::move(spec));
}

// Merges the groups of every variant of entry "layer" from `first` on into one.
void FuseFrom(pb::Plan& plan, const std::string& first) {
  for (pb::Entry& entry : *plan.mutable_entries()) {
    if (entry.name() != "layer") continue;
    for (pb::Variant& variant : *entry.mutable_variants()) {
      auto& groups = *variant.mutable_fusion_groups();
      int at = 0;
      while (groups[at].name().rfind(first, 0) != 0) ++at;
      while (groups.size() > at + 1) {
        for (const std::string& op : groups[at + 1].ops()) groups[at].add_ops(op);
        groups.DeleteSubrange(at + 1, 1);
      }
      groups[at].mutable_kernel()->set_key("fused." + variant.name());
    }
  }
}

std::shared_ptr<const plan::Body> Bert(const std::string& fused_from) {
  const auto file = base::FindShipped(base::ShippedKind::kPlan, "bert_base");
  REQUIRE(file.has_value());
  pb::Plan plan;
  REQUIRE(plan.ParseFromArray(file->bytes.data(), static_cast<int>(file->bytes.size())));
  if (!fused_from.empty()) FuseFrom(plan, fused_from);
  auto body = plan::LoadValidPlan(plan.SerializeAsString(), "bert_base");
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  return *body;
}

constexpr std::int64_t kShort = 48, kLong = 256;

// Short texts one by one, and now and then eleven long ones at once: 5.5 % of all.
std::vector<exec::SimArrival> Arrivals() {
  constexpr std::int64_t kGapNs = 5'000'000;     // a short text takes less
  constexpr std::int64_t kQuietNs = 50'000'000;  // and a burst less than this
  std::vector<exec::SimArrival> arrivals;
  std::int64_t at = 0;
  for (int burst = 0; burst < 4; ++burst) {
    for (int i = 0; i < 189; ++i, at += kGapNs) arrivals.push_back(testing::ArrivalAt(at, kShort));
    for (int i = 0; i < 11; ++i) arrivals.push_back(testing::ArrivalAt(at, kLong));
    at += kQuietNs;
  }
  return arrivals;
}

struct Figures {
  Nanos mean{0}, p95{0}, launch{0};
  std::uint64_t steps = 0;
};

Figures ServeOn(std::shared_ptr<const plan::Body> plan,
                std::shared_ptr<const device::Spec> device) {
  exec::SimConfig config;
  config.plan = std::move(plan);
  config.device = std::move(device);
  config.streams = {{"texts", Priority(1)}};
  config.serving.batching.max_batch_size = 1;
  config.heat = exec::CoreClocks::Heat::kOff;
  const auto served = testing::Serve(config, Arrivals());
  INFO(served.status().ToString());
  REQUIRE(served.ok());
  Figures figures;
  std::vector<Nanos> latencies;
  for (const auto& ended : served->ok) {
    latencies.push_back(ended.latency);
    figures.mean += ended.latency;
    figures.launch += ended.parts.part(Cause::kLaunch);
  }
  std::sort(latencies.begin(), latencies.end());
  const auto count = static_cast<std::int64_t>(latencies.size());
  figures.mean /= count;
  figures.launch /= count;
  figures.p95 = latencies[base::NearestRank(0.95, latencies.size()) - 1];
  figures.steps = served->record->summary.steps;
  return figures;
}

// Costs of the layer's groups that hold operators from "out" on, for a text of `seq` tokens.
std::vector<device::StepCost> SecondHalf(const plan::Body& plan, const device::Spec& spec,
                                         std::int64_t seq) {
  std::vector<device::StepCost> costs;
  for (const plan::Entry& entry : plan.entries) {
    if (entry.name != "layer") continue;
    for (const plan::Group& group : entry.variants.back().groups) {
      if (entry.operators[group.ops.front()].name == "qkv") continue;
      if (entry.operators[group.ops.front()].name == "scores") continue;
      const std::vector<std::int64_t> dims{seq, 1};
      auto cost = device::GroupCost(plan, entry, group, dims, 1, spec.classes[0], spec);
      REQUIRE(cost.ok());
      costs.push_back(*cost);
    }
  }
  return costs;
}

}  // namespace

TEST_CASE("fusing more saves launches and intermediates, and bursts more on the DRAM",
          "[exec][scenario]") {
  const auto spec = ShippedSpec("tt_blackhole_p150");
  const auto moderate = Bert(""), aggressive = Bert("out_norm");
  const auto bytes = [](const std::vector<device::StepCost>& costs) {
    std::int64_t sum = 0;
    for (const device::StepCost& cost : costs) sum += cost.dram_bytes;
    return sum;
  };
  const auto few = SecondHalf(*moderate, *spec, kShort),
             one = SecondHalf(*aggressive, *spec, kShort);
  REQUIRE(few.size() == 3);
  REQUIRE(one.size() == 1);
  // Short texts: the intermediates of all rows stay on the core, and pass twice less.
  const std::int64_t intermediates = kShort * (768 + 3072) * 2 * 2;
  CHECK(bytes(few) - bytes(one) >= intermediates);
  // Long ones: the step demands more at once than any that it replaces, and moves more.
  const auto wide = SecondHalf(*moderate, *spec, kLong),
             fused = SecondHalf(*aggressive, *spec, kLong);
  for (const device::StepCost& cost : wide) CHECK(2 * fused[0].cap > 3 * cost.cap);
  CHECK(bytes(fused) > 2 * bytes(wide));
  // Alone nothing of that is to be seen: computation hides it.
  Nanos apart{0};
  for (const device::StepCost& cost : wide) apart += cost.launch + cost.Alone(spec->dram_rate());
  CHECK(fused[0].launch + fused[0].Alone(spec->dram_rate()) < apart);
}

TEST_CASE("fusing too much wins on average and loses at the tail, until the DRAM is twice as fast",
          "[exec][scenario]") {
  const auto spec = ShippedSpec("tt_blackhole_p150");
  auto twice = std::make_shared<device::Spec>(*spec);
  twice->dram_bytes_per_second *= 2;
  const auto moderate = Bert(""), aggressive = Bert("out_norm");
  const Figures before = ServeOn(moderate, spec), after = ServeOn(aggressive, spec);
  CAPTURE(before.mean.count(), after.mean.count(), before.p95.count(), after.p95.count());
  // Two steps less in each of 12 layers.
  CHECK(before.steps - after.steps == 4 * 200 * 12 * 2);
  CHECK(before.launch - after.launch == 12 * 2 * spec->step_launch);
  CHECK(after.mean < before.mean);
  CHECK(after.p95 > before.p95 + before.p95 / 50);
  const Figures roomy = ServeOn(moderate, twice), mended = ServeOn(aggressive, twice);
  CAPTURE(roomy.mean.count(), mended.mean.count(), roomy.p95.count(), mended.p95.count());
  CHECK(mended.mean < roomy.mean);
  CHECK(mended.p95 <= roomy.p95);
}

}  // namespace leeway
