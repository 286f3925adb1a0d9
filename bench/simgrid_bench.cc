// The same executions by SimGrid's S4U actors (Casanova, Giersch, Legrand, Quinson, Suter,
// "Versatile, scalable, and accurate simulation of distributed applications and platforms", JPDC
// 2014). One host and one actor a core executes in turn the steps that ran there: launch and fill
// on the host, the body as a transfer over one shared DRAM link at no more than its cap, the drain
// on the host. It decides nothing and knows of no dependency: what runs where, in which order, and
// how long the core waits before, is given to it. Built where libsimgrid-dev is
// installed.
//
//   items_per_second   steps by CPU time; the budget is 30 times SimGrid's
//   makespan_s         virtual; close to ours, for SimGrid shares max-min fairly too

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/sixteen_cores.h"
#include "exec/simulated_world.h"
#include "sched/scheduler.h"

namespace leeway {
namespace {

constexpr std::int64_t kRequests = 1000;
constexpr double kUnitsPerByte = 1 << device::kByteUnitBits;

struct Execution {
  Nanos idle_before{0};  // when nothing ran on the core
  Nanos head{0}, tail{0};
  double bytes = 0, bytes_per_second = 0;  // of the body; 0: it only computes, in `head`
};
// What every core executes, in order.
using Executions = std::vector<std::vector<Execution>>;

Execution Of(const device::StepCost& cost, Nanos run_launch, Nanos idle_before) {
  Execution execution{
      .idle_before = idle_before, .head = run_launch + cost.launch + cost.fill, .tail = cost.drain};
  if (cost.body_bytes == 0) {
    execution.head += cost.compute;
    return execution;
  }
  execution.bytes = static_cast<double>(cost.body_bytes) / kUnitsPerByte;
  execution.bytes_per_second = static_cast<double>(cost.cap) / kUnitsPerByte * 1e9;
  return execution;
}

// Writes down what every core executes.
class Recorder final : public exec::StepListener {
 public:
  explicit Recorder(const device::Spec& device)
      : device_(device), free_since_(device.core_count()), executions_(device.core_count()) {}

  void Attach(const exec::SimulatedWorld& world, const sched::Scheduler& scheduler) {
    world_ = &world;
    scheduler_ = &scheduler;
  }
  void OnStarted(sched::CoreId core, const sched::StepRef& step) override {
    const sched::Run& run = scheduler_->run(step.run);
    const bool first = run.nodes[step.node.value()].first;
    executions_[core.value()].push_back(Of(run.costs->cost(step.node, 0),
                                           first ? device_.run_launch : Nanos{0},
                                           world_->Now() - free_since_[core.value()]));
  }
  void OnFinished(sched::CoreId core, const sched::StepRef&, const exec::StepTimes&) override {
    free_since_[core.value()] = world_->Now();
  }
  void OnRunEnded(sched::RunId) override {}

  const Executions& executions() const { return executions_; }

 private:
  const device::Spec& device_;
  const exec::SimulatedWorld* world_ = nullptr;
  const sched::Scheduler* scheduler_ = nullptr;
  std::vector<Instant> free_since_;
  Executions executions_;
};

Executions ServedByOurs(const exec::SimConfig& config) {
  sched::SchedulerOptions options;
  options.batching.max_batch_size = 1;
  sched::DomainTable domains;
  sched::StreamSpec stream;
  stream.model = sched::Model::Create(config.plan, config.device, "", 2, domains).value();
  Recorder recorder(*config.device);
  exec::SimulatedWorld world(*config.device, &recorder);
  sched::Scheduler scheduler(world, *config.device, domains, options, nullptr);
  world.Attach(scheduler);
  recorder.Attach(world, scheduler);
  const sched::StreamId texts_stream = scheduler.OpenStream(stream).value();
  bench::Texts texts(kRequests);
  std::optional<exec::SimArrival> text = texts.Next().value();
  while (true) {
    const Instant at = std::min(world.next_event(), text ? text->at : Instant::Max());
    if (at == Instant::Max()) return recorder.executions();
    world.AdvanceTo(at);
    for (; text && text->at <= at; text = texts.Next().value()) {
      (void)scheduler.Submit(texts_stream, text->dims, Nanos{0}, 0);
    }
    world.PumpWoken();
  }
}

std::int64_t CountOf(const Executions& executions) {
  std::int64_t count = 0;
  for (const auto& core : executions) count += static_cast<std::int64_t>(core.size());
  return count;
}

void BM_Ours(benchmark::State& state) {
  const exec::SimConfig config = bench::SixteenCores();
  std::uint64_t steps = 0;
  for (auto _ : state) steps += bench::StepsOf(config, kRequests);
  state.SetItemsProcessed(static_cast<std::int64_t>(steps));
}

constexpr double kFlopsPerSecond = 1e9;
double Seconds(Nanos time) { return static_cast<double>(time.count()) / 1e9; }
double Flops(Nanos time) { return Seconds(time) * kFlopsPerSecond; }

void Execute(const std::vector<Execution>& executions, simgrid::s4u::Host* dram) {
  namespace s4u = simgrid::s4u;
  for (const Execution& execution : executions) {
    if (execution.idle_before > Nanos{0}) {
      s4u::this_actor::sleep_for(Seconds(execution.idle_before));
    }
    s4u::this_actor::execute(Flops(execution.head));
    if (execution.bytes > 0) {
      s4u::Comm::sendto_init()
          ->set_rate(execution.bytes_per_second)
          ->set_payload_size(static_cast<std::uint64_t>(execution.bytes))
          ->set_source(dram)
          ->set_destination(s4u::this_actor::get_host())
          ->wait();
    }
    s4u::this_actor::execute(Flops(execution.tail));
  }
}

// A process holds one engine of SimGrid's, which runs once.
void BM_SimGrid(benchmark::State& state) {
  namespace s4u = simgrid::s4u;
  const exec::SimConfig config = bench::SixteenCores();
  const Executions executions = ServedByOurs(config);
  std::string name = "simgrid_bench", quiet = "--log=root.threshold:error";
  char* argv[] = {name.data(), quiet.data(), nullptr};
  int argc = 2;
  s4u::Engine engine(&argc, argv);
  auto* zone = s4u::create_full_zone("device");
  auto* dram = zone->create_host("dram", kFlopsPerSecond)->seal();
  auto* link = zone->create_link("dram_link", static_cast<double>(config.device->dram_rate()) /
                                                  kUnitsPerByte * 1e9)
                   ->set_latency(0)
                   ->seal();
  for (std::size_t c = 0; c < executions.size(); ++c) {
    auto* host = zone->create_host("core" + std::to_string(c), kFlopsPerSecond)->seal();
    zone->add_route(dram->get_netpoint(), host->get_netpoint(), nullptr, nullptr,
                    {s4u::LinkInRoute(link)});
    s4u::Actor::create("steps", host, [&executions, c, dram] { Execute(executions[c], dram); });
  }
  zone->seal();
  for (auto _ : state) engine.run();
  state.SetItemsProcessed(CountOf(executions));
  state.counters["makespan_s"] = s4u::Engine::get_clock();
}

BENCHMARK(BM_Ours)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SimGrid)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leeway
