#include "tests/support/mixes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "exec/simulated_world.h"
#include "sched/scheduler.h"

namespace leeway::testing {
namespace {

constexpr std::uint32_t kNoLimit = 1u << 30;

// Tells when requests end.
class Latencies final : public sched::Observer {
 public:
  Latencies(const sched::Env& env, std::vector<std::int64_t>& latency_ns)
      : env_(env), latency_ns_(latency_ns) {}
  void OnRequestEnded(const sched::Request& request, Outcome, const sched::Run*) override {
    latency_ns_[request.user] = (env_.Now() - request.admitted).count();
  }

 private:
  const sched::Env& env_;
  std::vector<std::int64_t>& latency_ns_;
};

std::vector<MixArrival> ArrivalsOfStream(const Mix& mix, std::uint32_t s, std::uint64_t seed) {
  const MixStream& stream = mix.streams[s];
  const double offered = stream.load * mix.cores * static_cast<double>(mix.length_ns);
  const auto requests = static_cast<std::uint64_t>(
      std::max(1.0, offered / static_cast<double>(TotalWork(stream.graph)) + 0.5));
  std::vector<MixArrival> arrivals;
  base::Prng prng = base::Prng(seed).Fork(mix.name + "/" + stream.name);
  const std::uint64_t bursts =
      stream.burst > 0 ? std::max<std::uint64_t>(1, requests / stream.burst) : 0;
  for (std::uint64_t b = 0; b < bursts; ++b) {
    const auto at =
        static_cast<std::int64_t>(b * (static_cast<std::uint64_t>(mix.length_ns) / bursts));
    arrivals.insert(arrivals.end(), stream.burst, {at, s});
  }
  for (std::uint64_t r = 0; stream.burst == 0 && r < requests; ++r) {
    const auto at = prng.Below(static_cast<std::uint64_t>(mix.length_ns));
    arrivals.push_back({static_cast<std::int64_t>(at), s});
  }
  return arrivals;
}

}  // namespace

std::vector<MixArrival> ArrivalsOf(const Mix& mix, std::uint64_t seed) {
  std::vector<MixArrival> all;
  for (std::uint32_t s = 0; s < mix.streams.size(); ++s) {
    const std::vector<MixArrival> own = ArrivalsOfStream(mix, s, seed);
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end(), [](const MixArrival& a, const MixArrival& b) {
    return std::pair(a.at_ns, a.stream) < std::pair(b.at_ns, b.stream);
  });
  return all;
}

MixRun ServeMix(const Mix& mix, Policy policy, std::uint64_t seed) {
  MixRun run{&mix, seed, policy, ArrivalsOf(mix, seed), {}, 0};
  run.latency_ns.resize(run.arrivals.size());
  DeviceShape shape;
  shape.cores = mix.cores;
  shape.dram_bytes_per_second = mix.dram_bytes_per_second;
  shape.dma_bytes_per_second = 1'000'000'000;
  const auto device = DeviceOf(shape);
  sched::DomainTable domains;
  sched::SchedulerOptions options;
  options.policy = policy;
  options.batching.max_batch_size = 1;
  options.ageing_interval = Nanos{mix.ageing_ns};
  options.max_concurrent_runs = mix.max_concurrent_runs > 0 ? mix.max_concurrent_runs : kNoLimit;
  std::vector<std::shared_ptr<sched::Model>> models;
  for (const MixStream& stream : mix.streams) {
    models.push_back(
        sched::Model::Create(PlanOf({{"v", kMaxSeq, 1, stream.graph}}), device, "", 1, domains)
            .value());
  }
  exec::SimulatedWorld world(*device, nullptr);
  Latencies latencies(world, run.latency_ns);
  sched::Scheduler scheduler(world, *device, domains, options, &latencies);
  world.Attach(scheduler);
  for (std::size_t s = 0; s < mix.streams.size(); ++s) {
    sched::StreamSpec spec;
    spec.name = mix.streams[s].name;
    spec.priority = mix.streams[s].priority;
    spec.model = models[s];
    (void)scheduler.OpenStream(std::move(spec)).value();
  }
  const std::int64_t dims[] = {1, 1};
  for (std::size_t next = 0;;) {
    Instant at = world.next_event();
    if (next < run.arrivals.size()) at = std::min(at, Instant(Nanos{run.arrivals[next].at_ns}));
    if (at == Instant::Max()) break;
    world.AdvanceTo(at);
    for (; next < run.arrivals.size() && run.arrivals[next].at_ns <= at.count(); ++next) {
      (void)scheduler.Submit(sched::StreamId(run.arrivals[next].stream), dims, Nanos{0}, next)
          .value();
    }
    world.PumpWoken();
  }
  run.makespan_ns = world.last_finish().count();
  return run;
}

Mix FirstStreams(const Mix& mix, std::size_t count) {
  Mix first = mix;
  first.streams.resize(count);
  return first;
}

std::vector<std::int64_t> MixRun::Latencies(std::uint32_t stream) const {
  std::vector<std::int64_t> rising;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (arrivals[i].stream == stream) rising.push_back(latency_ns[i]);
  }
  std::sort(rising.begin(), rising.end());
  return rising;
}

std::int64_t MixRun::Percentile(std::uint32_t stream, double q) const {
  const std::vector<std::int64_t> rising = Latencies(stream);
  const auto rank = static_cast<std::size_t>(q * static_cast<double>(rising.size()));
  return rising[std::min(rank, rising.size() - 1)];
}

double MixRun::Mean(std::uint32_t stream) const {
  const std::vector<std::int64_t> all = Latencies(stream);
  double sum = 0;
  for (std::int64_t latency : all) sum += static_cast<double>(latency);
  return sum / static_cast<double>(all.size());
}

double MixRun::Offered(std::uint32_t stream) const {
  return static_cast<double>(Latencies(stream).size()) *
         static_cast<double>(TotalWork(mix->streams[stream].graph));
}

double MixRun::Served(std::uint32_t stream) const {
  double requests = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const bool within = arrivals[i].at_ns + latency_ns[i] <= mix->length_ns;
    if (arrivals[i].stream == stream && within) ++requests;
  }
  return requests * static_cast<double>(TotalWork(mix->streams[stream].graph));
}

bool Figure::holds() const {
  switch (side) {
    case Side::kAtMost:
      return value <= bound;
    case Side::kAtLeast:
      return value >= bound;
    case Side::kAbout:
      return std::abs(value - bound) <= 0.15 * bound;
    case Side::kReported:
      return true;
  }
  return false;
}

}  // namespace leeway::testing
