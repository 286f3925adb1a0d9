#include "tests/device/support/plan_maker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "tests/catch.h"

namespace leeway::device::testing {

PlanMaker::PlanMaker() {
  body_.model = "made";
  body_.entries.emplace_back();
  body_.entries[0].name = "main";
  body_.entries[0].variants.emplace_back();
  body_.entries[0].variants[0].name = "v";
}

PlanMaker& PlanMaker::Dim(const std::string& name, std::int64_t min, std::int64_t max) {
  body_.dims.push_back({.name = name, .min = min, .max = max});
  variant().envelope.push_back({.min = min, .opt = min, .max = max});
  return *this;
}

plan::Expr PlanMaker::Size(const std::string& text) const {
  auto expr = plan::Expr::Parse(text, [&](std::string_view name) -> std::optional<std::size_t> {
    const auto dim = body_.FindDim(name);
    if (!dim) return std::nullopt;
    return *dim;
  });
  INFO(text << ": " << expr.status().ToString());
  REQUIRE(expr.ok());
  return *std::move(expr);
}

plan::Index PlanMaker::Tensor(const std::string& name, plan::TensorKind kind,
                              const std::string& elements, DType dtype) {
  plan::Tensor tensor;
  tensor.name = name;
  tensor.kind = kind;
  tensor.dtype = dtype;
  tensor.elements = Size(elements);
  tensor.shape = {tensor.elements};
  body_.tensors.push_back(std::move(tensor));
  return static_cast<plan::Index>(body_.tensors.size() - 1);
}

PlanMaker& PlanMaker::Gemm(const std::string& name, std::vector<std::string> inputs,
                           const std::string& output, const std::string& m, const std::string& n,
                           const std::string& k, const std::string& count, double density) {
  return Op(name, std::move(inputs), {output},
            plan::Gemm{Size(m), Size(n), Size(k), Size(count), density});
}

PlanMaker& PlanMaker::Vector(const std::string& name, std::vector<std::string> inputs,
                             const std::string& output, const std::string& elements, double ops) {
  return Op(name, std::move(inputs), {output}, plan::Vector{Size(elements), ops});
}

PlanMaker& PlanMaker::Op(const std::string& name, std::vector<std::string> inputs,
                         std::vector<std::string> outputs, plan::Work work) {
  plan::Operator op;
  op.name = op.kind = name;
  op.work = std::move(work);
  for (const std::string& input : inputs) op.inputs.push_back(FindTensor(input));
  for (const std::string& output : outputs) op.outputs.push_back(FindTensor(output));
  for (plan::Index p = 0; p < entry().operators.size(); ++p) {
    const auto& made = entry().operators[p].outputs;
    const bool feeds = std::any_of(op.inputs.begin(), op.inputs.end(), [&](plan::Index t) {
      return std::find(made.begin(), made.end(), t) != made.end();
    });
    if (feeds) op.predecessors.push_back(p);
  }
  op.listed = static_cast<plan::Index>(entry().operators.size());
  entry().operators.push_back(std::move(op));
  return *this;
}

plan::Group& PlanMaker::Group(const std::string& name, const std::vector<std::string>& ops) {
  plan::Group group;
  group.name = name;
  group.shards = plan::Expr::Constant(1);
  group.workspace_bytes = plan::Expr::Constant(0);
  std::set<plan::Index> made, read;
  for (const std::string& op : ops) {
    group.ops.push_back(FindOp(op));
    const plan::Operator& of = entry().operators[group.ops.back()];
    for (const plan::Index t : of.inputs) {
      if (made.count(t) == 0) read.insert(t);
    }
    made.insert(of.outputs.begin(), of.outputs.end());
  }
  group.reads.assign(read.begin(), read.end());
  for (const plan::Index t : made) {
    bool inside = false;
    bool outside = false;
    for (plan::Index p = 0; p < entry().operators.size(); ++p) {
      const auto& inputs = entry().operators[p].inputs;
      if (std::find(inputs.begin(), inputs.end(), t) == inputs.end()) continue;
      const bool in_group = std::find(group.ops.begin(), group.ops.end(), p) != group.ops.end();
      (in_group ? inside : outside) = true;
    }
    if (outside || !inside) group.writes.push_back(t);
  }
  group.listed = static_cast<plan::Index>(variant().groups.size());
  variant().groups.push_back(std::move(group));
  return variant().groups.back();
}

const plan::Operator& PlanMaker::Find(const std::string& op) const {
  return body_.entries[0].operators[FindOp(op)];
}

plan::Index PlanMaker::FindOp(const std::string& name) const {
  const auto& operators = body_.entries[0].operators;
  for (plan::Index i = 0; i < operators.size(); ++i) {
    if (operators[i].name == name) return i;
  }
  LEEWAY_CHECK(false);
  return 0;
}

plan::Index PlanMaker::FindTensor(const std::string& name) const {
  for (plan::Index i = 0; i < body_.tensors.size(); ++i) {
    if (body_.tensors[i].name == name) return i;
  }
  LEEWAY_CHECK(false);
  return 0;
}

Spec TpuV4Like() {
  CoreClass core;
  core.name = "tensor";
  core.count = 2;
  core.clock_hz = 1'050'000'000;
  core.core_clock_hz = {core.clock_hz, core.clock_hz};
  core.array_rows = core.array_cols = 128;
  core.arrays = 4;
  core.first_load_cycles = 76;
  core.weight_load_cycles = 8;
  core.pipeline_cycles = 84;
  core.vector_lanes = 1024;
  core.vector_issue = 4;
  core.sram_bytes = 16 << 20;
  core.accumulator_bytes = 0;
  core.dma_bytes_per_second = 973'000'000'000;
  core.dma_latency = Nanos(460);
  core.dma_granule_bytes = 512;
  Spec spec;
  spec.name = "tpu_v4_like";
  spec.classes = {core};
  spec.dram_capacity_bytes = std::int64_t{32} << 30;
  spec.dram_bytes_per_second = 973'000'000'000;
  spec.step_launch = Nanos(1000);
  return spec;
}

Spec Shipped() { return ShippedDevice("onnxim_tpuv4_c4"); }

Spec ShippedDevice(std::string_view name) {
  const auto file = base::FindShipped(base::ShippedKind::kDevice, name);
  REQUIRE(file.has_value());
  auto spec = ParseSpec(file->bytes, file->name);
  INFO(spec.status().ToString());
  REQUIRE(spec.ok());
  return *std::move(spec);
}

StepCost CostOfGroup(PlanMaker& plan, const plan::Group& group, std::vector<std::int64_t> dims,
                     const Spec& device, std::int64_t shards) {
  const auto cost =
      GroupCost(plan.body(), plan.entry(), group, dims, shards, device.classes[0], device);
  INFO(cost.status().ToString());
  REQUIRE(cost.ok());
  return *cost;
}

StepCost CostOfOperator(PlanMaker& plan, const std::string& op, std::vector<std::int64_t> dims,
                        const Spec& device, std::int64_t shards) {
  const auto cost = OperatorCost(plan.body(), plan.entry(), plan.Find(op), dims, shards,
                                 device.classes[0], device);
  INFO(cost.status().ToString());
  REQUIRE(cost.ok());
  return *cost;
}

}  // namespace leeway::device::testing
