// Mixes of streams that compete for one device, with what queueing and scheduling theory says of
// them beforehand. Tests hold the policies to it, the benchmark prints the table.
//
// Runs in flight are not limited, so that a policy's choice is between steps alone; each stream has
// a graph of its own, and batches hold one request.

#ifndef LEEWAY_TESTS_SUPPORT_MIXES_H_
#define LEEWAY_TESTS_SUPPORT_MIXES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "leeway/policy.h"
#include "leeway/types.h"
#include "tests/support/task_graphs.h"

namespace leeway::testing {

struct MixStream {
  std::string name;
  Priority priority{1};
  TaskGraph graph;
  // Work that it offers, as a share of all cores over the mix's length. Exactly that: a Poisson
  // stream given its number of requests, whose times are then independent and uniform.
  double load = 0;
  // Requests that come at once, a burst at the begin of each of equal periods; 0: one by one.
  std::uint32_t burst = 0;
};

struct Mix {
  std::string name;
  std::uint32_t cores = 4;
  std::int64_t length_ns = 4'000'000'000;  // of the arrivals
  std::int64_t ageing_ns = 100'000'000;
  // Runs in flight; 0: all that have arrived.
  std::uint32_t max_concurrent_runs = 0;
  // Of the DRAM; matters for tasks with bytes, which take 2 ns each on a core alone.
  std::int64_t dram_bytes_per_second = 1'000'000'000;
  std::vector<MixStream> streams;
};

struct MixArrival {
  std::int64_t at_ns = 0;
  std::uint32_t stream = 0;
};

// In order of time. What a stream draws does not depend on the other streams.
std::vector<MixArrival> ArrivalsOf(const Mix& mix, std::uint64_t seed);

struct MixRun {
  const Mix* mix = nullptr;
  std::uint64_t seed = 0;
  Policy policy = Policy::kLeeway;
  std::vector<MixArrival> arrivals;
  std::vector<std::int64_t> latency_ns;  // by arrival
  std::int64_t makespan_ns = 0;

  std::vector<std::int64_t> Latencies(std::uint32_t stream) const;  // rising
  std::int64_t Percentile(std::uint32_t stream, double q) const;
  double Mean(std::uint32_t stream) const;
  // Work of the stream's requests, of all and of those that ended within the mix's length.
  double Offered(std::uint32_t stream) const;
  double Served(std::uint32_t stream) const;
};

// Serves the mix to its end.
MixRun ServeMix(const Mix& mix, Policy policy, std::uint64_t seed);
// Its streams but for the first `count`, left out.
Mix FirstStreams(const Mix& mix, std::size_t count);

struct Figure {
  std::string name;
  double value = 0;
  double bound = 0;
  // kAbout: within 15 % of a mean that theory knows. kReported: of interest, without a bound.
  enum class Side { kAtMost, kAtLeast, kAbout, kReported } side = Side::kReported;

  bool holds() const;
};

struct Scenario {
  Mix mix;
  // What theory says, in one line, and whose it is.
  std::string claim;
  std::function<std::vector<Figure>(const MixRun&)> judge;
  // Policies that the claim is about. Of others the figures are shown.
  std::vector<Policy> bound_to;
  // Whether the first figure, of which less is better, compares policies fairly: the default must
  // then be the best or tie.
  bool fair = true;
};

// Urgent and bulk requests as chains, with forks, with shared bandwidth and with few runs in
// flight; then six more.
std::vector<Scenario> ScenarioPack();

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_SUPPORT_MIXES_H_
