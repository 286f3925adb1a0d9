// Weights that stay on cores between runs.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/exec/harness.h"
#include "tests/exec/served.h"
#include "tests/support/task_graphs.h"

namespace leeway {
namespace {

using testing::ArrivalAt;
using testing::Harness;
using testing::HarnessArrival;
using testing::Served;
using testing::Task;
using testing::TaskGraph;

constexpr std::int64_t kLatency = 10;  // of a transfer
constexpr std::int64_t kBytes = 400;   // of a weight, at a byte a nanosecond
constexpr std::int64_t kFetch = kLatency + kBytes;
constexpr std::int64_t kRun = 100;

struct WeightOf {
  std::size_t task = 0;
  std::string name;
  std::int64_t bytes = kBytes;
  std::vector<std::uint32_t> cores = {};  // none: all
};

// The variant keeps the weights, and its tasks read theirs.
void Keep(plan::Body& body, plan::Variant& variant, const std::vector<WeightOf>& weights) {
  for (const WeightOf& weight : weights) {
    auto known = std::find_if(body.tensors.begin(), body.tensors.end(),
                              [&](const plan::Tensor& t) { return t.name == weight.name; });
    if (known == body.tensors.end()) {
      plan::Tensor tensor;
      tensor.name = weight.name;
      tensor.kind = plan::TensorKind::kWeight;
      tensor.dtype = DType::kInt8;
      tensor.elements = plan::Expr::Constant(weight.bytes);
      known = body.tensors.insert(body.tensors.end(), std::move(tensor));
    }
    const auto index = static_cast<plan::Index>(known - body.tensors.begin());
    variant.groups[weight.task].reads.push_back(index);
    plan::Residency residency{index, {}, {}};
    for (std::uint32_t core : weight.cores) {
      residency.cores.push_back({.device = {}, .core_class = "core", .index = core});
    }
    variant.residency.push_back(std::move(residency));
  }
}

std::shared_ptr<const plan::Body> PlanKeeping(const TaskGraph& tasks,
                                              const std::vector<WeightOf>& weights) {
  auto body = std::make_shared<plan::Body>(*testing::PlanOf({{"v", testing::kMaxSeq, 1, tasks}}));
  Keep(*body, body->entries[0].variants[0], weights);
  return body;
}

// One task of kRun, which needs this weight.
std::shared_ptr<const plan::Body> PlanWith(const std::string& weight, std::int64_t ns = kRun) {
  Task task;
  task.time_ns = ns;
  return PlanKeeping({task}, {{0, weight}});
}

std::shared_ptr<const device::Spec> CoresKeeping(std::uint32_t cores, std::int64_t budget) {
  testing::DeviceShape shape;
  shape.cores = cores;
  auto spec = std::make_shared<device::Spec>(*testing::DeviceOf(shape));
  spec->classes[0].resident_bytes = budget;
  spec->classes[0].dma_latency = Nanos{kLatency};
  return spec;
}

// Requests 1 µs apart on one core, each served by the next of the plans.
Served OneAfterTheOther(std::vector<std::shared_ptr<const plan::Body>> plans, std::int64_t budget) {
  exec::SimConfig config;
  config.device = CoresKeeping(1, budget);
  config.streams = {{"s", Priority(1)}};
  config.plan = plans[0];
  std::vector<exec::SimArrival> arrivals;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) * 1000;
    arrivals.push_back(ArrivalAt(at, 1));
    if (i > 0) config.swaps.push_back({Instant(Nanos{at}), plans[i]});
  }
  Served served = testing::Serve(config, arrivals).value();
  REQUIRE(served.ok.size() == plans.size());
  for (const Served::Ended& ended : served.ok) CHECK(ended.parts.total() == ended.latency);
  return served;
}

std::vector<std::int64_t> Latencies(const Served& served) {
  std::vector<std::int64_t> latencies;
  for (const Served::Ended& ended : served.ok) latencies.push_back(ended.latency.count());
  return latencies;
}

WeightUse UseOf(const Served& served, std::size_t core = 0) {
  return served.record->summary.cores[core].weights.value_or(WeightUse());
}

using Plans = std::vector<std::shared_ptr<const plan::Body>>;
using Times = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("two plans that alternate where one's weights have room miss in every run",
          "[exec][residency]") {
  const auto a = PlanWith("a"), b = PlanWith("b");
  const Served served = OneAfterTheOther({a, b, a, b, a}, 2 * kBytes - 1);
  CHECK(Latencies(served) == Times(5, kFetch + kRun));
  for (const Served::Ended& ended : served.ok) {
    CHECK(ended.parts.part(Cause::kPlanned) == Nanos{kRun});
    CHECK(ended.parts.part(Cause::kResidency) == Nanos{kFetch});
    CHECK(ended.parts.part(Cause::kContention) == Nanos{0});
  }
  CHECK(UseOf(served).hits == 0);
  CHECK(UseOf(served).misses == 5);
  CHECK(UseOf(served).evictions == 4);
  CHECK(UseOf(served).fetched_bytes == 5 * kBytes);
  CHECK(served.record->summary.cores[0].dram_bytes == 5 * kBytes);
}

TEST_CASE("where both plans' weights have room only the first run of each misses",
          "[exec][residency]") {
  const auto a = PlanWith("a"), b = PlanWith("b");
  const Served served = OneAfterTheOther({a, b, a, b, a}, 2 * kBytes);
  CHECK(Latencies(served) == Times{kFetch + kRun, kFetch + kRun, kRun, kRun, kRun});
  CHECK(served.ok[2].parts.part(Cause::kResidency) == Nanos{0});
  CHECK(UseOf(served).hits == 3);
  CHECK(UseOf(served).misses == 2);
  CHECK(UseOf(served).evictions == 0);
}

TEST_CASE("a swap that keeps the weights misses nothing", "[exec][residency][swap]") {
  const Served served = OneAfterTheOther({PlanWith("a"), PlanWith("a", 7)}, kBytes);
  CHECK(Latencies(served) == Times{kFetch + kRun, 7});
}

TEST_CASE("a device that keeps no weights serves as if the plan had said nothing of them",
          "[exec][residency]") {
  const Served served = OneAfterTheOther({PlanWith("a"), PlanWith("a")}, 0);
  CHECK(Latencies(served) == Times{kRun, kRun});
  CHECK_FALSE(served.record->summary.cores[0].weights.has_value());
}

TEST_CASE("weights that do not fit what is set aside for them are refused", "[exec][residency]") {
  exec::SimConfig config;
  config.device = CoresKeeping(1, kBytes - 1);
  config.plan = PlanWith("a");
  config.streams = {{"s", Priority(1)}};
  const auto refused = testing::Serve(config, {ArrivalAt(0, 1)});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == StatusCode::kFailedPrecondition);
  CHECK(refused.status().message() ==
        "entries[0].variants[0].residency: weights of 400 bytes stay on core core:0, which has 399 "
        "bytes of SRAM set aside for them");
}

TEST_CASE("a step on a core that does not keep its weight fetches it each time",
          "[exec][residency]") {
  Task task;
  task.time_ns = kRun;
  task.mode = plan::PlacementMode::kPinned;
  task.cores = {1};
  exec::SimConfig config;
  config.device = CoresKeeping(2, kBytes);
  config.plan = PlanKeeping({task}, {{0, "a", kBytes, {0}}});
  config.streams = {{"s", Priority(1)}};
  const Served served = testing::Serve(config, {ArrivalAt(0, 1), ArrivalAt(1000, 1)}).value();
  CHECK(Latencies(served) == Times{kFetch + kRun, kFetch + kRun});
  CHECK(UseOf(served, 1).misses == 2);
  CHECK(UseOf(served, 1).hits == 0);
}

TEST_CASE("cores that fetch at once share the DRAM: what that costs is contention",
          "[exec][residency][attribution]") {
  Task task;
  task.time_ns = kRun;
  task.mode = plan::PlacementMode::kPinned;
  task.cores = {0};
  Task other = task;
  other.cores = {1};
  exec::SimConfig config;
  config.device = CoresKeeping(2, 2 * kBytes);
  config.plan = PlanKeeping({task, other}, {{0, "a"}, {1, "b"}});
  config.streams = {{"s", Priority(1)}};
  const Served served = testing::Serve(config, {ArrivalAt(0, 1)}).value();
  REQUIRE(served.ok.size() == 1);
  CHECK(served.ok[0].latency == Nanos{kLatency + 2 * kBytes + kRun});
  CHECK(served.ok[0].parts.part(Cause::kResidency) == Nanos{kFetch});
  CHECK(served.ok[0].parts.part(Cause::kContention) == Nanos{kBytes});
}

namespace {

// Two variants of one free task: requests of up to 8 need weight a, longer ones b. A core has room
// for one of them.
struct TwoModels {
  std::vector<std::pair<std::int64_t, std::uint32_t>> launches;  // seq, core
  std::vector<std::int64_t> latencies;
  std::uint64_t misses = 0;

  explicit TwoModels(const std::vector<HarnessArrival>& arrivals) {
    Task task;
    task.time_ns = kRun;
    auto body = std::make_shared<plan::Body>(
        *testing::PlanOf({{"short", 8, 1, {task}}, {"long", testing::kMaxSeq, 1, {task}}}));
    Keep(*body, body->entries[0].variants[0], {{0, "a"}});
    Keep(*body, body->entries[0].variants[1], {{0, "b"}});
    // Long only: the bound variant would be the other one at the same time.
    body->entries[0].variants[1].envelope[0].min = 9;
    sched::SchedulerOptions options;
    options.batching.max_batch_size = 1;
    options.max_concurrent_runs = 8;
    Harness harness(body, CoresKeeping(2, kBytes), options);
    harness.Open(Priority(1));
    harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef& step) {
      launches.emplace_back(harness.scheduler.run(step.run).dims[0], core.value());
    };
    harness.on_ok = [&](const exec::RequestRecord& record) {
      CHECK(record.parts.total() == record.latency);
      latencies.push_back(record.latency.count());
    };
    harness.Serve(arrivals);
    for (const exec::CoreUse& use : harness.world.use()) misses += use.weights.misses;
  }
};

}  // namespace

TEST_CASE("each of two models stays at the core that has its weights",
          "[exec][residency][placement]") {
  std::vector<HarnessArrival> arrivals = {{0, 0, 4, Nanos{0}}, {0, 0, 40, Nanos{0}}};
  // From then on one at a time, the second model first.
  for (int i = 0; i < 6; ++i) {
    arrivals.push_back({10'000 * (i + 1), 0, i % 2 == 0 ? 40 : 4, Nanos{0}});
  }
  const TwoModels system(arrivals);
  for (const auto& [seq, core] : system.launches) CHECK(core == (seq == 4 ? 0 : 1));
  CHECK(system.misses == 2);
  for (std::size_t i = 2; i < system.latencies.size(); ++i) CHECK(system.latencies[i] == kRun);
}

TEST_CASE("a core that fetches a weight counts as having it, once it is free",
          "[exec][residency][placement]") {
  // The second request finds core 0 fetching: it would end there after 360 + 100, on the idle core
  // after 410 + 100. A free step goes to the idle core all the same.
  const TwoModels system({{0, 0, 4, Nanos{0}}, {150, 0, 4, Nanos{0}}});
  CHECK(system.launches == std::vector<std::pair<std::int64_t, std::uint32_t>>{{4, 0}, {4, 1}});
}

TEST_CASE("a preferred step waits for the core that has its weights if that ends it no later",
          "[exec][residency][placement]") {
  // One core has the weight and is busy for 60 more; the other fetches.
  struct Case {
    std::int64_t fetch;
    std::uint32_t core;
  };
  const Case c = GENERATE(Case{kLatency + 49, 1}, Case{kLatency + 50, 0}, Case{kFetch, 0});
  Task task;
  task.time_ns = kRun;
  task.mode = plan::PlacementMode::kPreferred;
  task.cores = {0};
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  options.max_concurrent_runs = 8;
  Harness harness(PlanKeeping({task}, {{0, "a", c.fetch - kLatency}}), CoresKeeping(2, kBytes),
                  options);
  harness.Open(Priority(1));
  std::vector<std::uint32_t> cores;
  harness.watch.on_launch = [&](sched::CoreId core, const sched::StepRef&) {
    cores.push_back(core.value());
  };
  harness.Serve({{0, 0, 1, Nanos{0}}, {5000, 0, 1, Nanos{0}}, {5040, 0, 1, Nanos{0}}});
  CHECK(cores == std::vector<std::uint32_t>{0, 0, c.core});
}

namespace {

// What the weights of each step do on each core, told by a few lines that know nothing of the
// engine: a list of (last use, name) for each core.
class Caches {
 public:
  Caches(std::size_t cores, std::int64_t budget) : held_(cores), budget_(budget) {}

  // Returns the bytes fetched; `kept` and `bytes` by name.
  std::int64_t Use(std::size_t core, const std::vector<WeightOf>& weights) {
    std::map<std::string, std::int64_t>& held = held_[core];
    std::int64_t fetched = 0, pinned = 0;
    std::vector<WeightOf> missing;
    const auto kept = [&](const WeightOf& weight) {
      return weight.cores.empty() || std::count(weight.cores.begin(), weight.cores.end(), core) > 0;
    };
    for (const WeightOf& weight : weights) {
      bytes_[weight.name] = weight.bytes;
      if (kept(weight) && held.contains(weight.name)) {
        held[weight.name] = ++time_;
        pinned += weight.bytes;
      } else {
        fetched += weight.bytes;
        if (kept(weight)) missing.push_back(weight);
      }
    }
    for (const WeightOf& weight : missing) {
      if (pinned + weight.bytes > budget_) continue;
      while (Bytes(core) + weight.bytes > budget_) {
        held.erase(std::min_element(held.begin(), held.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        }));
      }
      held[weight.name] = ++time_;
      pinned += weight.bytes;
    }
    return fetched;
  }

 private:
  std::int64_t Bytes(std::size_t core) const {
    std::int64_t bytes = 0;
    for (const auto& [name, used] : held_[core]) bytes += bytes_.at(name);
    return bytes;
  }

  std::vector<std::map<std::string, std::int64_t>> held_;  // by core: when last used, by name
  std::map<std::string, std::int64_t> bytes_;
  std::int64_t budget_, time_ = 0;
};

// A graph of tasks with weights, on a few cores.
struct Weighted {
  TaskGraph tasks;
  std::vector<WeightOf> weights;
  std::shared_ptr<const plan::Body> plan;
  std::shared_ptr<const device::Spec> device;
  std::int64_t budget = 0;

  Weighted(base::Prng& prng, std::uint32_t cores, bool chain) {
    testing::GraphShape shape;
    shape.tasks = 8;
    shape.cores = cores;
    shape.bytes = testing::GraphShape::Bytes::kSome;
    if (chain) shape.placements = testing::GraphShape::Placements::kAnyOnly;
    tasks = testing::RandomGraph(prng, shape);
    for (std::size_t t = 1; chain && t < tasks.size(); ++t) {
      tasks[t].after = {static_cast<std::uint32_t>(t - 1)};
    }
    // A weight is of one size and kept on the same cores wherever it is used.
    std::vector<WeightOf> pool;
    for (int i = 0; i < 6; ++i) {
      WeightOf weight{0, "w" + std::to_string(i), 1 + static_cast<std::int64_t>(prng.Below(300))};
      if (prng.Below(3) == 0) weight.cores = {static_cast<std::uint32_t>(prng.Below(cores))};
      pool.push_back(std::move(weight));
    }
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      for (WeightOf& weight : pool) {
        if (prng.Below(3) > 0) continue;
        weight.task = t;
        weights.push_back(weight);
      }
    }
    plan = PlanKeeping(tasks, weights);
    budget = 1 + static_cast<std::int64_t>(prng.Below(1000));
    device = CoresKeeping(cores, budget);
  }
  // By tensor, as the engine has them.
  std::vector<WeightOf> Of(std::size_t task) const {
    std::vector<WeightOf> of;
    for (const plan::Tensor& tensor : plan->tensors) {
      for (const WeightOf& weight : weights) {
        if (weight.task == task && weight.name == tensor.name) of.push_back(weight);
      }
    }
    return of;
  }
};

std::vector<HarnessArrival> RandomArrivals(base::Prng& prng, std::uint64_t gap) {
  std::vector<HarnessArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 30; ++i) {
    at += static_cast<std::int64_t>(prng.Below(gap));
    arrivals.push_back({at, 0, 1, Nanos{0}});
  }
  return arrivals;
}

}  // namespace

TEST_CASE("what each step fetches is what least recently used says, and the parts add up",
          "[exec][residency][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Weighted system(prng, 3, false);
  Harness harness(system.plan, system.device);
  harness.Open(Priority(1));
  Caches caches(3, system.budget);
  std::vector<std::int64_t> fetched(3, 0);
  std::uint64_t uses = 0;
  harness.watch.on_started = [&](sched::CoreId core, const sched::StepRef& step) {
    const std::vector<WeightOf> weights = system.Of(step.node.value());
    uses += weights.size();
    fetched[core.value()] += caches.Use(core.value(), weights);
  };
  std::size_t told = 0;
  harness.on_ok = [&](const exec::RequestRecord& record) {
    ++told;
    CHECK(record.parts.total() == record.latency);
    CHECK(record.parts.part(Cause::kResidency) >= Nanos{0});
    CHECK(record.parts.part(Cause::kContention) >= Nanos{0});
  };
  harness.Serve(RandomArrivals(prng, 4000));
  CHECK(told == 30);
  std::uint64_t counted = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const device::WeightUse& use = harness.world.use()[c].weights;
    CHECK(use.fetched_bytes == fetched[c]);
    counted += use.hits + use.misses;
  }
  CHECK(counted == uses);
}

TEST_CASE("of a chain on one core the part is what each of its steps fetches, one by one",
          "[exec][residency][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Weighted system(prng, 1, true);
  Harness harness(system.plan, system.device);
  harness.Open(Priority(1));
  Caches caches(1, system.budget);
  std::map<sched::RunId, std::int64_t> fetching;
  harness.watch.on_run_started = [&](sched::RunId id, const sched::Run&) { fetching[id] = 0; };
  harness.watch.on_started = [&](sched::CoreId, const sched::StepRef& step) {
    const std::int64_t bytes = caches.Use(0, system.Of(step.node.value()));
    // A byte a nanosecond, for each shard.
    if (bytes > 0) fetching[step.run] += kLatency + bytes;
  };
  harness.on_ok = [&](const exec::RequestRecord& record) {
    CHECK(record.parts.total() == record.latency);
    CHECK(record.parts.part(Cause::kContention) == Nanos{0});
    CHECK(record.parts.part(Cause::kResidency).count() == fetching.begin()->second);
  };
  // One run at a time.
  std::vector<HarnessArrival> arrivals;
  for (int i = 0; i < 20; ++i) arrivals.push_back({i * 100'000, 0, 1, Nanos{0}});
  harness.Serve(arrivals);
}

TEST_CASE("loops whose weights come and go are added up as they are played",
          "[exec][residency][property]") {
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::uint32_t cores = 1 + static_cast<std::uint32_t>(prng.Below(2));
  const Weighted system(prng, cores, false);
  auto loop = std::make_shared<plan::Body>(
      *testing::LoopPlanOf(system.tasks, 3 + static_cast<std::int64_t>(prng.Below(40))));
  Keep(*loop, loop->entries[1].variants[0], system.weights);
  exec::SimConfig config;
  config.device = system.device;
  // As large as what the check asks for.
  testing::OwnDevice(config).classes[0].resident_bytes = 6 * 300;
  if (prng.Below(2) == 0) {
    // Or as small as two tasks' weights, unless that is refused.
    testing::OwnDevice(config).classes[0].resident_bytes = 600;
  }
  config.plan = loop;
  config.streams = {{"s", Priority(1)}};
  std::vector<exec::SimArrival> arrivals;
  std::int64_t at = 0;
  for (int i = 0; i < 10; ++i) {
    at += static_cast<std::int64_t>(prng.Below(200'000));
    arrivals.push_back(ArrivalAt(at, 1));
  }
  config.loops = exec::SimConfig::Loops::kPlay;
  const auto played = testing::Serve(config, arrivals);
  config.loops = exec::SimConfig::Loops::kSkip;
  const auto skipped = testing::Serve(config, arrivals);
  REQUIRE(played.ok() == skipped.ok());
  if (!played.ok()) return;
  CHECK(skipped->ok == played->ok);
  CHECK(skipped->record->telemetry_digest == played->record->telemetry_digest);
}

TEST_CASE("a loop whose weights stay is added up, however long it is",
          "[exec][residency][bounds]") {
  Task task;
  task.time_ns = kRun;
  const std::int64_t times = std::int64_t{1} << 26;
  auto loop = std::make_shared<plan::Body>(*testing::LoopPlanOf({task}, times));
  Keep(*loop, loop->entries[1].variants[0], {{0, "a"}});
  exec::SimConfig config;
  config.device = CoresKeeping(1, kBytes);
  config.plan = loop;
  config.streams = {{"s", Priority(1)}};
  const Served served = testing::Serve(config, {ArrivalAt(0, 1)}).value();
  CHECK(Latencies(served) == Times{kFetch + times * kRun});
  CHECK(served.ok[0].parts.part(Cause::kResidency) == Nanos{kFetch});
  CHECK(UseOf(served).misses == 1);
  CHECK(UseOf(served).hits == static_cast<std::uint64_t>(times) - 1);
}

TEST_CASE("a fetch is paid in energy, once", "[exec][residency]") {
  exec::SimConfig config;
  config.device = CoresKeeping(1, kBytes);
  testing::OwnDevice(config).power.dram_watts_per_gbps = 2;  // 2000 pJ a byte
  config.plan = PlanWith("a");
  config.streams = {{"s", Priority(1)}};
  const Served served = testing::Serve(config, {ArrivalAt(0, 1), ArrivalAt(5000, 1)}).value();
  CHECK(served.record->summary.energy_j == Approx(kBytes * 2000e-12).epsilon(1e-12));
}

TEST_CASE("a slow core fetches as fast as any: its clock stretches what it computes",
          "[exec][residency][attribution]") {
  exec::SimConfig config;
  config.device = CoresKeeping(1, kBytes);
  testing::OwnDevice(config).classes[0].core_clock_hz = {500'000'000};
  testing::OwnDevice(config).power.dram_watts_per_gbps = 2;
  config.plan = PlanWith("a");
  config.streams = {{"s", Priority(1)}};
  const Served served = testing::Serve(config, {ArrivalAt(0, 1), ArrivalAt(5000, 1)}).value();
  CHECK(Latencies(served) == Times{kFetch + 2 * kRun, 2 * kRun});
  CHECK(served.ok[0].parts.part(Cause::kResidency) == Nanos{kFetch});
  CHECK(served.ok[0].parts.part(Cause::kThrottle) == Nanos{kRun});
  CHECK(served.ok[0].parts.part(Cause::kContention) == Nanos{0});
  CHECK(served.record->summary.energy_j == Approx(kBytes * 2000e-12).epsilon(1e-12));
}

}  // namespace leeway
