// Makes plan bodies by hand: what the loader would resolve is resolved here, nothing is checked.

#ifndef LEEWAY_TESTS_DEVICE_SUPPORT_PLAN_MAKER_H_
#define LEEWAY_TESTS_DEVICE_SUPPORT_PLAN_MAKER_H_

#include <string>
#include <vector>

#include "device/spec.h"
#include "device/step_cost.h"
#include "plan/body.h"

namespace leeway::device::testing {

// One entry, one variant whose envelope is the domain.
class PlanMaker {
 public:
  PlanMaker();

  PlanMaker& Dim(const std::string& name, std::int64_t min, std::int64_t max);
  plan::Expr Size(const std::string& text) const;

  // Returns the tensor's index; makes it on first use of the name.
  plan::Index Tensor(const std::string& name, plan::TensorKind kind, const std::string& elements,
                     DType dtype = DType::kBf16);

  // Operators name their tensors, which must exist.
  PlanMaker& Gemm(const std::string& name, std::vector<std::string> inputs,
                  const std::string& output, const std::string& m, const std::string& n,
                  const std::string& k, const std::string& count = "1", double density = 1);
  PlanMaker& Vector(const std::string& name, std::vector<std::string> inputs,
                    const std::string& output, const std::string& elements, double ops);
  PlanMaker& Op(const std::string& name, std::vector<std::string> inputs,
                std::vector<std::string> outputs, plan::Work work);

  // Adds a group of the operators named, with what it reads and writes.
  plan::Group& Group(const std::string& name, const std::vector<std::string>& ops);

  plan::Body& body() { return body_; }
  plan::Entry& entry() { return body_.entries[0]; }
  plan::Variant& variant() { return entry().variants[0]; }
  const plan::Operator& Find(const std::string& op) const;

 private:
  plan::Index FindOp(const std::string& name) const;
  plan::Index FindTensor(const std::string& name) const;

  plan::Body body_;
};

// The TPU v4 core of COST_MODEL section 2: four arrays, first load 76 cycles, pipeline 84.
Spec TpuV4Like();
// The device that ships as onnxim_tpuv4_c4.
Spec Shipped();
Spec ShippedDevice(std::string_view name);

// Costs that must exist.
StepCost CostOfGroup(PlanMaker& plan, const plan::Group& group, std::vector<std::int64_t> dims,
                     const Spec& device, std::int64_t shards = 1);
StepCost CostOfOperator(PlanMaker& plan, const std::string& op, std::vector<std::int64_t> dims,
                        const Spec& device, std::int64_t shards = 1);

}  // namespace leeway::device::testing

#endif  // LEEWAY_TESTS_DEVICE_SUPPORT_PLAN_MAKER_H_
