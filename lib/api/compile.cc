#include "leeway/compile.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/compiler.h"
#include "device/spec.h"
#include "plan/body.h"
#include "retune/bucketing.h"
#include "retune/length_histogram.h"
#include "sched/cost_table.h"
#include "sched/run_graph.h"

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

// The best edges, among the lengths of the profile, for what the plan says that it is tuned for.
Result<std::vector<std::int64_t>> FitToProfile(const plan::Body& model, compile::Compiler& compiler,
                                               int count) {
  retune::LengthHistogram lengths;
  for (const plan::ShapePoint& point : model.shape_profile) {
    lengths.Add(std::max<std::int64_t>(point.dims[compiler.dim()], 1), point.weight);
  }
  if (lengths.empty()) {
    return base::InvalidArgument(
        absl::StrCat("plan \"", model.model,
                     "\" has no shape profile to choose buckets from: name bucket edges"));
  }
  // What a length costs under the best edge at or above it, and that edge: a longer one may cost
  // less than a shorter.
  struct Best {
    double work;
    std::int64_t edge;
  };
  std::map<std::int64_t, Best> best;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    const std::int64_t length = lengths[i].length;
    LEEWAY_ASSIGN_OR_RETURN(const Nanos time, compiler.CoreTime(length));
    const double work = std::max(1.0, static_cast<double>(time.count()));
    const bool least = best.empty() || work <= best.begin()->second.work;
    best.emplace(length, least ? Best{work, length} : best.begin()->second);
  }
  retune::BucketSpec spec;
  spec.max_buckets = count;
  spec.tail = retune::Tail::kCovered;
  spec.cost = [&best](std::int64_t length) { return best.at(length).work; };
  std::vector<std::int64_t> edges;
  for (const std::int64_t edge : retune::FitBuckets(lengths, spec).edges) {
    edges.push_back(best.at(edge).edge);
  }
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

Result<compile::Compiler> CompilerFor(const Plan& model, const Device& device,
                                      const CompileOptions& options) {
  compile::CompilerOptions inner;
  inner.entry = options.entry;
  inner.dim = options.dim;
  inner.max_batch = options.max_batch;
  return compile::Compiler::Create(model.body(), device.spec(), inner);
}

// The upper end of the variant for one request.
std::vector<std::int64_t> FilledBy(const plan::Body& plan, const plan::Variant& variant) {
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const plan::Range& range = variant.envelope[d];
    dims.push_back(plan::IsBatchDim(plan.dims[d])
                       ? std::clamp<std::int64_t>(1, range.min, range.max)
                       : range.max);
  }
  return dims;
}

std::int64_t MaxBatch(const plan::Body& plan, const plan::Variant& variant) {
  std::int64_t most = 0;
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    if (plan.dims[d].batch_rule != BatchRule::kCount) continue;
    const std::int64_t max = variant.envelope[d].max;
    most = most == 0 ? max : std::min(most, max);
  }
  return most;
}

Result<VariantPrediction> Predict(const plan::Body& plan, const device::Spec& device,
                                  const plan::Entry& entry, const plan::Variant& variant,
                                  plan::Index dim) {
  sched::DomainTable domains;
  LEEWAY_ASSIGN_OR_RETURN(const sched::RunGraph graph,
                          sched::RunGraph::OfVariant(plan, entry, variant, device, domains));
  LEEWAY_ASSIGN_OR_RETURN(
      const sched::CostTable costs,
      sched::MakeCostTable(plan, device, domains, graph, FilledBy(plan, variant)));
  VariantPrediction prediction;
  prediction.name = variant.name;
  prediction.edge = variant.envelope[dim].max;
  prediction.max_batch = MaxBatch(plan, variant);
  for (const sched::Node& node : graph.nodes()) prediction.groups += node.call == nullptr ? 1 : 0;
  prediction.steps = costs.steps;
  prediction.predicted = costs.predicted_path;
  prediction.core_time = costs.core_time;
  return prediction;
}

}  // namespace

Result<Plan> Compile(const Plan& model, const Device& device, const CompileOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(compile::Compiler compiler, CompilerFor(model, device, options));
  if (options.variants < 0) {
    return base::InvalidArgument(absl::StrCat("variants is ", options.variants, ", below 0"));
  }
  std::vector<std::int64_t> edges = options.buckets;
  if (edges.empty() && options.variants > 0) {
    LEEWAY_ASSIGN_OR_RETURN(edges, FitToProfile(*model.body(), compiler, options.variants));
  } else if (edges.empty()) {
    LEEWAY_ASSIGN_OR_RETURN(edges, OwnBuckets(*model.body(), compiler));
  }
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<const plan::Body> body, compiler.Compile(edges));
  return Plan(std::move(body));
}

Result<std::vector<VariantPrediction>> PredictVariants(const Plan& plan, const Device& device,
                                                       const CompileOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(const compile::Compiler compiler, CompilerFor(plan, device, options));
  const plan::Body& body = *plan.body();
  const plan::Entry& entry = body.entries[compiler.entry()];
  std::vector<VariantPrediction> predictions;
  for (const plan::Variant& variant : entry.variants) {
    LEEWAY_ASSIGN_OR_RETURN(VariantPrediction prediction,
                            Predict(body, *device.spec(), entry, variant, compiler.dim()));
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

}  // namespace v0
}  // namespace leeway
