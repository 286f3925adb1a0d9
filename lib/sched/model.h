// One entry of a plan on a device: its run graphs, their costs, and which of them a request runs.
//
// Threading: one thread at a time (the cost caches fill while it is used).
// Lifetime:  keeps the plan and the device alive.

#ifndef LEEWAY_SCHED_MODEL_H_
#define LEEWAY_SCHED_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/spec.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "sched/cost_table.h"
#include "sched/run_graph.h"

namespace leeway::sched {

// Index into Model::graphs(): a variant of the entry, or the generic graph after them.
using GraphId = base::Id<struct GraphTag>;

class Model {
 public:
  // kNotFound if the plan has no such entry (an empty name means its only submitted one),
  // kFailedPrecondition if it is internal or ambiguous, or what RunGraph answers.
  // `phi`: a generic run takes at least phi times the fused core time at its dims.
  static Result<std::unique_ptr<Model>> Create(std::shared_ptr<const plan::Body> plan,
                                               std::shared_ptr<const device::Spec> device,
                                               std::string_view entry, double phi,
                                               DomainTable& domains);

  // From now on runs are served by the device as it is; predictions stay the model's.
  void ServeOn(std::shared_ptr<const device::Reality> reality);

  const plan::Body& plan() const { return *plan_; }
  const plan::Entry& entry() const { return *entry_; }
  const device::Spec& device() const { return *device_; }
  const RunGraph& graph(GraphId id) const { return graphs_[id.value()]; }
  GraphId generic() const { return GraphId(graphs_.size() - 1); }
  std::size_t variant_count() const { return graphs_.size() - 1; }

  // Dims of a request by itself: batch dims of rule COUNT are 1, whatever was given.
  DimValues Alone(std::span<const std::int64_t> submitted) const;
  // Dims of a batch that `member` joins. False if a dim of rule EQUAL differs.
  bool Join(DimValues& batch, std::span<const std::int64_t> member) const;

  // Dims of a batch of so many requests of these dims.
  DimValues Batch(std::span<const std::int64_t> dims, std::int64_t requests) const;

  // The variant that covers `dims` with the least predicted time per request at the variant's opt
  // batch, padding included; ties by order of name. Nothing if none covers them.
  Result<std::optional<GraphId>> Bind(std::span<const std::int64_t> dims);
  // What a batch of these dims that was bound to `bound` runs in: of the variants that cover it,
  // the one of least predicted time; `bound` unless another is faster. The generic graph stays.
  // What cannot be costed is not chosen.
  GraphId ForBatch(GraphId bound, std::span<const std::int64_t> dims);
  // The variant that needs the least widening for `dims`: the one of least core time there, of
  // those that would still fit the SRAM. Nothing if none does.
  Result<std::optional<GraphId>> Nearest(std::span<const std::int64_t> dims);
  // Whether some variant covers a batch of these dims.
  bool AnyCovers(std::span<const std::int64_t> dims) const;
  // The most requests a batch of the graph may hold: the least envelope maximum of its COUNT dims.
  // Without a graph, the most of any variant.
  std::uint32_t MaxBatch(GraphId graph) const;
  // As MaxBatch, of requests of these dims, which fill the SUM dims too.
  std::uint32_t MaxBatch(GraphId graph, std::span<const std::int64_t> dims) const;
  // Whether the graph's variant covers a batch of these dims; the generic graph covers everything.
  bool Covers(GraphId graph, std::span<const std::int64_t> dims) const;
  // The dims that a batch runs at: padded by the variant; unchanged for the generic graph.
  DimValues Padded(GraphId graph, std::span<const std::int64_t> dims) const;

  // Costs at exactly these dims. Tables stay alive as long as somebody holds them.
  Result<std::shared_ptr<const CostTable>> Costs(GraphId graph, const DimValues& dims);
  // What runs take on the device that serves them; Costs() unless it differs from the modelled one.
  Result<std::shared_ptr<const CostTable>> Served(GraphId graph, const DimValues& dims);

  // Structural hashes of the graph's nodes (plan/op_key.h); 0 for calls.
  const std::vector<std::uint64_t>& OpKeys(GraphId graph);

 private:
  Model(std::shared_ptr<const plan::Body> plan, std::shared_ptr<const device::Spec> device,
        const plan::Entry& entry, double phi, DomainTable& domains);
  Status AddGraph(Result<RunGraph> graph);
  Status SetCriticalities(RunGraph& graph);
  Result<CostTable> MakeGeneric(const DimValues& dims);
  Result<Nanos> TimePerRequest(GraphId graph, std::span<const std::int64_t> dims);

  std::shared_ptr<const plan::Body> plan_;
  std::shared_ptr<const device::Spec> device_;
  const plan::Entry* entry_;
  double phi_;
  DomainTable& domains_;
  std::vector<RunGraph> graphs_;
  std::vector<CostCache> caches_;
  std::shared_ptr<const device::Reality> reality_;
  std::vector<CostCache> served_;
  std::vector<std::vector<std::uint64_t>> op_keys_;  // by graph; empty until asked for
  std::vector<GraphId> by_name_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_MODEL_H_
