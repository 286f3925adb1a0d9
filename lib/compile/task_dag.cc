#include "compile/task_dag.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::compile {
namespace {

constexpr std::int64_t kMaxWork = std::int64_t{1} << 62;

std::string Named(const TaskGraph& graph, std::size_t task) {
  const std::string& name = graph.tasks[task].name;
  return name.empty() ? absl::StrCat("task ", task) : absl::StrCat("task \"", name, "\"");
}

Status CheckTasks(const TaskGraph& graph) {
  const std::size_t count = graph.tasks.size();
  if (count == 0) return base::InvalidArgument("a graph without tasks");
  if (count > TaskGraph::kMaxTasks) {
    return base::ResourceExhausted(absl::StrCat(count, " tasks exceed ", TaskGraph::kMaxTasks));
  }
  std::size_t edges = 0;
  std::int64_t work = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Task& task = graph.tasks[i];
    if (task.time < Nanos{1}) {
      return base::InvalidArgument(
          absl::StrCat(Named(graph, i), " takes ", task.time.count(), " ns; at least 1"));
    }
    if (task.time.count() > kMaxWork - work) {
      return base::OutOfRange("the tasks take more than 2^62 ns together");
    }
    work += task.time.count();
    edges += task.after.size();
    for (const std::uint32_t before : task.after) {
      if (before >= count) {
        return base::InvalidArgument(
            absl::StrCat(Named(graph, i), " waits for task ", before, ", but there are ", count));
      }
      if (before == i) return base::InvalidArgument(Named(graph, i) + " waits for itself");
    }
  }
  if (edges > TaskGraph::kMaxEdges) {
    return base::ResourceExhausted(absl::StrCat(edges, " edges exceed ", TaskGraph::kMaxEdges));
  }
  return Status();
}

// Of the km + 1 longest tasks two times k + 1 share a core.
std::int64_t PackingBound(std::vector<std::int64_t> times, std::size_t cores) {
  std::sort(times.begin(), times.end(), std::greater<>());
  std::int64_t bound = times.front();
  for (std::size_t k = 1; k * cores < times.size(); ++k) {
    std::int64_t shortest = 0;
    for (std::size_t i = 0; i <= k; ++i) shortest += times[k * cores - i];
    bound = std::max(bound, shortest);
    // It holds for every k; beyond a few the work shared evenly says as much.
    if (k == 64) break;
  }
  return bound;
}

// For the tasks with a head of at least h and a tail of at least q: h, their work shared evenly, q.
// All pairs for small graphs; for large ones the tails are coarsened to a few hundred values.
std::int64_t IntervalBound(const TaskDag& dag, std::int64_t cores) {
  const std::size_t count = dag.size();
  const std::size_t most = count > 65'536 ? 32 : 512;
  std::vector<std::int64_t> tails = dag.tails();
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  if (tails.size() > most) {
    std::vector<std::int64_t> few;
    for (std::size_t i = 0; i < most; ++i) few.push_back(tails[i * tails.size() / most]);
    tails = std::move(few);
  }
  std::vector<std::uint32_t> by_head(count);
  std::iota(by_head.begin(), by_head.end(), 0u);
  std::sort(by_head.begin(), by_head.end(),
            [&](std::uint32_t a, std::uint32_t b) { return dag.heads()[a] > dag.heads()[b]; });
  // By tail: the work of the tasks seen so far, by falling head, that have at least that tail. A
  // task adds to a prefix.
  std::vector<std::int64_t> work(tails.size(), 0);
  std::int64_t bound = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t task = by_head[i];
    const auto past = std::upper_bound(tails.begin(), tails.end(), dag.tails()[task]);
    for (std::size_t q = 0; q < static_cast<std::size_t>(past - tails.begin()); ++q) {
      work[q] += dag.time(task);
    }
    const std::int64_t head = dag.heads()[task];
    if (i + 1 < count && dag.heads()[by_head[i + 1]] == head) continue;
    for (std::size_t q = 0; q < tails.size(); ++q) {
      if (work[q] == 0) break;
      bound = std::max(bound, head + base::CeilDiv(work[q], cores) + tails[q]);
    }
  }
  return bound;
}

}  // namespace

Result<TaskDag> TaskDag::Make(const TaskGraph& graph) {
  LEEWAY_RETURN_IF_ERROR(CheckTasks(graph));
  const std::size_t count = graph.tasks.size();
  TaskDag dag;
  dag.after_.first.assign(count + 1, 0);
  dag.before_.first.push_back(0);
  for (const Task& task : graph.tasks) {
    dag.times_.push_back(task.time.count());
    dag.work_ += task.time.count();
    std::vector<std::uint32_t> before = task.after;
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    dag.before_.to.insert(dag.before_.to.end(), before.begin(), before.end());
    dag.before_.first.push_back(static_cast<std::uint32_t>(dag.before_.to.size()));
    for (const std::uint32_t b : before) ++dag.after_.first[b + 1];
  }
  std::partial_sum(dag.after_.first.begin(), dag.after_.first.end(), dag.after_.first.begin());
  dag.after_.to.resize(dag.before_.to.size());
  std::vector<std::uint32_t> at(dag.after_.first.begin(), dag.after_.first.end() - 1);
  for (std::uint32_t task = 0; task < count; ++task) {
    for (const std::uint32_t b : dag.predecessors(task)) dag.after_.to[at[b]++] = task;
  }

  std::vector<std::uint32_t> waits(count);
  std::vector<std::uint32_t>& order = dag.order_;
  for (std::uint32_t task = 0; task < count; ++task) {
    waits[task] = static_cast<std::uint32_t>(dag.predecessors(task).size());
    if (waits[task] == 0) order.push_back(task);
  }
  dag.heads_.assign(count, 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t task = order[i];
    for (const std::uint32_t next : dag.successors(task)) {
      dag.heads_[next] = std::max(dag.heads_[next], dag.heads_[task] + dag.times_[task]);
      if (--waits[next] == 0) order.push_back(next);
    }
  }
  if (order.size() < count) {
    // From a task that is never ready back through others of that kind, until one comes again.
    std::uint32_t task = 0;
    while (waits[task] == 0) ++task;
    std::vector<bool> seen(count, false);
    while (!seen[task]) {
      seen[task] = true;
      for (const std::uint32_t before : dag.predecessors(task)) {
        if (waits[before] > 0) {
          task = before;
          break;
        }
      }
    }
    return base::InvalidArgument(Named(graph, task) + " waits for itself, through others");
  }
  dag.tails_.assign(count, 0);
  for (std::size_t i = count; i-- > 0;) {
    for (const std::uint32_t next : dag.successors(order[i])) {
      dag.tails_[order[i]] = std::max(dag.tails_[order[i]], dag.times_[next] + dag.tails_[next]);
    }
  }
  for (std::uint32_t task = 0; task < count; ++task) {
    dag.longest_path_ =
        std::max(dag.longest_path_, dag.heads_[task] + dag.times_[task] + dag.tails_[task]);
  }
  return dag;
}

TaskDag TaskDag::Reversed() const {
  TaskDag reversed = *this;
  std::swap(reversed.after_, reversed.before_);
  std::swap(reversed.heads_, reversed.tails_);
  std::reverse(reversed.order_.begin(), reversed.order_.end());
  return reversed;
}

std::int64_t LowerBound(const TaskDag& dag, std::uint32_t cores) {
  std::vector<std::int64_t> times;
  for (std::uint32_t task = 0; task < dag.size(); ++task) times.push_back(dag.time(task));
  return std::max({dag.longest_path(), base::CeilDiv(dag.work(), std::int64_t{cores}),
                   PackingBound(std::move(times), cores), IntervalBound(dag, cores)});
}

}  // namespace leeway::compile
