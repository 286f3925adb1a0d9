// A projection and its activation with one variant per bucket of "seq": the smallest plan whose
// buckets matter.

#ifndef LEEWAY_TESTS_RETUNE_SUPPORT_TOY_PLAN_H_
#define LEEWAY_TESTS_RETUNE_SUPPORT_TOY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "leeway/plan.h"
#include "leeway/plan_builder.h"

namespace leeway::testing {

struct ToyPlan {
  std::vector<std::int64_t> edges;
  // A point of the plan's profile at each edge: this much a token. 0: no profile.
  Nanos per_token{0};
  // The lengths that the plan says it is tuned for.
  std::vector<std::pair<std::int64_t, double>> expects = {};
  std::int64_t domain_max = 4096;
  std::string dim = "seq", entry = "main";
};

inline Plan MakeToyPlan(const ToyPlan& toy) {
  PlanBuilder b("toy", Producer{"test", "1"});
  const Size seq = b.Dim(toy.dim, {1, toy.domain_max}, BatchRule::kMax);
  const Size batch = b.Dim("batch", {1, 32}, BatchRule::kCount);
  const EntryRef e = b.Entry(toy.entry);
  const TensorRef x = e.Input("x", DType::kBf16, {batch, seq, 768});
  const TensorRef w = e.Weight("w", DType::kInt8, {768, 768});
  const OpRef h = e.Op("mm", Gemm{batch * seq, 768, 768}, {x, w});
  const OpRef y = e.Op("gelu", Vector{batch * seq * 768, 12}, {h});
  for (const std::int64_t edge : toy.edges) {
    const GroupRef group = e.Variant("s" + std::to_string(edge))
                               .Envelope(seq, 1, edge, edge)
                               .Group("ffn", {h, y})
                               .Any();
    if (toy.per_token > Nanos(0)) {
      group.Predict({{toy.dim, edge}, {"batch", 1}}, toy.per_token * edge);
    }
  }
  for (const auto& [length, weight] : toy.expects) {
    b.Expect({{toy.dim, length}, {"batch", 1}}, weight);
  }
  return std::move(b).Build().value();
}

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_RETUNE_SUPPORT_TOY_PLAN_H_
