#include "retune/loop_summary.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/math.h"
#include "device/reality.h"
#include "retune/block_bootstrap.h"
#include "retune/mapping_accuracy.h"
#include "retune/percent.h"

namespace leeway::retune {
namespace {

constexpr double kUnfinished = 0.05;
constexpr double kFewestExceedances = 30;
constexpr double kManyClamped = 0.05;
// How far beyond phi the fallback may be before that is worth a word.
constexpr double kStretched = 1.2;

double Ratio(double above, double below) { return below > 0 ? above / below : 0; }

// The device as it is; null where it is as modelled.
std::unique_ptr<device::Reality> RealityOf(const LoopReality& reality) {
  if (reality.kind == LoopReality::Kind::kExact) return nullptr;
  return std::make_unique<device::Reality>(
      device::RealityNoise{reality.seed, reality.per_operator, reality.per_size});
}

class Summariser {
 public:
  Summariser(const ServedTraffic& traffic, const LoopArms& arms, const ArmOutcomes& outcomes,
             const LoopOptions& options, LoopSummary& summary)
      : traffic_(traffic),
        arms_(arms),
        outcomes_(outcomes),
        options_(options),
        reality_(RealityOf(options.reality)),
        summary_(summary) {
    for (std::size_t w = 1; w < traffic.windows.size(); ++w) {
      if (!summary.windows[w].overloaded) usable_.push_back(w - 1);
    }
  }

  void Run() {
    const std::pair<const ArmWork*, LoopArm*> all[] = {{&arms_.frozen, &summary_.frozen},
                                                       {&arms_.adapted, &summary_.adapted},
                                                       {&arms_.clairvoyant, &summary_.clairvoyant}};
    for (std::size_t a = 0; a < outcomes_.size(); ++a) {
      SummariseArm(*all[a].first, outcomes_[a], *all[a].second);
    }
    SummariseGains();
    for (std::size_t w = 0; w < traffic_.windows.size(); ++w) SummariseWindow(w);
    SummariseBuckets();
  }

 private:
  std::size_t scored() const { return traffic_.windows.size() - 1; }

  // Of all scored windows.
  WindowedLatencies LatenciesOf(const ReplayOutcome& outcome) const {
    std::vector<WindowedLatency> ended;
    for (std::size_t i = 0; i < traffic_.requests.size(); ++i) {
      if (outcome.latencies[i] == Nanos::max()) continue;
      ended.push_back({traffic_.window_of[i] - 1, outcome.latencies[i]});
    }
    return WindowedLatencies(scored(), std::move(ended));
  }

  // Windows that no arm was overloaded in, as often as `draw` says.
  Multiplicities Usable(const Multiplicities& draw) const {
    Multiplicities all(scored(), 0);
    for (std::size_t i = 0; i < usable_.size(); ++i) all[usable_[i]] = draw[i];
    return all;
  }

  // Of the windows that count.
  std::vector<LoopTail> TailsOf(const ReplayOutcome& outcome) const {
    telemetry::TailProfile all;
    for (const std::size_t w : usable_) {
      if (w + 1 < outcome.tails.size()) all.Merge(outcome.tails[w + 1]);
    }
    std::vector<LoopTail> tails;
    for (const double q : {0.0, 0.95, 0.99}) {
      const telemetry::TailProfile::Tail tail = all.TailFrom(q);
      if (tail.count > 0) tails.push_back({q, tail.count, tail.mean()});
    }
    return tails;
  }

  void SummariseArm(const ArmWork& work, const ReplayOutcome& outcome, LoopArm& arm);
  void SummariseGains();
  void SummariseWindow(std::size_t w);
  void SummariseBuckets();
  std::optional<double> AccuracyIn(const ReplayOutcome& outcome, std::size_t w) const;

  const ServedTraffic& traffic_;
  const LoopArms& arms_;
  const ArmOutcomes& outcomes_;
  const LoopOptions& options_;
  std::unique_ptr<device::Reality> reality_;
  LoopSummary& summary_;
  std::vector<std::size_t> usable_;           // of the scored windows
  std::vector<WindowedLatencies> latencies_;  // by arm
};

void Summariser::SummariseArm(const ArmWork& work, const ReplayOutcome& outcome, LoopArm& arm) {
  const SimSummary& ran = outcome.summary;
  arm.name = work.name;
  arm.work = ToNanos(work.total());
  arm.submitted = ran.counts.submitted;
  arm.ok = ran.counts.ok;
  arm.runs = ran.runs;
  arm.steps = ran.steps;
  arm.energy_j = ran.energy_j;
  arm.padding_waste = work.waste();
  arm.tails = TailsOf(outcome);
  arm.telemetry_digest = outcome.telemetry_digest;
  double fallbacks = 0;
  for (double count : work.fallback) fallbacks += count;
  arm.fallback_rate = Ratio(fallbacks, static_cast<double>(arm.submitted));
  const auto within =
      static_cast<double>(std::count_if(outcome.latencies.begin(), outcome.latencies.end(),
                                        [this](Nanos latency) { return latency <= summary_.slo; }));
  arm.slo_attainment = Ratio(within, static_cast<double>(arm.submitted));
  arm.goodput_rps = Ratio(within, static_cast<double>(ran.makespan.count()) * 1e-9);
  const WindowedLatencies& latencies = latencies_.emplace_back(LatenciesOf(outcome));
  const Multiplicities usable = Usable(Multiplicities(usable_.size(), 1));
  arm.p50 = latencies.Percentile(0.50, usable);
  arm.p95 = latencies.Percentile(0.95, usable);
  arm.p99 = latencies.Percentile(0.99, usable);
  arm.mean = ToNanos(latencies.Mean(usable));
  arm.accuracy = AccuracyOf(outcome.executed, reality_.get());
  if (arm.accuracy) {
    arm.accuracy->interval =
        AccuracyInterval(outcome.executed, reality_.get(), scored(), options_.seed);
  }
  if (arm.accuracy && reality_) {
    arm.accuracy->over_seeds =
        AccuracyRange(outcome.executed, reality_->noise(), options_.reality.seeds);
  }
  arm.fallback_time = FallbackTime(outcome.executed, reality_.get());
}

// Paired by window: both arms met the same requests in it.
void Summariser::SummariseGains() {
  const std::pair<double, std::optional<LoopFigure>*> figures[] = {
      {0.50, &summary_.gain.p50}, {0.95, &summary_.gain.p95}, {0.99, &summary_.gain.p99}};
  for (const auto& [q, figure] : figures) {
    auto gain = [&, q = q](const Multiplicities& draw) {
      const Multiplicities windows = Usable(draw);
      const auto before = static_cast<double>(latencies_[0].Percentile(q, windows).count());
      const auto after = static_cast<double>(latencies_[1].Percentile(q, windows).count());
      return after > 0 ? before / after - 1 : 0;
    };
    double requests = 0, after = 0;
    for (std::size_t w : usable_) {
      requests += static_cast<double>(latencies_[0].count(w));
      after += static_cast<double>(latencies_[1].count(w));
    }
    if (requests == 0 || after == 0) continue;
    figure->emplace(LoopFigure{gain(Multiplicities(usable_.size(), 1)), std::nullopt});
    if ((1 - q) * requests < kFewestExceedances) continue;
    if (const auto interval = BootstrapInterval(usable_.size(), options_.seed, gain)) {
      (*figure)->interval.emplace(interval->low, interval->high);
    }
  }
}

std::optional<double> Summariser::AccuracyIn(const ReplayOutcome& outcome, std::size_t w) const {
  auto before = [](const telemetry::ExecutedSteps& steps, std::size_t window) {
    return steps.window < window;
  };
  const auto& executed = outcome.executed;
  const auto first = std::lower_bound(executed.begin(), executed.end(), w - 1, before);
  const auto last = std::lower_bound(first, executed.end(), w, before);
  const auto accuracy = AccuracyOf(std::span(first, last), reality_.get());
  if (!accuracy) return std::nullopt;
  return accuracy->accuracy;
}

void Summariser::SummariseWindow(std::size_t w) {
  LoopWindow& window = summary_.windows[w];
  const LengthHistogram lengths = LengthsOf(traffic_.windows[w].requests).lengths;
  window.median = LengthAt(lengths, 0.5);
  window.p95 = LengthAt(lengths, 0.95);
  window.plan = arms_.adaptation.plan_of[w];
  if (w == 0) return;
  window.frozen_work = ToNanos(arms_.frozen.work[w]);
  window.adapted_work = ToNanos(arms_.adapted.work[w]);
  window.clairvoyant_work = ToNanos(arms_.clairvoyant.work[w]);
  window.cross_fitted_work = ToNanos(arms_.cross_fitted[w]);
  Multiplicities only(scored(), 0);
  only[w - 1] = 1;
  window.frozen_p99 = latencies_[0].Percentile(0.99, only);
  window.adapted_p99 = latencies_[1].Percentile(0.99, only);
  window.frozen_accuracy = AccuracyIn(outcomes_[0], w);
  window.adapted_accuracy = AccuracyIn(outcomes_[1], w);
}

void Summariser::SummariseBuckets() {
  const LengthHistogram planned = LengthsOf(traffic_.windows.front().requests).lengths.Normalised();
  const LengthHistogram observed = LengthsOf(traffic_.requests).lengths.Normalised();
  std::int64_t below = 0;
  for (std::int64_t edge : arms_.frozen.edges.front()) {
    auto share = [&](const LengthHistogram& lengths) {
      double sum = 0;
      for (const LengthWeight& entry : lengths) {
        if (entry.length > below && entry.length <= edge) sum += entry.weight;
      }
      return sum;
    };
    summary_.frozen_buckets.push_back({edge, share(planned), share(observed)});
    below = edge;
  }
}

// The outcomes in which `arm` is better than the clairvoyant, in words.
std::string BetterThan(const LoopArm& clairvoyant, const LoopArm& arm) {
  std::vector<std::string> better;
  const std::pair<const char*, Nanos LoopArm::*> latencies[] = {{"p50", &LoopArm::p50},
                                                                {"p95", &LoopArm::p95},
                                                                {"p99", &LoopArm::p99},
                                                                {"mean", &LoopArm::mean}};
  for (const auto& [name, latency] : latencies) {
    if (arm.*latency < clairvoyant.*latency) better.push_back(name);
  }
  if (arm.energy_j < clairvoyant.energy_j) better.push_back("energy");
  if (arm.capacity_rps && clairvoyant.capacity_rps &&
      arm.capacity_rps->value > clairvoyant.capacity_rps->value) {
    better.push_back("capacity");
  }
  return absl::StrJoin(better, ", ");
}

}  // namespace

void MarkOverloads(const ServedTraffic& traffic, const ArmOutcomes& outcomes,
                   LoopSummary& summary) {
  for (const ReplayOutcome& outcome : outcomes) {
    std::vector<std::uint64_t> unfinished(traffic.windows.size(), 0);
    for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
      const std::size_t w = traffic.window_of[i];
      const Nanos length = traffic.ends[w] - traffic.windows[w].from;
      const Nanos left = traffic.ends[w] - traffic.requests[i].at + length;
      if (outcome.latencies[i] > left) ++unfinished[w];
    }
    for (std::size_t w = 1; w < traffic.windows.size(); ++w) {
      const auto held = static_cast<double>(traffic.windows[w].requests.size());
      if (static_cast<double>(unfinished[w]) > kUnfinished * held) {
        summary.windows[w].overloaded = true;
      }
    }
  }
  for (const LoopWindow& window : summary.windows) {
    if (window.overloaded) ++summary.overloaded_windows;
  }
}

void SummariseOutcomes(const ServedTraffic& traffic, const LoopArms& arms,
                       const ArmOutcomes& outcomes, const LoopOptions& options,
                       LoopSummary& summary) {
  Summariser(traffic, arms, outcomes, options, summary).Run();
}

void FindContradictions(LoopSummary& summary) {
  auto say = [&](std::string what) { summary.contradictions.push_back(std::move(what)); };
  const LoopArm& frozen = summary.frozen;
  const LoopArm& adapted = summary.adapted;
  if (summary.clamped_rate > kManyClamped) {
    say(absl::StrCat(Percent(summary.clamped_rate),
                     " of the requests are outside the model's domain and were clamped to it"));
  }
  const bool saved = adapted.work < frozen.work;
  if (saved && adapted.p99 > frozen.p99) say("work fell but p99 rose when adapted");
  if (saved && adapted.p95 > frozen.p95) say("work fell but p95 rose when adapted");
  if (saved && adapted.energy_j > frozen.energy_j) say("work fell but energy rose when adapted");
  if (saved && summary.gain.capacity && summary.gain.capacity->value < 0) {
    say("work fell but the capacity at the SLO fell too when adapted");
  }
  const auto say_better = [&](const std::string& who, const std::string& better) {
    if (better.empty()) return;
    say(absl::StrCat(who, " a better ", better,
                     " than the clairvoyant, which bounds work and nothing else"));
  };
  const std::string frozen_better = BetterThan(summary.clairvoyant, frozen);
  const std::string adapted_better = BetterThan(summary.clairvoyant, adapted);
  if (frozen_better == adapted_better) {
    say_better("both arms have", frozen_better);
  } else {
    say_better("frozen has", frozen_better);
    say_better("adapted has", adapted_better);
  }
  if (saved && frozen.accuracy && adapted.accuracy &&
      adapted.accuracy->accuracy < frozen.accuracy->accuracy - 0.01) {
    say("the mapping is less accurate when adapted, although it needs less work");
  }
  if (summary.fallback_stretch > kStretched * summary.phi &&
      adapted.fallback_time > frozen.fallback_time) {
    say(absl::StrCat("the fallback takes ", std::round(summary.fallback_stretch * 10) / 10,
                     " times what fused runs take on this device, and work counts it ", summary.phi,
                     " times: the adapted plans leave more to it (", Percent(adapted.fallback_time),
                     " of core time, frozen ", Percent(frozen.fallback_time),
                     ") than the tail can bear; a higher phi covers more"));
  }
  if (summary.overloaded_windows > 0) {
    say(absl::StrCat(summary.overloaded_windows, " of ", summary.windows.size() - 1,
                     summary.overloaded_windows == 1 ? " windows is" : " windows are",
                     " overloaded and left out of the percentiles: what is missing there is "
                     "capacity, whatever the mapping"));
  }
}

}  // namespace leeway::retune
