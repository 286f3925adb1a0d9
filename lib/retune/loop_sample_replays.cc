#include "retune/loop_sample_replays.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"

namespace leeway::retune {
namespace {

using Formation = ReplayRequest::Formation;

// Nearest rank; latencies of requests that did not end OK are the longest.
Nanos PercentileOf(std::vector<Nanos> latencies, double q) {
  if (latencies.empty()) return Nanos{0};
  const std::uint64_t rank = base::NearestRank(q, latencies.size());
  const auto at = latencies.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(latencies.begin(), at, latencies.end());
  return *at;
}

}  // namespace

SampleReplays::SampleReplays(Setting setting, LoopSummary& summary)
    : setting_(std::move(setting)),
      summary_(summary),
      sample_(setting_.traffic.windows, setting_.options.load.sample,
              base::Prng(setting_.options.seed).Fork("loop sample").Next()) {
  double seconds = 0;
  for (std::size_t w = 1; w < sample_.windows(); ++w) {
    seconds += static_cast<double>(sample_.of_window(w)) / setting_.traffic.throughput[w] * 1e-9;
  }
  saturated_rps_ = static_cast<double>(sample_.size()) / seconds;
  for (const double load : setting_.options.load.sweep) {
    summary_.sweep.push_back({load, load * saturated_rps_, {}, {}, {}});
  }
  for (const char* name : {"by bucket", "first come"}) {
    summary_.formation.emplace_back().name = name;
  }
}

std::size_t SampleReplays::tasks() const {
  return kArms + kArms * summary_.sweep.size() + kAblation;
}

std::uint64_t SampleReplays::requests() const {
  return sample_.size() * (kArms * (Capacity::kReplays + summary_.sweep.size()) + kAblation);
}

Status SampleReplays::Run(std::size_t task) {
  if (task < kArms) {
    LEEWAY_ASSIGN_OR_RETURN(capacity_[task],
                            Capacity::Measure(sample_, setting_.plans[task], summary_.slo,
                                              setting_.replay, setting_.base));
    return Status();
  }
  task -= kArms;
  if (task < kArms * summary_.sweep.size()) {
    return Sweep(summary_.sweep[task / kArms], task % kArms);
  }
  task -= kArms * summary_.sweep.size();
  // The two replays of a kind run side by side: each writes fields of its own.
  LoopFormation& formation = summary_.formation[task / 2];
  const Formation kind = task / 2 == 0 ? Formation::kByBucket : Formation::kFirstCome;
  return task % 2 == 0 ? Form(formation, kind) : FormAtOnce(formation, kind);
}

void SampleReplays::Finish() {
  const std::uint64_t seed = setting_.options.seed;
  LoopArm* const arms[] = {&summary_.frozen, &summary_.adapted, &summary_.clairvoyant};
  for (std::size_t a = 0; a < kArms; ++a) arms[a]->capacity_rps = capacity_[a].figure(seed);
  summary_.gain.capacity = Capacity::Gain(capacity_[0], capacity_[1], seed);
}

Result<ReplayOutcome> SampleReplays::Replayed(const Sample::Timed& timed, Formation kind) const {
  ReplayRequest request = setting_.base;
  request.formation = kind;
  request.requests = timed.requests;
  request.plans = timed.plans;
  return setting_.replay(request);
}

Status SampleReplays::Sweep(LoopSweepPoint& point, std::size_t arm) const {
  Nanos* const p99[] = {&point.frozen_p99, &point.adapted_p99, &point.clairvoyant_p99};
  const Sample::Timed timed = sample_.At(point.rate_rps, setting_.plans[arm]);
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, Replayed(timed, Formation::kByBucket));
  *p99[arm] = PercentileOf(outcome.latencies, 0.99);
  return Status();
}

// The adapted plans at the load of the experiment.
Status SampleReplays::Form(LoopFormation& formation, Formation kind) const {
  const Sample::Timed timed =
      sample_.At(setting_.options.load.load * saturated_rps_, setting_.plans[1]);
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, Replayed(timed, kind));
  formation.p50 = PercentileOf(outcome.latencies, 0.50);
  formation.p99 = PercentileOf(outcome.latencies, 0.99);
  return Status();
}

// The adapted plans with all requests due at once, so that batches fill.
Status SampleReplays::FormAtOnce(LoopFormation& formation, Formation kind) const {
  const Sample::Timed timed = sample_.AtOnce(setting_.plans[1]);
  LEEWAY_ASSIGN_OR_RETURN(const ReplayOutcome outcome, Replayed(timed, kind));
  formation.runs = outcome.summary.runs;
  formation.throughput_rps = ThroughputOf(outcome);
  double useful = 0, padded = 0;
  for (std::size_t i = 0; i < timed.requests.size(); ++i) {
    if (outcome.padded[i] == 0) {
      ++formation.fallbacks;
      continue;
    }
    useful += static_cast<double>(setting_.curve(timed.requests[i].length).count());
    padded += static_cast<double>(setting_.curve(outcome.padded[i]).count());
  }
  formation.padding_share = padded > 0 ? 1 - useful / padded : 0;
  return Status();
}

}  // namespace leeway::retune
