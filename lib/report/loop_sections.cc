#include "report/loop_sections.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "report/figures.h"
#include "report/loop_reading.h"
#include "report/markdown.h"

namespace leeway::report {
namespace {

// Rows of a table over time; more windows are put together.
constexpr std::size_t kTimeRows = 40;
constexpr std::size_t kActionRows = 200;
constexpr std::size_t kEdges = 16;

double Ratio(Nanos part, Nanos whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::string Share(Nanos part, Nanos whole) {
  return whole.count() > 0 ? Percent(Ratio(part, whole)) : kDash;
}

// before/after − 1, or a dash.
std::string GainOf(Nanos before, Nanos after) {
  return after.count() > 0 ? SignedPercent(Ratio(before, after) - 1) : kDash;
}

std::string Optional(const std::optional<double>& share) { return share ? Percent(*share) : kDash; }

// A point of trace time: "3 d 04:00:00".
std::string At(Instant instant) {
  const std::int64_t seconds = instant.count() / 1'000'000'000;
  const auto two = [](std::int64_t value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  return std::to_string(seconds / 86400) + " d " + two(seconds / 3600 % 24) + ":" +
         two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

std::string Spoken(Cause cause) {
  std::string name = CauseName(cause);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string RangeText(const Range& range) {
  if (range.low == range.high) return Length(range.low);
  return Length(range.low) + "–" + Length(range.high);
}

std::string Edges(const std::vector<std::int64_t>& edges) {
  std::string text;
  for (std::size_t i = 0; i < edges.size() && i < kEdges; ++i) {
    text += (i > 0 ? " " : "") + std::to_string(edges[i]);
  }
  if (edges.size() > kEdges) text += " … (" + std::to_string(edges.size()) + " in all)";
  return text.empty() ? kDash : text;
}

// How windows were put together, if they were.
std::string Grouping(const std::vector<WindowGroup>& groups) {
  const std::uint64_t size = groups.front().windows;
  if (size == 1) return "";
  return "Rows hold " + Count(size) +
         " neighbouring windows each, the last one what is left: work and requests are sums, load "
         "is a mean, accuracy a mean weighted by work, p99 the largest of the windows'. ";
}

std::string OverTime(const LoopSummary& summary) {
  const std::vector<WindowGroup> groups = GroupedWindows(summary, kTimeRows);
  if (groups.empty()) return "";
  MarkdownTable table({"from (trace time)", "requests", "load", "accuracy, frozen",
                       "accuracy, adapted", "gain in work", "clairvoyant's", "p99, frozen",
                       "p99, adapted", "plan", "compiles", "switches"});
  for (const WindowGroup& group : groups) {
    table.Add({At(group.from) + (group.overloaded > 0 ? " \\*" : ""), Count(group.requests),
               Number(group.load), Optional(group.frozen_accuracy),
               Optional(group.adapted_accuracy), GainOf(group.frozen_work, group.adapted_work),
               GainOf(group.frozen_work, group.clairvoyant_work), Latency(group.frozen_p99),
               Latency(group.adapted_p99), std::to_string(group.plan), Count(group.compiles),
               Count(group.switches)});
  }
  std::string text = "### Accuracy against adaptation gain over time\n\n" + Grouping(groups) +
                     "Gain in work is frozen's work over adapted's, less 1. Plan 0 is the first "
                     "window's; the number is that of the plan that served the row's last window.";
  if (summary.overloaded_windows > 0) text += " A star marks rows with an overloaded window.";
  return text + "\n\n" + table.text();
}

// What is told of one arm's accuracy, in the order of the table's rows.
std::vector<std::string> AccuracyCells(const LoopArm& arm) {
  constexpr std::size_t kRows = 12;
  if (!arm.accuracy) return std::vector<std::string>(kRows, kDash);
  const MappingAccuracy& it = *arm.accuracy;
  std::vector<std::string> cells = Apportioned(
      {it.accuracy, it.lost_envelope, it.lost_variant, it.lost_placement, it.lost_cost});
  cells.push_back(Percent(it.accuracy_10));
  cells.push_back(Percent(it.accuracy_25));
  cells.push_back(Percent(it.accuracy_by_steps));
  cells.push_back(Percent(it.cost_error));
  cells.push_back(SignedPercent(it.bias));
  cells.push_back(PercentRange(it.interval));
  cells.push_back(PercentRange(it.over_seeds));
  return cells;
}

std::string AccuracyTable(const LoopSummary& summary) {
  const char* const names[] = {"**mapping accuracy** (within 15 %)",
                               "lost to the envelope: no variant covered it",
                               "lost to the variant: another one ran",
                               "lost to placement: a core that it does not name",
                               "lost to cost: more than 15 % off the prediction",
                               "accuracy within 10 %",
                               "accuracy within 25 %",
                               "accuracy by number of steps",
                               "cost error Σ\\|c − ĉ\\|/Σc",
                               "bias Σ(c − ĉ)/Σĉ",
                               "accuracy within 15 %, 95 % CI over windows",
                               "accuracy within 15 %, least and most over the noise seeds"};
  const std::vector<std::string> columns[] = {AccuracyCells(summary.frozen),
                                              AccuracyCells(summary.adapted),
                                              AccuracyCells(summary.clairvoyant)};
  MarkdownTable table({"share of core time", "frozen", "adapted", "clairvoyant"});
  for (std::size_t row = 0; row < std::size(names); ++row) {
    table.Add({names[row], columns[0][row], columns[1][row], columns[2][row]});
  }
  return table.text();
}

std::string LengthsOverTime(const LoopSummary& summary) {
  const std::vector<WindowGroup> groups = GroupedWindows(summary, kTimeRows);
  if (groups.empty()) return "";
  MarkdownTable table({"from (trace time)", "requests", "median", "p95"});
  for (const WindowGroup& group : groups) {
    table.Add(
        {At(group.from), Count(group.requests), RangeText(group.median), RangeText(group.p95)});
  }
  std::string text = "Lengths of " + Escaped(summary.dim) + " that came";
  if (groups.front().windows > 1)
    text += "; of several windows in a row, from the least to the most";
  return text + ":\n\n" + table.text();
}

std::string Bullets(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "- " + Escaped(line) + "\n";
  return text + "\n";
}

}  // namespace

std::string TailSection(const LoopSummary& summary) {
  const LoopTail* before = FindTail(summary.frozen, 0.99);
  const LoopTail* after = FindTail(summary.adapted, 0.99);
  if (before == nullptr || after == nullptr) return "";
  const Nanos total_before = before->mean.total(), total_after = after->mean.total();
  MarkdownTable table({"cause", "family", "frozen", "share", "adapted", "share", "change"});
  for (const CauseChange& row : Changes(before->mean, after->mean)) {
    table.Add({Spoken(row.cause), FamilyName(row.cause), Duration(row.before),
               Share(row.before, total_before), Duration(row.after), Share(row.after, total_after),
               SignedDuration(row.change())});
  }
  table.Add({"**latency**", "", Duration(total_before), "", Duration(total_after), "",
             SignedDuration(total_after - total_before)});
  return "## Why p99 moved\n\nMean parts of the " + Count(before->requests) +
         " requests at and above frozen's p99, and of the " + Count(after->requests) +
         " at and above adapted's, the largest change first. Each request's parts add up to its "
         "latency in integer nanoseconds; the sums below are the mean latencies of those requests, "
         "which lie above the percentile itself. Batching lasts until a request's batch closes, "
         "and a batch "
         "closes when a run is free: under load it is waiting for capacity.\n\n" +
         table.text();
}

std::string AccuracySection(const LoopSummary& summary) {
  return "## Mapping accuracy\n\nShare of core time that ran as the plan mapped it and as long as "
         "it predicted. What failed is counted at the first check it failed, in the order of the "
         "rows, so the first five rows add up to 100 %.\n\n" +
         AccuracyTable(summary) + OverTime(summary);
}

std::string ShapesSection(const LoopSummary& summary) {
  std::string text = "## Shapes, planned and observed\n\n";
  if (!summary.frozen_buckets.empty()) {
    MarkdownTable table({"up to " + Escaped(summary.dim), "planned", "observed", "change"});
    double planned = 0, observed = 0;
    for (const LoopBucket& bucket : summary.frozen_buckets) {
      table.Add({Length(bucket.edge), Percent(bucket.planned), Percent(bucket.observed),
                 SignedPercent(bucket.observed - bucket.planned)});
      planned += bucket.planned;
      observed += bucket.observed;
    }
    const double beyond_planned = std::max(0.0, 1 - planned);
    const double beyond_observed = std::max(0.0, 1 - observed);
    table.Add({"longer (fallback)", Percent(beyond_planned), Percent(beyond_observed),
               SignedPercent(beyond_observed - beyond_planned)});
    text +=
        "Shares of requests in the frozen plan's buckets: of the first window, which it was "
        "fitted to, and of the scored windows. Changes are differences of shares.\n\n" +
        table.text();
  }
  return text + LengthsOverTime(summary);
}

std::string ActionsSection(const LoopSummary& summary) {
  std::string text = "## Actions\n\n" + Counted(summary.compiles, "compile", "compiles") + " and " +
                     Counted(summary.switches, "switch", "switches") +
                     ". Expected is the gain in work on the window just closed, observed that on "
                     "the windows the plan then served.\n\n";
  if (summary.actions.empty()) return text;
  MarkdownTable table(
      {"action", "at (trace time)", "window", "plan", "edges", "expected", "observed"});
  const std::size_t shown = std::min(summary.actions.size(), kActionRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const LoopAction& action = summary.actions[i];
    table.Add({action.kind == LoopAction::Kind::kCompile ? "compile" : "switch", At(action.at),
               std::to_string(action.window), std::to_string(action.plan), Edges(action.edges),
               SignedPercent(action.expected_gain), SignedPercent(action.observed_gain)});
  }
  text += table.text();
  if (shown < summary.actions.size()) {
    text += Count(summary.actions.size() - shown) + " more are in the JSON form.\n\n";
  }
  return text;
}

std::string FormationSection(const LoopSummary& summary) {
  if (summary.formation.empty()) return "";
  MarkdownTable table({"batches", "p50", "p99", "throughput", "padding", "fallbacks", "runs"});
  for (const LoopFormation& formation : summary.formation) {
    table.Add({Escaped(formation.name), Latency(formation.p50), Latency(formation.p99),
               Number(formation.throughput_rps) + " requests/s", Percent(formation.padding_share),
               Count(formation.fallbacks), Count(formation.runs)});
  }
  return "## Batch formation by itself\n\nThe adapted plans on the fixed sample, batched by bucket "
         "and in order of arrival. Percentiles are at the load of the experiment; throughput, "
         "padding (of the work of what ran in a variant: what batch mates and buckets pad), "
         "requests left to the fallback and runs are of all requests due at once, so that batches "
         "fill.\n\n" +
         table.text();
}

std::string SweepSection(const LoopSummary& summary) {
  if (summary.sweep.empty()) return "";
  MarkdownTable table({"load", "rate", "p99, frozen", "p99, adapted", "p99, clairvoyant", "gain"});
  for (const LoopSweepPoint& point : summary.sweep) {
    const bool both = IsLatency(point.frozen_p99) && IsLatency(point.adapted_p99);
    table.Add({Shortest(point.load), Number(point.rate_rps) + " requests/s",
               Latency(point.frozen_p99), Latency(point.adapted_p99),
               Latency(point.clairvoyant_p99),
               both ? GainOf(point.frozen_p99, point.adapted_p99) : kDash});
  }
  return "## Load sweep\n\nThe fixed sample at other offered loads, in shares of what the frozen "
         "plan gets through.\n\n" +
         table.text();
}

std::string ContradictionsSection(const LoopSummary& summary) {
  if (summary.contradictions.empty()) {
    return "## Contradictions\n\nNone of the checks found one.\n\n";
  }
  return "## Contradictions\n\n" + Bullets(summary.contradictions);
}

std::string OverloadSection(const LoopSummary& summary) {
  if (summary.overloaded_windows == 0) return "";
  MarkdownTable table({"from (trace time)", "requests", "load", "gain in work"});
  std::uint64_t left = summary.overloaded_windows;
  for (const LoopWindow& window : summary.windows) {
    if (!window.overloaded || left + kTimeRows == summary.overloaded_windows) continue;
    table.Add({At(window.from), Count(window.requests), Number(window.load),
               GainOf(window.frozen_work, window.adapted_work)});
    --left;
  }
  std::string text = "## Overloaded windows\n\n" +
                     Counted(summary.overloaded_windows, "window", "windows") +
                     " had an offered load above 0.95 under the frozen plan, or left more than "
                     "5 % of its requests unfinished one window later in some arm. Percentiles "
                     "leave them out: there, capacity is what is missing.\n\n" +
                     table.text();
  if (left > 0) text += Count(left) + " more are in the JSON form.\n\n";
  return text;
}

std::string SettingSection(const LoopSummary& summary) {
  const std::pair<std::string, std::string> rows[] = {
      {"model", Escaped(summary.model)},
      {"device", Escaped(summary.device)},
      {"traffic", Escaped(summary.traffic)},
      {"dimension with buckets", Escaped(summary.dim)},
      {"requests drawn or read", Count(summary.requests)},
      {"requests served by each arm", Count(summary.scored_requests)},
      {"span", Span(summary.span)},
      {"windows", Count(ScoredWindows(summary)) + " scored, of " + Span(summary.window) +
                      ", neighbours merged where they hold too few requests"},
      {"variants a plan", Number(summary.variants) + ", the fallback not counted"},
      {"fallback φ", Shortest(summary.phi)},
      {"fallback, as measured on the serving device",
       summary.fallback_stretch > 0 ? Number(summary.fallback_stretch) + " times a fused run" : ""},
      {"time to compile", Span(summary.compile_time) + " of trace time"},
      {"offered load",
       Shortest(summary.load) + " of the frozen plan's throughput, " + Escaped(summary.rate)},
      {"trace time / device time", Number(summary.time_compression)},
      {"latency objective", Latency(summary.slo)},
      {"clamped to the domain", Percent(summary.clamped_rate) + " of the requests"},
      {"device against its model", Escaped(summary.reality)},
      {"seed", std::to_string(summary.seed)},
      {"origin of every figure", "simulated (uncalibrated)"},
      {"digest of the model", Escaped(summary.digests.model)},
      {"digest of the device", Escaped(summary.digests.device)},
      {"digest of the traffic", Escaped(summary.digests.traffic)},
      {"digest of the frozen plan", Escaped(summary.digests.frozen_plan)},
      {"digest of the adapted plan", Escaped(summary.digests.adapted_plan)},
      {"digest of frozen's telemetry", Escaped(summary.frozen.telemetry_digest)},
      {"digest of adapted's telemetry", Escaped(summary.adapted.telemetry_digest)}};
  MarkdownTable table({"what", "value"});
  for (const auto& [name, value] : rows) table.Add({name, value.empty() ? kDash : value});
  std::string text = "## What was run\n\n" + table.text();
  if (!summary.notes.empty()) text += "Notes:\n\n" + Bullets(summary.notes);
  return text;
}

std::string LimitsSection() {
  MarkdownTable table({"figure", "tells", "does not prove"});
  table.Add({"latencies, energy, capacity",
             "what the device model and the scheduler's own code make of these arrivals",
             "what hardware does: the device model was not calibrated against a measurement"});
  table.Add({"work, captured",
             "what plans cost on equal requests, against the best that as many variants could do",
             "latency: a plan of less work may have a longer tail, and the clairvoyant's tail is "
             "no bound"});
  table.Add({"headroom", "whether a plan that knew each window would be worth having at all",
             "that a policy without that knowledge reaches it"});
  table.Add({"intervals", "how much the figure moves when blocks of windows are drawn again",
             "anything about other traffic, other seeds of the noise or another device"});
  table.Add({"mapping accuracy", "how far served steps depart from what the plan said",
             "an error of a real compiler: the departure is seeded noise of a stated spread"});
  table.Add({"why p99 moved", "which parts of the slowest requests' latency changed",
             "cause by intervention: no part was removed by itself and served again"});
  table.Add(
      {"expected gain of an action", "what the policy went by", "what the next window brings"});
  return "## What the figures do not prove\n\n" + table.text();
}

}  // namespace leeway::report
