#include "leeway/compile.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/compiler.h"
#include "device/spec.h"
#include "plan/body.h"

namespace leeway {
inline namespace v0 {
namespace {

Result<std::vector<std::int64_t>> OwnBuckets(const plan::Body& model,
                                             const compile::Compiler& compiler) {
  const plan::Entry& entry = model.entries[compiler.entry()];
  std::vector<std::int64_t> edges;
  for (const plan::Variant& variant : entry.variants) {
    edges.push_back(variant.envelope[compiler.dim()].max);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  if (!edges.empty()) return edges;
  return base::InvalidArgument(absl::StrCat(
      "entry \"", entry.name, "\" has no variants to take buckets from: name bucket edges"));
}

}  // namespace

Result<Plan> Compile(const Plan& model, const Device& device, const CompileOptions& options) {
  compile::CompilerOptions inner;
  inner.entry = options.entry;
  inner.dim = options.dim;
  inner.max_batch = options.max_batch;
  LEEWAY_ASSIGN_OR_RETURN(compile::Compiler compiler,
                          compile::Compiler::Create(model.body(), device.spec(), inner));
  std::vector<std::int64_t> edges = options.buckets;
  if (edges.empty()) {
    LEEWAY_ASSIGN_OR_RETURN(edges, OwnBuckets(*model.body(), compiler));
  }
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<const plan::Body> body, compiler.Compile(edges));
  return Plan(std::move(body));
}

}  // namespace v0
}  // namespace leeway
