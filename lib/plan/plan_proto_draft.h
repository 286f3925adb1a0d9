// The message that a PlanBuilder fills; see plan_proto.h for who sees generated code.
//
// Threading: a Draft belongs to one thread at a time.

#ifndef LEEWAY_PLAN_PLAN_PROTO_DRAFT_H_
#define LEEWAY_PLAN_PLAN_PROTO_DRAFT_H_

#include <string>
#include <string_view>
#include <vector>

#include "leeway/plan_builder.h"
#include "leeway_internal/plan/v1/plan.pb.h"
#include "plan/findings.h"

namespace leeway::plan {

void AddAnnotation(
    google::protobuf::RepeatedPtrField<leeway_internal::plan::v1::Annotation>& annotations,
    std::string_view key, std::string_view value);

class Draft {
 public:
  leeway_internal::plan::v1::Plan plan;

  leeway_internal::plan::v1::Entry& entry(std::size_t index) {
    return *plan.mutable_entries(static_cast<int>(index));
  }
  leeway_internal::plan::v1::Tensor& tensor(std::size_t index) {
    return *plan.mutable_tensors(static_cast<int>(index));
  }
  leeway_internal::plan::v1::Operator& op(const OpRef& ref) {
    return *entry(ref.entry_).mutable_operators(static_cast<int>(ref.index_));
  }

  // Names of what handles stand for. A handle of another builder, or of another entry than
  // `entry`, is a mistake that Build() reports.
  std::string TensorName(const TensorRef& ref);
  std::string OpName(const OpRef& ref, std::size_t entry);

  // Adds a tensor and returns its index.
  std::size_t AddTensor(std::string_view name, leeway_internal::plan::v1::Tensor::Kind kind,
                        DType dtype, const std::vector<Size>& shape);
  // Adds an operator with one output of inferred type, and returns its handle's parts.
  struct Added {
    std::size_t op, output;
  };
  Added AddOp(std::size_t entry, std::string_view name, const leeway::Work& work,
              const TensorRef* inputs, std::size_t count);
  leeway_internal::plan::v1::CoreRef Core(std::string_view text);
  // The bytes of a digest in hexadecimal.
  std::string Digest(std::string_view hex);

  // Adds to what Build() reports.
  void Mistake(std::string path, std::string message);

  // Turns outputs that nothing reads into OUTPUTs and returns the deterministic encoding.
  std::string Finish();

  std::vector<Finding> mistakes;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_DRAFT_H_
