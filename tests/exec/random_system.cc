#include "tests/exec/random_system.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace leeway::testing {
namespace {

std::int64_t Between(base::Prng& prng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(high - low + 1)));
}

// One or two classes more, with slower or faster ports than the first.
std::vector<ClassShape> MoreClasses(base::Prng& prng) {
  std::vector<ClassShape> classes(1 + prng.Below(2));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].name = "more" + std::to_string(i);
    classes[i].cores = 1 + static_cast<std::uint32_t>(prng.Below(3));
    classes[i].dma_bytes_per_second = 250'000'000 << prng.Below(3);
  }
  return classes;
}

std::shared_ptr<const device::Spec> RandomDevice(base::Prng& prng, GraphShape& graph) {
  DeviceShape shape;
  shape.cores = 1 + static_cast<std::uint32_t>(prng.Below(4));
  if (prng.Below(2) == 0) shape.more_classes = MoreClasses(prng);
  shape.run_launch_ns = Between(prng, 0, 1) * Between(prng, 0, 200);
  shape.step_launch_ns = Between(prng, 0, 1) * Between(prng, 0, 50);
  shape.dma_bytes_per_second = std::int64_t{250'000'000} << prng.Below(4);
  graph.cores = shape.cores;
  graph.classes = shape.more_classes;
  if (!graph.classes.empty()) graph.classes.push_back({"core", shape.cores});
  auto device = std::make_shared<device::Spec>(*DeviceOf(shape));
  if (prng.Below(2) == 0) return device;
  for (device::CoreClass& of : device->classes) {
    of.launch_depth = 1 + static_cast<std::uint32_t>(prng.Below(4));
  }
  return device;
}

// The same tasks, mapped again: other times and placements.
TaskGraph MappedAgain(base::Prng& prng, const TaskGraph& graph, const GraphShape& shape) {
  TaskGraph again = RandomGraph(prng, shape);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    again[i].after = graph[i].after;
    again[i].bytes = graph[i].bytes;
  }
  return again;
}

// Of dims seq and batch.
plan::Expr Sized(const char* text) {
  return plan::Expr::Parse(text,
                           [](std::string_view name) -> std::optional<std::size_t> {
                             return name == "seq" ? 0 : 1;
                           })
      .value();
}

// Makes some of what was constant follow the dims.
void FollowDims(base::Prng& prng, plan::Entry& entry) {
  static constexpr std::array kBytes = {"batch * 97", "seq * 20 + 1", "seq * batch", "1500"};
  static constexpr std::array kShards = {"min(batch, 3)", "1 + seq mod 3", "2"};
  for (plan::Operator& op : entry.operators) {
    if (!std::holds_alternative<plan::Move>(op.work)) continue;
    op.work = plan::Move{Sized(kBytes[prng.Below(kBytes.size())]), std::nullopt};
  }
  for (plan::Variant& variant : entry.variants) {
    variant.envelope[1].opt = Between(prng, 1, variant.envelope[1].max);
    for (plan::Group& group : variant.groups) {
      if (prng.Below(4) == 0) group.shards = Sized(kShards[prng.Below(kShards.size())]);
    }
  }
}

// Turns about one operator in three into a call of entry `callee`.
void AddCalls(base::Prng& prng, plan::Entry& entry, plan::Index callee) {
  static constexpr std::array kTimes = {"0", "1", "2", "3", "min(batch, 4)", "seq mod 3"};
  for (std::size_t i = 0; i < entry.operators.size(); ++i) {
    if (prng.Below(3) > 0) continue;
    entry.operators[i].work = plan::Call{callee, Sized(kTimes[prng.Below(kTimes.size())])};
    for (plan::Variant& variant : entry.variants) variant.groups[i].profile.clear();
  }
}

// Orders for some cores and waits between them, along the order of the groups.
plan::Schedule RandomSchedule(base::Prng& prng, const plan::Variant& variant) {
  plan::Schedule schedule;
  const auto groups = static_cast<plan::Index>(variant.groups.size());
  for (std::uint32_t core = 0; core < 2; ++core) {
    plan::CoreOrder& list = schedule.cores.emplace_back();
    // Without an index it is a list of several cores, which nothing waits for.
    if (prng.Below(4) > 0) list.core.index = core;
    for (plan::Index g = 0; g < groups; ++g) {
      if (prng.Below(3) == 0) list.groups.push_back(g);
    }
  }
  for (plan::Index g = 1; g < groups; ++g) {
    if (prng.Below(6) == 0) {
      schedule.waits.push_back({g, static_cast<plan::Index>(prng.Below(g))});
    }
  }
  return schedule;
}

std::shared_ptr<const plan::Body> RandomServedPlan(base::Prng& prng, GraphShape shape) {
  shape.max_time_ns = std::int64_t{1} << Between(prng, 2, 10);
  shape.bytes = prng.Below(3) == 0 ? GraphShape::Bytes::kNone : GraphShape::Bytes::kSome;
  shape.edge_probability = prng.Unit() * 0.6;
  shape.tasks = 1 + static_cast<std::uint32_t>(prng.Below(8));
  const TaskGraph small = RandomGraph(prng, shape);
  auto body = std::make_shared<plan::Body>(*PlanOf(
      {{"s", 16, Between(prng, 1, 4), small}, {"t", 48, 8, MappedAgain(prng, small, shape)}}));
  static constexpr std::array kRules = {BatchRule::kMax, BatchRule::kMax, BatchRule::kEqual,
                                        BatchRule::kSum};
  body->dims[0].batch_rule = kRules[prng.Below(kRules.size())];
  const std::size_t bodies = prng.Below(2) * (1 + prng.Below(2));
  for (std::size_t b = 0; b < bodies; ++b) {
    shape.tasks = 1 + static_cast<std::uint32_t>(prng.Below(4));
    plan::Entry body_entry = PlanOf({{"v", kMaxSeq, 32, RandomGraph(prng, shape)}})->entries[0];
    body_entry.name = "body" + std::to_string(b);
    body_entry.internal = true;
    body->entries.push_back(std::move(body_entry));
  }
  for (plan::Entry& entry : body->entries) {
    if (prng.Below(2) == 0) FollowDims(prng, entry);
    for (plan::Variant& variant : entry.variants) {
      // Batch dims are run as they are.
      if (body->dims[0].batch_rule != BatchRule::kSum) continue;
      variant.envelope[0].mode = plan::ShapeMode::kDynamic;
    }
    if (prng.Below(4) > 0) continue;
    for (plan::Variant& variant : entry.variants) {
      variant.schedule = RandomSchedule(prng, variant);
    }
  }
  for (std::size_t e = 0; e < bodies; ++e) {
    AddCalls(prng, body->entries[e], static_cast<plan::Index>(e + 1));
  }
  return body;
}

ServingOptions RandomServing(base::Prng& prng) {
  ServingOptions serving;
  serving.batching.max_batch_size = static_cast<int>(Between(prng, 1, 6));
  serving.batching.max_queue_delay = Nanos{Between(prng, 0, 2) * Between(prng, 0, 1000)};
  for (int size = 2; size <= serving.batching.max_batch_size; size += 2) {
    if (prng.Below(3) == 0) serving.batching.preferred_batch_size.push_back(size);
  }
  if (prng.Below(3) == 0) {
    serving.batching.formation = BatchingOptions::Formation::kFirstCome;
  }
  if (prng.Below(3) == 0) serving.queue.max_queue_size = static_cast<int>(Between(prng, 1, 4));
  if (prng.Below(3) == 0) serving.queue.default_timeout = Nanos{Between(prng, 1, 3000)};
  if (prng.Below(2) == 0) serving.queue.timeout_action = TimeoutAction::kDelay;
  serving.max_concurrent_runs = static_cast<int>(Between(prng, 0, 6));
  serving.ageing_interval = Nanos{std::int64_t{1} << Between(prng, 4, 20)};
  if (prng.Below(4) == 0) serving.fallback = Fallback::kReject;
  serving.phi = 1 + static_cast<double>(prng.Below(3)) / 2;
  return serving;
}

}  // namespace

ServedSystem RandomServedSystem(std::uint64_t seed) {
  base::Prng prng(seed);
  ServedSystem system;
  GraphShape shape;
  system.config.device = RandomDevice(prng, shape);
  system.config.plan = RandomServedPlan(prng, shape);
  system.config.serving = RandomServing(prng);
  const std::int64_t priorities = prng.Below(8) == 0 ? Priority::kLeastUrgent : 4;
  for (std::size_t s = 1 + prng.Below(3); s > 0; --s) {
    system.config.streams.push_back(
        {"stream" + std::to_string(s), Priority(static_cast<int>(Between(prng, 1, priorities)))});
  }
  const std::int64_t gap = std::int64_t{1} << Between(prng, 0, 12);
  std::int64_t at = 0;
  for (std::size_t i = 1 + prng.Below(24); i > 0; --i) {
    at += prng.Below(4) == 0 ? 0 : Between(prng, 0, gap);
    exec::SimArrival arrival;
    arrival.at = Instant(Nanos{at});
    arrival.stream = static_cast<std::uint32_t>(prng.Below(system.config.streams.size()));
    arrival.dims = {Between(prng, 1, 52), 1};
    // Not all at their own lengths, so that batches form where lengths must be equal.
    if (prng.Below(2) == 0) arrival.dims[0] = 8;
    if (prng.Below(6) == 0) arrival.timeout = Nanos{Between(prng, 1, 4000)};
    if (prng.Below(6) == 0) arrival.cancel_after = Nanos{Between(prng, 0, 4000)};
    system.arrivals.push_back(arrival);
  }
  return system;
}

System RandomSystem(std::uint64_t seed, GraphShape::Bytes bytes, std::uint32_t depth,
                    Classes classes) {
  base::Prng prng(seed);
  System system;
  DeviceShape shape;
  shape.cores = 1 + static_cast<std::uint32_t>(prng.Below(5));
  shape.launch_depth = depth;
  if (classes == Classes::kSeveral) shape.more_classes = MoreClasses(prng);
  shape.run_launch_ns = static_cast<std::int64_t>(prng.Below(20));
  shape.step_launch_ns = static_cast<std::int64_t>(prng.Below(10));
  system.device = DeviceOf(shape);
  GraphShape graph;
  graph.tasks = 1 + static_cast<std::uint32_t>(prng.Below(12));
  graph.cores = shape.cores;
  graph.bytes = bytes;
  if (classes == Classes::kSeveral) {
    graph.classes = shape.more_classes;
    graph.classes.push_back({"core", shape.cores, shape.dram_bytes_per_second});
  }
  TaskGraph small = RandomGraph(prng, graph);
  TaskGraph large = small;
  for (Task& task : large) task.time_ns *= 2;
  system.plan = PlanOf({{"s", 16, 4, small}, {"t", 48, 8, large}});
  system.options.batching.max_batch_size = 1 + static_cast<std::uint32_t>(prng.Below(6));
  system.options.batching.max_queue_delay = Nanos{static_cast<std::int64_t>(prng.Below(3)) * 500};
  if (prng.Below(2) == 0) system.options.batching.preferred_batch_size = {2, 4};
  if (prng.Below(4) == 0) {
    system.options.batching.formation = sched::BatchPolicy::Formation::kFirstCome;
  }
  system.options.ageing_interval = Nanos{1000 + static_cast<std::int64_t>(prng.Below(100000))};
  system.options.max_concurrent_runs = static_cast<std::uint32_t>(prng.Below(6));
  std::int64_t at = 0;
  const std::size_t requests = 1 + prng.Below(60);
  for (std::size_t i = 0; i < requests; ++i) {
    at += static_cast<std::int64_t>(prng.Below(1500));
    HarnessArrival arrival;
    arrival.at_ns = at;
    arrival.stream = static_cast<std::uint32_t>(prng.Below(system.streams));
    arrival.seq = 1 + static_cast<std::int64_t>(prng.Below(52));
    if (prng.Below(5) == 0)
      arrival.timeout = Nanos{1 + static_cast<std::int64_t>(prng.Below(4000))};
    system.arrivals.push_back(arrival);
  }
  return system;
}

std::shared_ptr<const plan::Body> AcrossClasses(const plan::Body& plan, const device::Spec& device,
                                                std::uint64_t seed) {
  base::Prng prng(seed);
  auto body = std::make_shared<plan::Body>(plan);
  for (plan::Entry& entry : body->entries) {
    for (plan::Variant& variant : entry.variants) {
      for (plan::Group& group : variant.groups) {
        std::vector<plan::CoreRef>& cores = group.placement.cores;
        if (cores.empty() || prng.Below(2) == 0) continue;
        const device::CoreClass& of = device.classes[prng.Below(device.classes.size())];
        const auto index = static_cast<device::CoreIndex>(prng.Below(of.count));
        cores.insert(prng.Below(2) == 0 ? cores.begin() : cores.end(),
                     {.device = {}, .core_class = of.name, .index = index});
      }
    }
  }
  return body;
}

std::shared_ptr<const plan::Body> WithHostWork(const plan::Body& plan, std::uint64_t seed) {
  base::Prng prng(seed ^ 0x4057);
  auto body = std::make_shared<plan::Body>(plan);
  for (plan::Entry& entry : body->entries) {
    for (std::size_t i = 0; i < entry.operators.size(); ++i) {
      plan::Work& work = entry.operators[i].work;
      if (std::holds_alternative<plan::Call>(work) || prng.Below(3) > 0) continue;
      work = plan::Host{Between(prng, 1, 800)};
      for (plan::Variant& variant : entry.variants) {
        variant.groups[i].placement = {};
        variant.groups[i].shards = plan::Expr::Constant(1);
        variant.groups[i].profile.clear();
      }
    }
  }
  return body;
}

void OpenStreams(Harness& harness, const System& system, std::uint64_t seed) {
  for (std::uint32_t s = 0; s < system.streams; ++s) {
    const bool bounded = (seed + s) % 3 == 0;
    harness.Open(Priority(static_cast<int>(s) + 1), bounded ? 4 : 0, Nanos{0},
                 s == 1 ? sched::TimeoutAction::kDelay : sched::TimeoutAction::kReject);
  }
}

}  // namespace leeway::testing
