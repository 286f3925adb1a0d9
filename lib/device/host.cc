#include "device/host.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/math.h"
#include "base/status_macros.h"
#include "plan/findings.h"

namespace leeway::device {
namespace {

constexpr std::int64_t kLongestHostStep = std::int64_t{1} << 53;

}  // namespace

bool IsHostWork(const plan::Operator& op) { return std::holds_alternative<plan::Host>(op.work); }

bool HasHostWork(const plan::Body& plan) {
  return std::any_of(plan.entries.begin(), plan.entries.end(), [](const plan::Entry& entry) {
    return std::any_of(entry.operators.begin(), entry.operators.end(), IsHostWork);
  });
}

Spec WithHost(Spec device) {
  const std::size_t cores = device.core_count();
  const std::size_t count = std::min<std::size_t>(device.host_processors, kMaxCores - cores);
  if (device.accelerator_count() < cores || count == 0) return device;
  CoreClass host;
  host.name = kHostClass;
  host.host = true;
  host.count = static_cast<std::uint32_t>(count);
  host.first_core = static_cast<CoreIndex>(cores);
  host.clock_hz = 1'000'000'000;  // its work is stated in time
  device.classes.push_back(std::move(host));
  return device;
}

std::shared_ptr<const Spec> WithHostFor(const plan::Body& plan,
                                        std::shared_ptr<const Spec> device) {
  if (!HasHostWork(plan)) return device;
  return std::make_shared<const Spec>(WithHost(*device));
}

Result<StepCost> HostCost(const plan::Entry& entry, std::span<const plan::Index> ops,
                          std::int64_t shards, const std::string& what) {
  if (shards != 1) {
    return base::InvalidArgument(what + ": HOST work is not shared, and " + std::to_string(shards) +
                                 " shards are asked for");
  }
  std::int64_t time = 0;
  for (const plan::Index op : ops) {
    const plan::Operator& of = entry.operators[op];
    if (const auto* host = std::get_if<plan::Host>(&of.work)) {
      time = std::min(base::CheckedAdd(time, host->nanoseconds).value_or(kLongestHostStep + 1),
                      kLongestHostStep + 1);
    } else if (!std::holds_alternative<std::monostate>(of.work)) {
      return base::Unimplemented(what + ": operator " + plan::Quote(of.name) +
                                 " is no HOST work, and the host runs no other");
    }
  }
  if (time > kLongestHostStep) {
    return base::OutOfRange(what + ": one step takes the host more than 2^53 ns");
  }
  StepCost cost;
  // Not the body: the accelerator's clock does not slow it down.
  cost.fill = Nanos{time};
  return cost;
}

}  // namespace leeway::device
