#include "leeway/cost.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/math.h"
#include "base/status_macros.h"
#include "device/cycles.h"
#include "device/host.h"
#include "device/plan_fit.h"
#include "device/step_detail.h"
#include "leeway/plan_builder.h"
#include "plan/body.h"

namespace leeway {
inline namespace v0 {
namespace {

using device::CoreClass;
using device::Spec;
using device::StepDetail;

// Operations an element on a vector unit. One each for add to compare; norms and softmax: NeuSim;
// exp: LLMCompass for TPUv3, and 10 more for gelu.
struct TypicalCount {
  std::string_view kind;
  double ops;
};
constexpr TypicalCount kTypicalCounts[] = {
    {"add", 1},     {"mul", 1},       {"max", 1},  {"cmp", 1},   {"relu", 1},     {"softmax", 4},
    {"rmsnorm", 6}, {"layernorm", 8}, {"exp", 15}, {"gelu", 25}, {"groupnorm", 8}};

// Declares what the work reads.
class Inputs {
 public:
  Inputs(const EntryRef& entry, DType dtype) : entry_(entry), dtype_(dtype) {}

  std::vector<TensorRef> operator()(const Gemm& gemm) const {
    return {Input("x", {gemm.count, gemm.m, gemm.k}), Input("w", {gemm.count, gemm.k, gemm.n})};
  }
  std::vector<TensorRef> operator()(const Conv& conv) const {
    return {Input("x", {conv.n, conv.h, conv.w, conv.c}),
            Input("w", {conv.filters, conv.kernel_h, conv.kernel_w,
                        FloorDiv(conv.c, std::max<std::uint32_t>(conv.groups, 1))})};
  }
  std::vector<TensorRef> operator()(const Vector& vector) const {
    return {Input("x", {vector.elements})};
  }
  std::vector<TensorRef> operator()(const Reduce& reduce) const {
    return {Input("x", {reduce.elements})};
  }
  template <typename Other>
  std::vector<TensorRef> operator()(const Other&) const {
    return {Input("x", {1})};
  }

 private:
  TensorRef Input(const char* name, const std::vector<Size>& shape) const {
    return entry_.Input(name, dtype_, shape);
  }
  const EntryRef& entry_;
  DType dtype_;
};

// A plan that is one operator.
Result<Plan> PlanOf(const OperatorSpec& op) {
  PlanBuilder builder("operator", {"leeway", ""});
  const EntryRef entry = builder.Entry("main");
  const std::vector<TensorRef> inputs = std::visit(Inputs(entry, op.dtype), op.work);
  OpRef made = entry.Op(op.name.empty() ? "op" : op.name, op.work, inputs);
  if (!op.kind.empty()) made.Kind(op.kind);
  return std::move(builder).Build();
}

Result<std::size_t> ClassFor(const Spec& device, const OperatorSpec& spec,
                             const plan::Operator& op) {
  plan::Placement placement;
  if (!spec.core_class.empty()) {
    placement.cores.emplace_back().core_class = spec.core_class;
  }
  auto resolved = device::ResolvePlacement(placement, device, device::NeedsOf(op));
  if (!resolved.ok()) return resolved.status();
  return device.ClassOf(resolved->allowed.front());
}

ArrayTraffic TrafficOf(const StepDetail& detail, const CoreClass& core) {
  ArrayTraffic traffic;
  for (const device::Product& product : detail.shape.products) {
    const device::ArrayAccesses of = device::AccessesOf(core, product);
    traffic.left += base::RoundToInt64(of.left).value_or(0);
    traffic.right += base::RoundToInt64(of.right).value_or(0);
    traffic.out += base::RoundToInt64(of.out).value_or(0);
  }
  return traffic;
}

// As a simulation counts them (SimSummary::energy_j).
void SetEnergy(const device::StepCost& step, const Spec& device, OperatorCost& cost) {
  const device::EventEnergy one = device.event_energy();
  const bool dynamic = one.mac > 0 || one.vector_op > 0 || one.sram_byte > 0 || one.dram_byte > 0;
  const double seconds = static_cast<double>(cost.time().count()) * 1e-9;
  if (dynamic) cost.dynamic_energy_j = static_cast<double>(step.energy_pj) * 1e-12;
  if (device.power.static_watts > 0) cost.static_energy_j = device.power.static_watts * seconds;
  if (dynamic) cost.energy_j = *cost.dynamic_energy_j + cost.static_energy_j.value_or(0);
  if (dynamic && cost.static_energy_j) return;
  cost.energy_reason = "device " + device.name + " states no " +
                       (dynamic ? "static power" : "power of its units and its DRAM") +
                       (dynamic || cost.static_energy_j ? "" : ", and no static power");
}

OperatorCost CostFrom(const StepDetail& detail, const CoreClass& core, const Spec& device,
                      const OperatorSpec& spec) {
  const device::StepCost& step = detail.cost;
  OperatorCost cost;
  cost.name = spec.name;
  cost.core_class = core.name;
  cost.cycles = base::RoundToInt64(device::Ceil(detail.tile_cost.cycles)).value_or(0);
  cost.utilization = device::Utilization(detail, core);
  cost.macs = step.macs;
  cost.vector_ops = step.vector_ops;
  cost.dram_bytes = step.dram_bytes;
  cost.sram_peak_bytes = step.sram_peak_bytes;
  cost.array_traffic = TrafficOf(detail, core);
  cost.launch = step.launch;
  cost.fill = step.fill;
  cost.body = step.BodyAlone(std::max<device::ByteUnits>(device.dram_rate() / spec.shards, 1));
  cost.drain = step.drain;
  SetEnergy(step, device, cost);
  // In the order of device::Bound.
  cost.bound = static_cast<CostBound>(step.bound);
  cost.bound_reason = device::ReasonOf(detail, core, device, spec.shards);
  cost.terms = device::Explain(detail, core, device, spec.shards);
  return cost;
}

// The host takes what the operator states, and the device nothing.
Result<OperatorCost> HostOperatorCost(const plan::Entry& entry, const OperatorSpec& spec) {
  if (!spec.core_class.empty() && spec.core_class != device::kHostClass) {
    return base::InvalidArgument(spec.name + ": HOST work runs on processors of the host, not on " +
                                 spec.core_class);
  }
  const plan::Index only = 0;
  LEEWAY_ASSIGN_OR_RETURN(const device::StepCost step,
                          device::HostCost(entry, {&only, 1}, spec.shards, spec.name));
  OperatorCost cost;
  cost.name = spec.name;
  cost.core_class = device::kHostClass;
  cost.body = step.fill;
  cost.energy_reason = "the device's energy is none, and the host's is not modelled";
  cost.bound_reason = "the host takes the time that the operator states";
  return cost;
}

static_assert(static_cast<int>(device::Bound::kVector) == static_cast<int>(CostBound::kVector) &&
              static_cast<int>(device::Bound::kSram) == static_cast<int>(CostBound::kSram) &&
              static_cast<int>(device::Bound::kLaunch) == static_cast<int>(CostBound::kLaunch));

}  // namespace

const char* CostBoundName(CostBound bound) {
  switch (bound) {
    case CostBound::kCompute:
      return "compute";
    case CostBound::kBandwidth:
      return "bandwidth";
    case CostBound::kLaunch:
      return "launch";
    case CostBound::kSram:
      return "sram";
    case CostBound::kVector:
      return "vector";
  }
  return "";
}

double TypicalOpsPerElement(std::string_view kind) {
  const auto found = std::find_if(std::begin(kTypicalCounts), std::end(kTypicalCounts),
                                  [&](const TypicalCount& count) { return count.kind == kind; });
  return found == std::end(kTypicalCounts) ? 0 : found->ops;
}

Result<OperatorCost> CostOf(const Device& device, const OperatorSpec& op) {
  constexpr std::int64_t kMaxShards = 1 << 16;
  if (op.shards < 1 || op.shards > kMaxShards) {
    return base::InvalidArgument(op.name + ": " + std::to_string(op.shards) +
                                 " shards are not in [1, " + std::to_string(kMaxShards) + "]");
  }
  LEEWAY_ASSIGN_OR_RETURN(const Plan plan, PlanOf(op));
  const plan::Body& body = *plan.body();
  const plan::Entry& entry = body.entries.front();
  const plan::Operator& only = entry.operators.front();
  const Spec& spec = *device.spec();
  if (device::IsHostWork(only)) return HostOperatorCost(entry, op);
  LEEWAY_ASSIGN_OR_RETURN(const std::size_t of, ClassFor(spec, op, only));
  const CoreClass& core = spec.classes[of];
  const plan::Tiling tiling{.m = op.tile.m, .n = op.tile.n, .k = op.tile.k};
  LEEWAY_ASSIGN_OR_RETURN(
      const StepDetail detail,
      device::OperatorDetail(body, entry, only, {}, op.shards, core, spec, tiling));
  return CostFrom(detail, core, spec, op);
}

}  // namespace v0
}  // namespace leeway
