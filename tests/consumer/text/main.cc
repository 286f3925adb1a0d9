// Both libraries in one program, one on the lite protobuf runtime and one on the full.

#include <cstdio>
#include <string>

#include "leeway/plan.h"
#include "leeway/text.h"

int main() {
  const leeway::Result<leeway::Plan> plan = leeway::Plan::Load("bert_base");
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());
    return 1;
  }
  const auto text = leeway::BinaryToText(leeway::Schema::kPlan, plan->Serialize(), "bert_base");
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().ToString().c_str());
    return 1;
  }
  const auto bytes = leeway::TextToBinary(leeway::Schema::kPlan, *text, "bert_base");
  return bytes.ok() && *bytes == plan->Serialize() ? 0 : 1;
}
