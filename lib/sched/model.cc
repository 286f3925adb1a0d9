#include "sched/model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "plan/op_key.h"

namespace leeway::sched {
namespace {

// phi in parts of 2^-20, so that it reaches durations by integer arithmetic.
Nanos TimesPhi(Nanos time, double phi) {
  const std::int64_t scaled = static_cast<std::int64_t>(phi * (1 << 20));
  return Nanos{base::MulDivCeil(time.count(), scaled, 1 << 20)};
}

// How many requests of a batch dim's value have room in a bound; one always has.
std::int64_t RoomFor(std::int64_t value, std::int64_t bound) {
  return std::max<std::int64_t>(1, bound / std::max<std::int64_t>(value, 1));
}

Result<const plan::Entry*> FindEntry(const plan::Body& plan, std::string_view name) {
  if (!name.empty()) {
    const std::optional<plan::Index> found = plan.FindEntry(name);
    if (!found)
      return base::NotFound(absl::StrCat("the plan has no entry \"", std::string(name), "\""));
    if (plan.entries[*found].internal) {
      return base::FailedPrecondition(
          absl::StrCat("entry \"", std::string(name), "\" is internal: only a call runs it"));
    }
    return &plan.entries[*found];
  }
  const plan::Entry* only = nullptr;
  for (const plan::Entry& entry : plan.entries) {
    if (entry.internal) continue;
    if (only != nullptr) {
      return base::FailedPrecondition(absl::StrCat("the plan has several entries, \"", only->name,
                                                   "\" and \"", entry.name, "\": name one"));
    }
    only = &entry;
  }
  if (only == nullptr) return base::FailedPrecondition("the plan has no entry for requests");
  return only;
}

Status CheckDims(const plan::Body& plan) {
  for (const plan::Dim& dim : plan.dims) {
    if (dim.bind != plan::Bind::kSubmit) {
      return base::Unimplemented(absl::StrCat(
          "dim \"", dim.name, "\" is not bound at submit: produced and sequence dims are not run"));
    }
  }
  for (const plan::Tensor& tensor : plan.tensors) {
    if (tensor.kind == plan::TensorKind::kState) {
      return base::Unimplemented(
          absl::StrCat("tensor \"", tensor.name, "\" is state: sequences are not run"));
    }
  }
  return Status();
}

}  // namespace

Model::Model(std::shared_ptr<const plan::Body> plan, std::shared_ptr<const device::Spec> device,
             const plan::Entry& entry, double phi, DomainTable& domains)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      entry_(&entry),
      phi_(phi),
      domains_(domains) {}

Result<std::unique_ptr<Model>> Model::Create(std::shared_ptr<const plan::Body> plan,
                                             std::shared_ptr<const device::Spec> device,
                                             std::string_view entry, double phi,
                                             DomainTable& domains) {
  LEEWAY_RETURN_IF_ERROR(CheckDims(*plan));
  LEEWAY_ASSIGN_OR_RETURN(const plan::Entry* found, FindEntry(*plan, entry));
  std::unique_ptr<Model> model(new Model(std::move(plan), std::move(device), *found, phi, domains));
  for (const plan::Variant& variant : found->variants) {
    LEEWAY_RETURN_IF_ERROR(model->AddGraph(
        RunGraph::OfVariant(*model->plan_, *found, variant, *model->device_, domains)));
  }
  LEEWAY_RETURN_IF_ERROR(
      model->AddGraph(RunGraph::Generic(*model->plan_, *found, *model->device_, domains)));
  for (std::size_t i = 0; i < found->variants.size(); ++i) model->by_name_.push_back(GraphId(i));
  std::stable_sort(model->by_name_.begin(), model->by_name_.end(), [&](GraphId a, GraphId b) {
    return found->variants[a.value()].name < found->variants[b.value()].name;
  });
  return model;
}

Status Model::AddGraph(Result<RunGraph> graph) {
  if (!graph.ok()) return graph.status();
  LEEWAY_RETURN_IF_ERROR(SetCriticalities(*graph));
  graphs_.push_back(std::move(*graph));
  caches_.emplace_back();
  return Status();
}

Status Model::SetCriticalities(RunGraph& graph) {
  DimValues dims;
  for (std::size_t d = 0; d < plan_->dims.size(); ++d) {
    dims.push_back(graph.variant() ? graph.variant()->envelope[d].opt : plan_->dims[d].min);
  }
  LEEWAY_ASSIGN_OR_RETURN(CostTable table, MakeCostTable(*plan_, *device_, domains_, graph, dims));
  graph.SetCriticalities(table.predicted, table.times);
  return Status();
}

DimValues Model::Alone(std::span<const std::int64_t> submitted) const {
  DimValues dims(submitted.begin(), submitted.end());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (plan_->dims[d].batch_rule == BatchRule::kCount) dims[d] = 1;
  }
  return dims;
}

bool Model::Join(DimValues& batch, std::span<const std::int64_t> member) const {
  for (std::size_t d = 0; d < batch.size(); ++d) {
    switch (plan_->dims[d].batch_rule) {
      case BatchRule::kMax:
        batch[d] = std::max(batch[d], member[d]);
        break;
      case BatchRule::kSum:
      case BatchRule::kCount:
        batch[d] += member[d];
        break;
      case BatchRule::kEqual:
        if (batch[d] != member[d]) return false;
        break;
    }
  }
  return true;
}

DimValues Model::Batch(std::span<const std::int64_t> dims, std::int64_t requests) const {
  DimValues batch(dims.begin(), dims.end());
  for (std::size_t d = 0; d < batch.size(); ++d) {
    if (plan::IsBatchDim(plan_->dims[d])) batch[d] *= requests;
  }
  return batch;
}

Result<Nanos> Model::TimePerRequest(GraphId graph, std::span<const std::int64_t> dims) {
  const plan::Variant& variant = entry_->variants[graph.value()];
  // As many requests of these dims as the opt batch has room for in every batch dim.
  std::int64_t requests = std::numeric_limits<std::int64_t>::max();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!plan::IsBatchDim(plan_->dims[d])) continue;
    requests = std::min(requests, RoomFor(dims[d], variant.envelope[d].opt));
  }
  if (requests == std::numeric_limits<std::int64_t>::max()) requests = 1;
  LEEWAY_ASSIGN_OR_RETURN(auto costs, Costs(graph, Padded(graph, Batch(dims, requests))));
  return costs->predicted_path / requests;
}

Result<std::optional<GraphId>> Model::Bind(std::span<const std::int64_t> dims) {
  std::optional<GraphId> best;
  Nanos best_time = Nanos::max();
  for (GraphId graph : by_name_) {
    if (!Covers(graph, dims)) continue;
    LEEWAY_ASSIGN_OR_RETURN(const Nanos time, TimePerRequest(graph, dims));
    if (time >= best_time) continue;
    best = graph;
    best_time = time;
  }
  return best;
}

GraphId Model::ForBatch(GraphId bound, std::span<const std::int64_t> dims) {
  if (bound == generic() || variant_count() == 1) return bound;
  auto time = [&](GraphId graph) {
    const auto costs = Costs(graph, Padded(graph, dims));
    return costs.ok() ? (*costs)->predicted_path : Nanos::max();
  };
  GraphId best = bound;
  Nanos best_time = time(bound);
  for (GraphId graph : by_name_) {
    if (graph == bound || !Covers(graph, dims)) continue;
    const Nanos other = time(graph);
    if (other >= best_time) continue;
    best = graph;
    best_time = other;
  }
  return best;
}

Result<std::optional<GraphId>> Model::Nearest(std::span<const std::int64_t> dims) {
  std::optional<GraphId> best;
  Nanos best_time = Nanos::max();
  for (GraphId graph : by_name_) {
    const auto costs = Costs(graph, DimValues(dims.begin(), dims.end()));
    // Outside its envelope a variant may not fit the SRAM: it cannot be widened so far.
    if (costs.status().code() == StatusCode::kResourceExhausted) continue;
    if (!costs.ok()) return costs.status();
    if ((*costs)->core_time >= best_time) continue;
    best = graph;
    best_time = (*costs)->core_time;
  }
  return best;
}

bool Model::AnyCovers(std::span<const std::int64_t> dims) const {
  return std::any_of(by_name_.begin(), by_name_.end(),
                     [&](GraphId graph) { return Covers(graph, dims); });
}

std::uint32_t Model::MaxBatch(GraphId graph) const {
  if (!graph.valid()) {
    std::uint32_t most = 1;
    for (GraphId variant : by_name_) most = std::max(most, MaxBatch(variant));
    return most;
  }
  std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  if (graph == generic()) return 1;
  for (std::size_t d = 0; d < plan_->dims.size(); ++d) {
    if (plan_->dims[d].batch_rule != BatchRule::kCount) continue;
    most = std::min(most, entry_->variants[graph.value()].envelope[d].max);
  }
  return static_cast<std::uint32_t>(most);
}

std::uint32_t Model::MaxBatch(GraphId graph, std::span<const std::int64_t> dims) const {
  std::int64_t most = MaxBatch(graph);
  if (!graph.valid() || graph == generic()) return static_cast<std::uint32_t>(most);
  const plan::Variant& variant = entry_->variants[graph.value()];
  for (std::size_t d = 0; d < plan_->dims.size(); ++d) {
    if (!plan::IsBatchDim(plan_->dims[d])) continue;
    most = std::min(most, RoomFor(dims[d], variant.envelope[d].max));
  }
  return static_cast<std::uint32_t>(most);
}

bool Model::Covers(GraphId graph, std::span<const std::int64_t> dims) const {
  return graph == generic() || plan::Covers(entry_->variants[graph.value()], dims);
}

DimValues Model::Padded(GraphId graph, std::span<const std::int64_t> dims) const {
  DimValues padded(dims.begin(), dims.end());
  if (graph == generic()) return padded;
  const plan::Variant& variant = entry_->variants[graph.value()];
  for (std::size_t d = 0; d < padded.size(); ++d) {
    padded[d] = plan::PaddedValue(variant.envelope[d], padded[d]);
  }
  return padded;
}

Result<CostTable> Model::MakeGeneric(const DimValues& dims) {
  LEEWAY_ASSIGN_OR_RETURN(CostTable table,
                          MakeCostTable(*plan_, *device_, domains_, graphs_.back(), dims));
  LEEWAY_ASSIGN_OR_RETURN(const std::optional<GraphId> nearest, Nearest(dims));
  if (nearest) {
    LEEWAY_ASSIGN_OR_RETURN(auto fused, Costs(*nearest, dims));
    LEEWAY_RETURN_IF_ERROR(
        Stretch(table, TimesPhi(fused->core_time, phi_), graphs_.back(), *device_));
  }
  return table;
}

Result<std::shared_ptr<const CostTable>> Model::Costs(GraphId graph, const DimValues& dims) {
  CostCache& cache = caches_[graph.value()];
  if (auto found = cache.Find(dims)) return found;
  Result<CostTable> table =
      graph == generic() ? MakeGeneric(dims)
                         : MakeCostTable(*plan_, *device_, domains_, graphs_[graph.value()], dims);
  if (!table.ok()) return table.status();
  return caches_[graph.value()].Add(std::move(*table));
}

void Model::ServeOn(std::shared_ptr<const device::Reality> reality) {
  reality_ = std::move(reality);
  served_.assign(graphs_.size(), CostCache());
}

Result<std::shared_ptr<const CostTable>> Model::Served(GraphId graph, const DimValues& dims) {
  if (!reality_) return Costs(graph, dims);
  if (auto found = served_[graph.value()].Find(dims)) return found;
  LEEWAY_ASSIGN_OR_RETURN(const auto modelled, Costs(graph, dims));
  CostTable table = *modelled;
  LEEWAY_RETURN_IF_ERROR(MakeReal(table, *reality_, OpKeys(graph), this->graph(graph), *device_));
  return served_[graph.value()].Add(std::move(table));
}

const std::vector<std::uint64_t>& Model::OpKeys(GraphId id) {
  op_keys_.resize(graphs_.size());
  std::vector<std::uint64_t>& keys = op_keys_[id.value()];
  if (!keys.empty()) return keys;
  for (const Node& node : graph(id).nodes()) {
    if (node.call != nullptr) {
      keys.push_back(0);
    } else if (node.group != nullptr) {
      keys.push_back(plan::OpKey(*plan_, *node.entry, node.group->ops));
    } else {
      const auto op = static_cast<plan::Index>(node.op - node.entry->operators.data());
      keys.push_back(plan::OpKey(*plan_, *node.entry, std::span(&op, 1)));
    }
  }
  return keys;
}

}  // namespace leeway::sched
