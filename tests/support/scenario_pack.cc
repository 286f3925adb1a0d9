// The mixes, and for each what theory says of it.

#include <algorithm>

#include "tests/support/mixes.h"

namespace leeway::testing {
namespace {

using Side = Figure::Side;

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kMs = 1000 * kUs;

Task TaskOf(std::int64_t time_ns, std::vector<std::uint32_t> after = {}) {
  Task task;
  task.time_ns = time_ns;
  task.after = std::move(after);
  return task;
}

TaskGraph Chain(std::uint32_t tasks, std::int64_t time_ns) {
  TaskGraph graph;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    graph.push_back(i == 0 ? TaskOf(time_ns) : TaskOf(time_ns, {i - 1}));
  }
  return graph;
}

// `width` tasks side by side, then one that joins them; again and again.
TaskGraph ForkJoins(std::uint32_t rounds, std::uint32_t width, std::int64_t time_ns,
                    std::int64_t join_ns) {
  TaskGraph graph;
  for (std::uint32_t r = 0; r < rounds; ++r) {
    const auto first = static_cast<std::uint32_t>(graph.size());
    std::vector<std::uint32_t> forked;
    for (std::uint32_t i = 0; i < width; ++i) {
      graph.push_back(r == 0 ? TaskOf(time_ns) : TaskOf(time_ns, {first - 1}));
      forked.push_back(first + i);
    }
    graph.push_back(TaskOf(join_ns, forked));
  }
  return graph;
}

std::int64_t LongestTask(const Mix& mix, std::size_t from) {
  std::int64_t longest = 0;
  for (std::size_t s = from; s < mix.streams.size(); ++s) {
    for (const Task& task : mix.streams[s].graph) longest = std::max(longest, task.time_ns);
  }
  return longest;
}

// Stream 0 is urgent. Its 99th percentile is at most what it is alone plus `waits` times the
// longest step of the others: steps are not preempted. A chain waits for one at its start and then
// keeps its core, since no later run of its stream goes before it; at a fork it needs more cores,
// all of which may have just begun one.
std::vector<Figure> UrgentTail(const MixRun& run, double waits) {
  const MixRun alone = ServeMix(FirstStreams(*run.mix, 1), run.policy, run.seed);
  const auto by_itself = static_cast<double>(alone.Percentile(0, 0.99));
  const auto longest = static_cast<double>(LongestTask(*run.mix, 1));
  const auto p99 = static_cast<double>(run.Percentile(0, 0.99));
  return {{"urgent p99", p99, by_itself + waits * longest, Side::kAtMost},
          {"in steps above alone", (p99 - by_itself) / longest, 0, Side::kReported}};
}

std::vector<Figure> With(std::vector<Figure> figures, const std::vector<Figure>& more) {
  figures.insert(figures.end(), more.begin(), more.end());
  return figures;
}

// The other streams get at least 90 % of the cores' time that the urgent one leaves.
Figure RestServed(const MixRun& run) {
  const double all = run.mix->cores * static_cast<double>(run.mix->length_ns);
  double served = 0;
  for (std::uint32_t s = 1; s < run.mix->streams.size(); ++s) served += run.Served(s);
  return {"bulk share of the rest", served / (all - run.Offered(0)), 0.9, Side::kAtLeast};
}

MixStream Bulk(double load) { return {"bulk", Priority(8), Chain(10, 200 * kUs), load, 0}; }

Scenario UrgentChains() {
  Scenario s;
  s.mix.name = "urgent and bulk chains";
  s.mix.streams = {{"urgent", Priority(1), Chain(5, 20 * kUs), 0.2, 0}, Bulk(0.75)};
  s.claim = "urgent p99 <= alone + longest step";
  s.judge = [](const MixRun& run) { return With(UrgentTail(run, 1), {RestServed(run)}); };
  s.bound_to = {Policy::kLeeway};
  return s;
}

Scenario UrgentForks() {
  Scenario s;
  s.mix.name = "urgent forks, bulk chains";
  s.mix.streams = {{"urgent", Priority(1), ForkJoins(2, 4, 20 * kUs, 5 * kUs), 0.2, 0}, Bulk(0.75)};
  s.claim = "urgent p99 <= alone + longest step x 2 forks";
  s.judge = [](const MixRun& run) { return With(UrgentTail(run, 2), {RestServed(run)}); };
  s.bound_to = {Policy::kLeeway};
  return s;
}

// Holds nobody to the bound.
void ReportTail(Scenario& s) {
  s.judge = [](const MixRun& run) {
    std::vector<Figure> tail = UrgentTail(run, 1);
    tail.front().side = Side::kReported;
    return tail;
  };
  s.bound_to = {};
}

// The cores together want more of the DRAM than there is.
Scenario SharedBandwidth() {
  Scenario s = UrgentChains();
  s.mix.name = "urgent and bulk chains, shared DRAM";
  s.mix.dram_bytes_per_second = 3'000'000'000;
  // A move reads and writes.
  for (Task& task : s.mix.streams[1].graph) task.bytes = task.time_ns / 2;
  s.mix.streams[1].load = 0.5;
  s.claim = "reported: steps in flight slow each other down";
  ReportTail(s);
  return s;
}

// As many runs in flight as cores, the default: a request waits for a run to end, not for a step.
Scenario LimitedRuns() {
  Scenario s = UrgentChains();
  s.mix.name = "urgent and bulk chains, 4 runs in flight";
  s.mix.max_concurrent_runs = s.mix.cores;
  s.claim = "reported: where runs in flight are limited, requests wait for runs to end";
  ReportTail(s);
  return s;
}

// One server, single steps of fixed length, strict priorities: M/D/1 without preemption.
Scenario ThreeLevels() {
  Scenario s;
  s.mix.name = "three levels of priority";
  s.mix.cores = 1;
  s.mix.length_ns = 10'000 * kMs;
  s.mix.ageing_ns = 2 * s.mix.length_ns;
  s.mix.streams = {{"interactive", Priority(1), Chain(1, 50 * kUs), 0.25, 0},
                   {"normal", Priority(2), Chain(1, 100 * kUs), 0.25, 0},
                   {"batch", Priority(3), Chain(1, 200 * kUs), 0.3, 0}};
  s.claim = "mean waits of a non-preemptive priority queue (Cobham 1954)";
  s.judge = [](const MixRun& run) {
    double residual = 0, before = 0;
    for (const MixStream& stream : run.mix->streams) {
      residual += stream.load * static_cast<double>(TotalWork(stream.graph)) / 2;
    }
    std::vector<Figure> figures;
    for (std::uint32_t k = 0; k < run.mix->streams.size(); ++k) {
      const MixStream& stream = run.mix->streams[k];
      const double upto = before + stream.load;
      figures.push_back({stream.name + " mean wait",
                         run.Mean(k) - static_cast<double>(TotalWork(stream.graph)),
                         residual / ((1 - before) * (1 - upto)), Side::kAbout});
      before = upto;
    }
    return figures;
  };
  s.bound_to = {Policy::kLeeway};
  return s;
}

Scenario BurstyUrgent() {
  Scenario s;
  s.mix.name = "bursty urgent";
  s.mix.streams = {{"urgent", Priority(1), Chain(1, 20 * kUs), 0.2, 40}, Bulk(0.75)};
  s.claim = "latest of a burst <= longest step + burst / cores + one step (list scheduling)";
  s.judge = [](const MixRun& run) {
    const MixStream& urgent = run.mix->streams[0];
    const auto step = static_cast<double>(TotalWork(urgent.graph));
    const double bound =
        static_cast<double>(LongestTask(*run.mix, 1)) + urgent.burst * step / run.mix->cores + step;
    const auto slowest = static_cast<double>(run.Latencies(0).back());
    return std::vector{Figure{"urgent max", slowest, bound, Side::kAtMost}, RestServed(run)};
  };
  s.bound_to = {Policy::kLeeway};
  return s;
}

Scenario HeavyTailedBulk() {
  Scenario s;
  s.mix.name = "heavy-tailed bulk";
  s.mix.streams = {{"urgent", Priority(1), Chain(5, 20 * kUs), 0.2, 0},
                   {"bulk of 1", Priority(8), Chain(1, 100 * kUs), 0.25, 0},
                   {"bulk of 8", Priority(8), Chain(8, 100 * kUs), 0.25, 0},
                   {"bulk of 64", Priority(8), Chain(64, 100 * kUs), 0.25, 0}};
  s.claim = "urgent p99 <= alone + longest step, however long requests are";
  s.judge = [](const MixRun& run) {
    return With(UrgentTail(run, 1),
                {RestServed(run), {"bulk of 1 mean", run.Mean(1), 0, Side::kReported}});
  };
  s.bound_to = {Policy::kLeeway};
  return s;
}

// One stream wants all of the device, three want less than a fair share.
Scenario UnequalDemand() {
  Scenario s;
  s.mix.name = "equal streams, unequal demand";
  s.mix.length_ns = 500 * kMs;
  s.mix.streams = {{"greedy", Priority(1), Chain(4, 50 * kUs), 1.0, 0},
                   {"modest a", Priority(1), Chain(4, 50 * kUs), 0.15, 0},
                   {"modest b", Priority(1), Chain(4, 50 * kUs), 0.15, 0},
                   {"modest c", Priority(1), Chain(4, 50 * kUs), 0.15, 0}};
  s.claim = "max-min fair: who asks for less than a share gets all of it (Goyal et al. 1996)";
  s.judge = [](const MixRun& run) {
    std::vector<Figure> figures;
    double slowest = 0, least = 1;
    for (std::uint32_t m = 1; m < run.mix->streams.size(); ++m) {
      slowest = std::max(slowest, static_cast<double>(run.Percentile(m, 0.99)));
      least = std::min(least, run.Served(m) / run.Offered(m));
    }
    // What a fair server may owe a stream at the end: (D + 1) requests of either (fair_tags.h).
    const auto request = static_cast<double>(TotalWork(run.mix->streams[1].graph));
    const double owed = (run.mix->cores + 1) * 2 * request;
    figures.push_back({"modest p99", slowest, 0, Side::kReported});
    figures.push_back({"modest served / asked", least, 1 - owed / run.Offered(1), Side::kAtLeast});
    return figures;
  };
  s.bound_to = {Policy::kWfq};
  s.fair = false;
  return s;
}

Scenario ChainAgainstForks() {
  Scenario s;
  s.mix.name = "deep chain, wide forks";
  s.mix.length_ns = kMs;
  // One request and 18 at once: 5 ms of a chain, and 15 ms on the other three cores.
  s.mix.streams = {{"chain", Priority(1), Chain(100, 50 * kUs), 0, 1},
                   {"forks", Priority(1), ForkJoins(1, 16, 50 * kUs, 50 * kUs), 0, 18}};
  s.claim = "makespan <= work / m + (1 - 1 / m) longest path (Graham 1969)";
  s.judge = [](const MixRun& run) {
    double work = 0;
    std::int64_t path = 0;
    for (const MixArrival& arrival : run.arrivals) {
      const TaskGraph& graph = run.mix->streams[arrival.stream].graph;
      work += static_cast<double>(TotalWork(graph));
      path = std::max(path, CriticalPath(graph));
    }
    const double m = run.mix->cores;
    const auto makespan = static_cast<double>(run.makespan_ns);
    return std::vector{
        Figure{"makespan", makespan, work / m + (1 - 1 / m) * static_cast<double>(path),
               Side::kAtMost},
        Figure{"makespan / least possible",
               makespan / std::max(work / m, static_cast<double>(path)), 0, Side::kReported}};
  };
  s.bound_to = {kPolicies.begin(), kPolicies.end()};
  s.fair = false;
  return s;
}

Scenario DecodeAndPrefill() {
  Scenario s;
  s.mix.name = "tiny decode steps, long prefill steps";
  s.mix.length_ns = 4000 * kMs;
  s.mix.streams = {{"decode", Priority(1), Chain(8, 10 * kUs), 0.1, 0},
                   {"prefill", Priority(8), Chain(4, 2000 * kUs), 0.85, 0}};
  s.claim = "decode p99 <= alone + longest step; a prefill step is 200 of its own";
  s.judge = [](const MixRun& run) { return With(UrgentTail(run, 1), {RestServed(run)}); };
  s.bound_to = {Policy::kLeeway};
  return s;
}

// By when a run of each arrival must have ended, in ns after it came, where no later request but of
// a slot up to its own precedes it. `slot` is that of the arrival. Of what is there when it comes,
// at most the backlog of a server as fast as all cores, and a path a core more, for cores idle only
// while fewer runs than cores are there; then what comes with a slot up to its own; then its own
// path, at each step of which the other cores may have just begun a step that is less urgent.
double AgedBound(const MixRun& run, std::size_t arrival, double backlog) {
  const Mix& mix = *run.mix;
  const auto slot_of = [&](const MixArrival& a) {
    return a.at_ns / mix.ageing_ns + mix.streams[a.stream].priority.level() - 1;
  };
  const MixArrival& self = run.arrivals[arrival];
  const TaskGraph& graph = mix.streams[self.stream].graph;
  const double m = mix.cores;
  double path = 0, ahead = backlog;
  for (const MixStream& stream : mix.streams) {
    path = std::max(path, static_cast<double>(CriticalPath(stream.graph)));
  }
  ahead += (m - 1) * path;
  for (std::size_t i = arrival; i < run.arrivals.size(); ++i) {
    if (slot_of(run.arrivals[i]) > slot_of(self)) continue;
    ahead += static_cast<double>(TotalWork(mix.streams[run.arrivals[i].stream].graph));
  }
  const double begun =
      static_cast<double>(graph.size()) * (m - 1) * static_cast<double>(LongestTask(mix, 0));
  return (ahead + begun) / m + static_cast<double>(CriticalPath(graph));
}

Scenario OverloadedUrgent() {
  Scenario s;
  s.mix.name = "urgent at 110 %, bulk ages";
  s.mix.length_ns = 200 * kMs;
  s.mix.ageing_ns = 5 * kMs;
  s.mix.streams = {{"urgent", Priority(1), Chain(5, 20 * kUs), 1.1, 0},
                   {"bulk", Priority(2), Chain(10, 200 * kUs), 0.1, 0}};
  s.claim = "bulk ends within its bound: nothing that comes priority x ageing later precedes it";
  s.judge = [](const MixRun& run) {
    double backlog = 0, worst = 0;
    std::int64_t last = 0;
    for (std::size_t i = 0; i < run.arrivals.size(); ++i) {
      const MixArrival& arrival = run.arrivals[i];
      const auto passed = static_cast<double>(arrival.at_ns - last);
      backlog = std::max(0.0, backlog - passed * run.mix->cores);
      last = arrival.at_ns;
      if (arrival.stream == 1) {
        const auto latency = static_cast<double>(run.latency_ns[i]);
        worst = std::max(worst, latency / AgedBound(run, i, backlog));
      }
      backlog += static_cast<double>(TotalWork(run.mix->streams[arrival.stream].graph));
    }
    return std::vector{
        Figure{"bulk latency / bound, worst", worst, 1, Side::kAtMost},
        Figure{"urgent p99", static_cast<double>(run.Percentile(0, 0.99)), 0, Side::kReported},
        Figure{"bulk p99", static_cast<double>(run.Percentile(1, 0.99)), 0, Side::kReported}};
  };
  s.bound_to = {Policy::kLeeway};
  s.fair = false;
  return s;
}

}  // namespace

std::vector<Scenario> ScenarioPack() {
  return {UrgentChains(),      UrgentForks(),      SharedBandwidth(), LimitedRuns(),
          ThreeLevels(),       BurstyUrgent(),     HeavyTailedBulk(), UnequalDemand(),
          ChainAgainstForks(), DecodeAndPrefill(), OverloadedUrgent()};
}

}  // namespace leeway::testing
