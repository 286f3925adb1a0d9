#include "leeway/task_graph.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/stg.h"
#include "device/host.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "plan/body.h"
#include "sched/model.h"

namespace leeway {
inline namespace v0 {
namespace {

using Tasks = std::vector<std::uint32_t>;

// Unrolls a run graph: shards side by side, repetitions of calls one after the other.
class Unroller {
 public:
  Unroller(const sched::RunGraph& graph, const sched::CostTable& costs)
      : graph_(graph), costs_(costs) {}

  Result<TaskGraph> Run() {
    LEEWAY_RETURN_IF_ERROR(AddFrame(0, {}).status());
    return std::move(tasks_);
  }

 private:
  // Returns what ends the frame's repetition that begins after `before`.
  Result<Tasks> AddFrame(std::uint32_t frame, const Tasks& before);
  Result<Tasks> AddNode(std::uint32_t node, Tasks before);

  const sched::RunGraph& graph_;
  const sched::CostTable& costs_;
  TaskGraph tasks_;
  std::size_t edges_ = 0;
};

Result<Tasks> Unroller::AddNode(std::uint32_t node, Tasks before) {
  const sched::Node& shape = graph_.nodes()[node];
  if (shape.call != nullptr) {
    for (std::int64_t i = 0; i < costs_.times[shape.callee]; ++i) {
      LEEWAY_ASSIGN_OR_RETURN(before, AddFrame(shape.callee, before));
    }
    return before;
  }
  const Nanos launch = costs_.cost(sched::NodeId(node), costs_.first_class[node]).launch;
  Tasks shards;
  for (std::uint32_t shard = 0; shard < costs_.shards[node]; ++shard) {
    shards.push_back(static_cast<std::uint32_t>(tasks_.tasks.size()));
    edges_ += before.size();
    if (tasks_.tasks.size() >= TaskGraph::kMaxTasks || edges_ > TaskGraph::kMaxEdges) {
      return base::ResourceExhausted(absl::StrCat("a run of more than ", TaskGraph::kMaxTasks,
                                                  " tasks or ", TaskGraph::kMaxEdges, " edges"));
    }
    std::string name = shape.group->name;
    if (costs_.shards[node] > 1) absl::StrAppend(&name, ".", shard);
    tasks_.tasks.push_back(
        {std::move(name), std::max(Nanos{1}, costs_.predicted[node] - launch), before});
  }
  return shards;
}

Result<Tasks> Unroller::AddFrame(std::uint32_t frame, const Tasks& before) {
  const sched::Frame& shape = graph_.frames()[frame];
  std::vector<Tasks> ends(shape.count);
  Tasks last;
  for (std::uint32_t i = 0; i < shape.count; ++i) {
    const sched::Node& node = graph_.nodes()[shape.first + i];
    Tasks after;
    for (const std::uint32_t p : graph_.predecessors(node)) {
      const Tasks& of_p = ends[p - shape.first];
      after.insert(after.end(), of_p.begin(), of_p.end());
    }
    if (node.predecessor_count == 0) after = before;
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    LEEWAY_ASSIGN_OR_RETURN(ends[i], AddNode(shape.first + i, std::move(after)));
    if (node.successor_count == 0) last.insert(last.end(), ends[i].begin(), ends[i].end());
  }
  return last;
}

}  // namespace

Result<TaskGraph> ParseTaskGraph(std::string_view text, std::string_view name) {
  return compile::ParseStg(text, name);
}

Result<TaskGraph> TaskGraphOf(const Plan& plan, const Device& device) {
  if (device::HasHostWork(*plan.body())) {
    return base::Unimplemented("HOST work is not scheduled: tasks run on cores of one kind");
  }
  sched::DomainTable domains;
  LEEWAY_ASSIGN_OR_RETURN(const std::unique_ptr<sched::Model> model,
                          sched::Model::Create(plan.body(), device.spec(), "", 1, domains));
  if (model->variant_count() == 0) {
    return base::FailedPrecondition(
        absl::StrCat("entry \"", model->entry().name, "\" has no variant to run"));
  }
  const plan::Variant& variant = model->entry().variants.front();
  sched::DimValues dims;
  for (std::size_t d = 0; d < variant.envelope.size(); ++d) {
    const plan::Range& range = variant.envelope[d];
    dims.push_back(plan::IsBatchDim(plan.body()->dims[d]) ? range.min : range.opt);
  }
  const sched::GraphId graph(0);
  LEEWAY_ASSIGN_OR_RETURN(const auto costs, model->Costs(graph, model->Padded(graph, dims)));
  return Unroller(model->graph(graph), *costs).Run();
}

}  // namespace v0
}  // namespace leeway
