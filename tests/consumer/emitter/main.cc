// Generated code of the full runtime and Leeway, which holds the same messages for itself, in one
// process: plans go from one to the other and back, and neither registers what the other has.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <cstdio>
#include <string>

#include PLAN_HEADER
#include "leeway/plan.h"

namespace pb = google::protobuf;
namespace schema = PLAN_SCHEMA;

namespace {

bool Holds(bool check, const char* what) {
  std::printf("%-6s %s\n", check ? "ok" : "FAILED", what);
  return check;
}

schema::Plan Emit() {
  schema::Plan plan;
  plan.mutable_header()->set_model("emitted");
  plan.mutable_header()->set_min_reader_version(1);
  for (const char* name : {"x", "y"}) {
    schema::Tensor& tensor = *plan.add_tensors();
    tensor.set_name(name);
    tensor.set_kind(*name == 'x' ? schema::Tensor::INPUT : schema::Tensor::OUTPUT);
    tensor.set_dtype(schema::BF16);
    tensor.add_shape("64");
  }
  schema::Entry& entry = *plan.add_entries();
  entry.set_name("main");
  schema::Operator& op = *entry.add_operators();
  op.set_name("gelu");
  op.add_inputs("x");
  op.add_outputs("y");
  op.mutable_work()->mutable_vector()->set_elements("64");
  op.mutable_work()->mutable_vector()->set_ops_per_element(10);
  schema::Variant& variant = *entry.add_variants();
  variant.set_name("v");
  schema::FusionGroup& group = *variant.add_fusion_groups();
  group.set_name("fusion.1");
  group.add_ops("gelu");
  return plan;
}

}  // namespace

int main() {
  schema::Plan emitted = Emit();
  const leeway::Result<leeway::Plan> plan =
      leeway::Plan::Parse(emitted.SerializeAsString(), "emitted");
  bool ok = Holds(plan.ok() && plan->model() == "emitted", "what the compiler emits loads");

  schema::Plan back;
  ok &= Holds(plan.ok() && back.ParseFromString(plan->Serialize()) &&
                  back.SerializeAsString() == emitted.SerializeAsString(),
              "and comes back as it was");

  emitted.mutable_entries(0)->mutable_operators(0)->set_inputs(0, "ghost");
  const leeway::Result<leeway::Plan> bad =
      leeway::Plan::Parse(emitted.SerializeAsString(), "emitted");
  ok &= Holds(bad.status().message() ==
                  "emitted: entries[0].operators[0].inputs[0]: no tensor is named \"ghost\"",
              "a mistake is a finding");

  // A plan that ships, through the compiler's own reflection.
  const leeway::Result<leeway::Plan> shipped = leeway::Plan::Load("bert_base");
  schema::Plan bert;
  std::string text;
  ok &= Holds(shipped.ok() && bert.ParseFromString(shipped->Serialize()) &&
                  bert.GetReflection()->GetUnknownFields(bert).empty() &&
                  pb::TextFormat::PrintToString(bert, &text) && !text.empty(),
              "a plan of Leeway's prints by the compiler's reflection");
  ok &= Holds(pb::DescriptorPool::generated_pool()->FindFileByName(
                  schema::Plan::descriptor()->file()->name()) != nullptr,
              "the schema is registered, by the compiler alone");
  return ok ? 0 : 1;
}
