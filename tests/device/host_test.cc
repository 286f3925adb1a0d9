#include "device/host.h"

#include <vector>

#include "device/plan_fit.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using testing::PlanMaker;

// A GEMM between two operators of the host, each a group.
PlanMaker Pipeline() {
  PlanMaker plan;
  plan.Tensor("x", plan::TensorKind::kInput, "64 * 64");
  plan.Tensor("w", plan::TensorKind::kWeight, "64 * 64");
  plan.Tensor("a", plan::TensorKind::kActivation, "64 * 64");
  plan.Tensor("b", plan::TensorKind::kActivation, "64 * 64");
  plan.Tensor("y", plan::TensorKind::kOutput, "64 * 64");
  plan.Op("pre", {"x"}, {"a"}, plan::Host{3000});
  plan.Gemm("gemm", {"a", "w"}, "b", "64", "64", "64");
  plan.Op("post", {"b"}, {"y"}, plan::Host{700});
  for (const char* name : {"pre", "gemm", "post"}) plan.Group(name, {name});
  return plan;
}

TEST_CASE("the host's processors come behind the cores, once, and only for HOST work",
          "[device][host]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Pipeline();
  REQUIRE(HasHostWork(plan.body()));
  const Spec with = WithHost(device);
  CHECK(with.core_count() == device.core_count() + 1);
  CHECK(with.accelerator_count() == device.core_count());
  CHECK(with.CoreName(static_cast<CoreIndex>(device.core_count())) == "host:0");
  CHECK(with.digest == device.digest);
  CHECK(WithHost(with).core_count() == with.core_count());
  PlanMaker other;
  const auto shared = std::make_shared<const Spec>(device);
  CHECK(WithHostFor(other.body(), shared) == shared);
  // Cores have numbers below 256: the host takes what is left.
  Spec full = device;
  full.classes[0].count = kMaxCores - 2;
  full.host_processors = 8;
  CHECK(WithHost(full).core_count() == kMaxCores);
}

TEST_CASE("a step of the host takes its nanoseconds and nothing of the device", "[device][host]") {
  const Spec device = WithHost(testing::Shipped());
  const CoreClass& host = device.classes.back();
  PlanMaker plan = Pipeline();
  const StepCost cost =
      GroupCost(plan.body(), plan.entry(), plan.variant().groups[0], {}, 1, host, device).value();
  CHECK(cost.launch == Nanos{0});
  CHECK(cost.Alone(device.dram_rate()) == Nanos{3000});
  CHECK(cost.dram_bytes == 0);
  CHECK(cost.body_bytes == 0);
  CHECK(cost.energy_pj == 0);
  const StepCost alone =
      OperatorCost(plan.body(), plan.entry(), plan.Find("post"), {}, 1, host, device).value();
  CHECK(alone.Alone(device.dram_rate()) == Nanos{700});
  const auto shared =
      GroupCost(plan.body(), plan.entry(), plan.variant().groups[0], {}, 2, host, device);
  CHECK(shared.status().message() ==
        "group \"pre\": HOST work is not shared, and 2 shards are asked for");
  CHECK(GroupCost(plan.body(), plan.entry(), plan.variant().groups[1], {}, 1, host, device)
            .status()
            .code() == StatusCode::kUnimplemented);
}

TEST_CASE("HOST work goes to the host alone, and no other work does", "[device][host]") {
  const Spec device = WithHost(testing::Shipped());
  const auto host = static_cast<CoreIndex>(device.core_count() - 1);
  PlanMaker plan = Pipeline();
  std::vector<plan::Group>& groups = plan.variant().groups;
  CHECK(ResolveGroup(plan.entry(), groups[0], device)->allowed == std::vector<CoreIndex>{host});
  const std::vector<CoreIndex> cores = ResolveGroup(plan.entry(), groups[1], device)->allowed;
  CHECK(cores.size() == device.accelerator_count());
  CHECK(cores.back() < host);
  groups[0].placement.cores.resize(1);
  groups[0].placement.cores[0].core_class = kHostClass;
  CHECK(ResolveGroup(plan.entry(), groups[0], device)->allowed == std::vector<CoreIndex>{host});
  groups[1].placement = groups[0].placement;
  CHECK(ResolveGroup(plan.entry(), groups[1], device).status().message() ==
        "group \"gemm\": core host:0 is a processor of the host, for HOST work alone");
}

TEST_CASE("a HOST group that is placed on a core is a finding", "[device][host]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Pipeline();
  CHECK(CheckFit(plan.body(), device, 1).empty());
  plan.variant().groups[0].placement.cores.resize(1);
  const std::vector<Finding> findings = CheckFit(plan.body(), device, 1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].path == "entries[0].variants[0].fusion_groups[0].placement");
  CHECK(findings[0].message.find("HOST work runs on processors of the host, not on core ") !=
        std::string::npos);
}

}  // namespace
}  // namespace leeway::device
