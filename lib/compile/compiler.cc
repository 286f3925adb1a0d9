#include "compile/compiler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/bucket_dims.h"
#include "compile/compile_proto.h"
#include "compile/mapping.h"
#include "compile/pricer.h"
#include "device/host.h"
#include "device/live_set.h"
#include "device/plan_fit.h"
#include "plan/load.h"

namespace leeway::compile {
namespace {

using Variants = std::vector<plan::Variant>;  // by graph

Result<plan::Index> FindEntry(const plan::Body& model, const std::string& name) {
  if (!name.empty()) {
    const std::optional<plan::Index> found = model.FindEntry(name);
    if (!found) return base::NotFound(absl::StrCat("the model has no entry \"", name, "\""));
    if (!model.entries[*found].internal) return *found;
    return base::InvalidArgument(
        absl::StrCat("entry \"", name, "\" is internal: only a call runs it"));
  }
  std::optional<plan::Index> only;
  for (plan::Index e = 0; e < model.entries.size(); ++e) {
    if (model.entries[e].internal) continue;
    if (only) {
      return base::InvalidArgument(absl::StrCat("the model has several entries, \"",
                                                model.entries[*only].name, "\" and \"",
                                                model.entries[e].name, "\": name one"));
    }
    only = e;
  }
  if (!only) return base::InvalidArgument("the model has no entry for requests");
  return *only;
}

// By entry: whether it is one of `graphs` or calls one, however deep.
std::vector<bool> RunsAny(const plan::Body& model, const Graphs& graphs) {
  std::vector<bool> runs(model.entries.size(), false);
  for (const EntryGraph& graph : graphs) runs[graph.index()] = true;
  // Each round goes one call further up.
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t e = 0; e < runs.size(); ++e) {
      const std::vector<plan::Operator>& ops = model.entries[e].operators;
      const bool calls = std::any_of(ops.begin(), ops.end(), [&](const plan::Operator& op) {
        const auto* call = std::get_if<plan::Call>(&op.work);
        return call != nullptr && runs[call->entry];
      });
      grown = grown || (calls && !runs[e]);
      runs[e] = runs[e] || calls;
    }
  }
  return runs;
}

}  // namespace

struct Compiler::State {
  State(std::shared_ptr<const plan::Body> of, std::shared_ptr<const device::Spec> on,
        const CompilerOptions& options, BucketDims bucketed, plan::Index entry)
      : model(std::move(of)),
        device(std::move(on)),
        runs(options.concurrent_runs > 0 ? options.concurrent_runs
                                         : static_cast<int>(device->core_count())),
        dims(std::move(bucketed)),
        graphs(CollectGraphs(*model, entry)),
        replaced(RunsAny(*model, graphs)),
        pricer(*device),
        fitted(*model) {
    fitted.serialized.clear();
    for (plan::Entry& of_plan : fitted.entries) of_plan.variants.clear();
  }

  Status CheckOperators() const;
  Status CheckEdges(std::span<const std::int64_t> edges) const;
  struct Mappings {
    Mapping fused, unfused;
  };
  // Returns the mappings of the eighth of an octave that `length` lies in.
  Result<const Mappings*> MappingsFor(std::int64_t length);
  // Returns the groups of a bucket by graph, for batches of up to `batch`, as yet without a
  // profile.
  Variants Bucket(const Mapping& mapping, std::int64_t edge, std::int64_t batch) const;
  // Adds what the cost model says about sampled batches.
  Status AddProfiles(const Mapping& mapping, std::int64_t edge, std::int64_t batch,
                     Variants& variants) const;
  // Makes the bucket's variants those of `fitted`.
  void Fit(Variants variants);
  // Returns OK if the bucket fits the device, else kResourceExhausted with the first finding.
  Status CheckBucket(const Mapping& mapping, std::int64_t edge, std::int64_t batch);
  // Returns the largest batch that fits, at most the one that was asked for.
  Result<std::int64_t> BatchLimit(const Mapping& mapping, std::int64_t edge);
  // Returns what a run of the bucket holds, and may hold, at its largest batch.
  DramRoom RoomBeside(const Mapping& mapping, std::int64_t edge, std::int64_t batch);
  Result<Variants> Compiled(std::int64_t edge);

  std::shared_ptr<const plan::Body> model;
  std::shared_ptr<const device::Spec> device;
  int runs;
  BucketDims dims;
  Graphs graphs;
  std::vector<bool> replaced;  // by entry: whether it loses the variants it has
  Pricer pricer;
  // The model with the variants of one bucket, to ask whether they fit.
  plan::Body fitted;

  std::map<std::int64_t, Mappings> mappings;
  absl::flat_hash_map<std::int64_t, Nanos> core_times;
  absl::flat_hash_map<std::int64_t, std::int64_t> batch_limits;  // by edge
};

Status Compiler::State::CheckOperators() const {
  const std::vector<std::int64_t> smallest = dims.At(dims.domain().min, 1);
  for (const EntryGraph& graph : graphs) {
    for (plan::Index op = 0; op < graph.size(); ++op) {
      if (graph.CallOf(op) != nullptr) continue;
      const plan::Operator& of = model->entries[graph.index()].operators[op];
      if (device::IsHostWork(of)) {
        return base::Unimplemented(
            absl::StrCat("operator \"", of.name, "\": HOST work is not compiled"));
      }
      LEEWAY_RETURN_IF_ERROR(pricer.CheckAble(graph, op, smallest));
    }
  }
  return Status();
}

Status Compiler::State::CheckEdges(std::span<const std::int64_t> edges) const {
  const plan::Dim& domain = dims.domain();
  if (edges.empty()) return base::InvalidArgument("no bucket edges");
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i] < domain.min || edges[i] > domain.max) {
      return base::InvalidArgument(absl::StrCat("bucket edge ", edges[i], " leaves the domain [",
                                                domain.min, ", ", domain.max, "] of dim \"",
                                                domain.name, "\""));
    }
    if (i > 0 && edges[i] <= edges[i - 1]) {
      return base::InvalidArgument(absl::StrCat(
          "bucket edge ", edges[i], " does not rise above the one before it, ", edges[i - 1]));
    }
  }
  return Status();
}

Result<const Compiler::State::Mappings*> Compiler::State::MappingsFor(std::int64_t length) {
  const std::int64_t at = dims.MappingLength(length);
  if (const auto known = mappings.find(at); known != mappings.end()) return &known->second;
  const std::vector<std::int64_t> alone = dims.At(at, 1);
  // Nothing is fused that this batch would then have no room for. That not even a batch of one
  // would fit unfused says nothing yet.
  LEEWAY_ASSIGN_OR_RETURN(Mapping unfused, MapUnfused(graphs, pricer, alone));
  const Result<std::int64_t> limit = BatchLimit(unfused, at);
  const std::vector<std::int64_t> largest = dims.At(at, limit.value_or(1));
  const DramRoom room = limit.ok() ? RoomBeside(unfused, at, *limit) : DramRoom{};
  LEEWAY_ASSIGN_OR_RETURN(Mapping fused, MapFused(graphs, pricer, alone, largest, room));
  return &mappings.emplace(at, Mappings{std::move(fused), std::move(unfused)}).first->second;
}

Variants Compiler::State::Bucket(const Mapping& mapping, std::int64_t edge,
                                 std::int64_t batch) const {
  Variants variants(graphs.size());
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    variants[g].name = absl::StrCat("s", edge);
    variants[g].envelope = dims.Envelope(edge, batch);
    variants[g].schedule = mapping[g].schedule;
    for (const FusedGroup& fused : mapping[g].groups) {
      plan::Group& group = variants[g].groups.emplace_back(fused.group);
      group.kernel_key = absl::StrCat(model->model, ".", graphs[g].entry().name, ".", group.name,
                                      ".", variants[g].name);
    }
  }
  return variants;
}

void Compiler::State::Fit(Variants variants) {
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    fitted.entries[graphs[g].index()].variants = {std::move(variants[g])};
  }
}

Status Compiler::State::CheckBucket(const Mapping& mapping, std::int64_t edge, std::int64_t batch) {
  Fit(Bucket(mapping, edge, batch));
  for (const Finding& finding : device::CheckFit(fitted, *device, runs)) {
    if (finding.severity != Severity::kError) continue;
    return base::ResourceExhausted(absl::StrCat("bucket ", edge, ": ", finding.message));
  }
  return Status();
}

Result<std::int64_t> Compiler::State::BatchLimit(const Mapping& mapping, std::int64_t edge) {
  if (CheckBucket(mapping, edge, dims.max_batch()).ok()) return dims.max_batch();
  LEEWAY_RETURN_IF_ERROR(CheckBucket(mapping, edge, 1));
  std::int64_t fits = 1;
  std::int64_t exceeds = dims.max_batch();
  while (exceeds - fits > 1) {
    const std::int64_t batch = fits + (exceeds - fits) / 2;
    (CheckBucket(mapping, edge, batch).ok() ? fits : exceeds) = batch;
  }
  return fits;
}

DramRoom Compiler::State::RoomBeside(const Mapping& mapping, std::int64_t edge,
                                     std::int64_t batch) {
  Fit(Bucket(mapping, edge, batch));
  const plan::Entry& entry = fitted.entries[graphs.back().index()];
  const std::vector<std::int64_t> at = dims.At(edge, batch);
  return {device::PeakActivations(fitted, entry, entry.variants[0], at),
          device::RunBudget(fitted, at, *device, runs)};
}

Status Compiler::State::AddProfiles(const Mapping& mapping, std::int64_t edge, std::int64_t batch,
                                    Variants& variants) const {
  std::vector<std::int64_t> batches;
  for (std::int64_t b = 1; b < batch; b *= 2) batches.push_back(b);
  batches.push_back(batch);
  for (const std::int64_t b : batches) {
    const std::vector<std::int64_t> at = dims.At(edge, b);
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      for (std::size_t i = 0; i < mapping[g].groups.size(); ++i) {
        const FusedGroup& fused = mapping[g].groups[i];
        // A profile of a group that says nothing of its work would be taken for a measurement.
        if (graphs[g].CallOf(fused.group.ops[0]) != nullptr) continue;
        if (SaysNothing(graphs[g].entry(), fused.group.ops) && !fused.group.work) continue;
        LEEWAY_ASSIGN_OR_RETURN(const device::StepCost cost,
                                pricer.Cost(graphs[g], fused.group, at, fused.choice));
        variants[g].groups[i].profile.push_back(
            {.dims = at,
             .p50_ns = (cost.launch + cost.Alone(device->dram_rate())).count(),
             .dram_bytes = cost.dram_bytes,
             .sram_peak_bytes = cost.sram_peak_bytes});
      }
    }
  }
  return Status();
}

Result<Variants> Compiler::State::Compiled(std::int64_t edge) {
  LEEWAY_ASSIGN_OR_RETURN(const Mappings* mappings_of, MappingsFor(edge));
  const Mapping& mapping = mappings_of->fused;
  auto limit = batch_limits.find(edge);
  if (limit == batch_limits.end()) {
    LEEWAY_ASSIGN_OR_RETURN(const std::int64_t batch, BatchLimit(mapping, edge));
    limit = batch_limits.emplace(edge, batch).first;
  }
  Variants variants = Bucket(mapping, edge, limit->second);
  LEEWAY_RETURN_IF_ERROR(AddProfiles(mapping, edge, limit->second, variants));
  return variants;
}

Result<Compiler> Compiler::Create(std::shared_ptr<const plan::Body> model,
                                  std::shared_ptr<const device::Spec> device,
                                  const CompilerOptions& options) {
  if (options.concurrent_runs < 0) {
    return base::InvalidArgument(
        absl::StrCat("concurrent_runs is ", options.concurrent_runs, "; at least 0"));
  }
  LEEWAY_ASSIGN_OR_RETURN(const plan::Index entry, FindEntry(*model, options.entry));
  LEEWAY_ASSIGN_OR_RETURN(BucketDims dims,
                          BucketDims::Create(*model, options.dim, options.max_batch));
  auto state =
      std::make_unique<State>(std::move(model), std::move(device), options, std::move(dims), entry);
  LEEWAY_RETURN_IF_ERROR(state->CheckOperators());
  return Compiler(std::move(state));
}

Compiler::Compiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Compiler::Compiler(Compiler&&) noexcept = default;
Compiler& Compiler::operator=(Compiler&&) noexcept = default;
Compiler::~Compiler() = default;

plan::Index Compiler::entry() const { return state_->graphs.back().index(); }
plan::Index Compiler::dim() const { return state_->dims.dim(); }
const plan::Dim& Compiler::domain() const { return state_->dims.domain(); }

Result<Nanos> Compiler::CoreTime(std::int64_t length) {
  State& state = *state_;
  if (const auto known = state.core_times.find(length); known != state.core_times.end()) {
    return known->second;
  }
  LEEWAY_RETURN_IF_ERROR(state.CheckEdges({&length, 1}));
  LEEWAY_ASSIGN_OR_RETURN(const auto* mappings, state.MappingsFor(length));
  LEEWAY_ASSIGN_OR_RETURN(const Nanos time, CoreTimeOf(state.graphs, mappings->fused, state.pricer,
                                                       state.dims.At(length, 1)));
  state.core_times.emplace(length, time);
  return time;
}

Result<Nanos> Compiler::UnfusedTime(std::int64_t length) {
  LEEWAY_RETURN_IF_ERROR(state_->CheckEdges({&length, 1}));
  LEEWAY_ASSIGN_OR_RETURN(const auto* mappings, state_->MappingsFor(length));
  return CoreTimeOf(state_->graphs, mappings->unfused, state_->pricer, state_->dims.At(length, 1));
}

Result<std::shared_ptr<const plan::Body>> Compiler::Compile(std::span<const std::int64_t> edges) {
  State& state = *state_;
  LEEWAY_RETURN_IF_ERROR(state.CheckEdges(edges));
  NewVariants variants(state.model->entries.size());
  for (std::size_t e = 0; e < variants.size(); ++e) {
    // A caller of what is mapped anew has no variants to call any more.
    if (state.replaced[e]) variants[e].emplace();
  }
  for (const std::int64_t edge : edges) {
    // Tells a cost that overflows from a bucket that does not fit.
    LEEWAY_RETURN_IF_ERROR(CoreTime(edge).status());
    LEEWAY_ASSIGN_OR_RETURN(Variants of_edge, state.Compiled(edge));
    for (std::size_t g = 0; g < state.graphs.size(); ++g) {
      variants[state.graphs[g].index()]->push_back(std::move(of_edge[g]));
    }
  }
  LEEWAY_ASSIGN_OR_RETURN(const std::string bytes,
                          WritePlan(*state.model, *state.device, variants));
  return plan::LoadValidPlan(bytes, state.model->model);
}

}  // namespace leeway::compile
