#include <algorithm>

#include "cli/shell_word.h"
#include "cli/simulate_view.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

// Cores that are listed one by one; more are summed up.
constexpr std::size_t kListedCores = 8;
// Padding above this share of core time makes the bucketing study worth a look.
constexpr double kMuchPadding = 0.05;

std::string Ratio(Nanos part, Nanos whole) {
  if (whole.count() == 0) return "–";
  return FormatPercent(static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

std::string Count(std::uint64_t count) { return FormatCount(static_cast<double>(count)); }

std::string Requests(std::uint64_t count) {
  return Counted(static_cast<double>(count), "request", "requests");
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "–";
  return part == whole ? "100 %" : FormatPercent(ShareOf(part, whole));
}

std::string Heading(const SimulateView& view) {
  const SimSummary& summary = view.result.summary();
  return std::string(view.plan.model()) + " on " + std::string(view.device.name()) + ": " +
         Requests(summary.counts.submitted) + " of " + std::string(view.traffic.name()) + " in " +
         FormatSpan(summary.makespan) + ", simulated (uncalibrated)";
}

std::string ManyClamped(const SimSummary& summary) {
  if (ClampedRate(summary) <= kManyClamped) return "";
  return FormatPercent(ClampedRate(summary)) +
         " of the requests had a dimension above the model's domain and were clamped to it: the "
         "figures below are those of shorter requests.";
}

std::vector<std::string> StreamCells(const SimulateView& view, const std::string& name,
                                     const Counts& counts, const LatencyStats& latency,
                                     const LatencyStats& wait) {
  std::vector<std::string> cells = {name, Count(counts.submitted),
                                    Percent(counts.ok, counts.submitted)};
  for (const Nanos value : {latency.p50, latency.p95, latency.p99}) {
    cells.push_back(latency.count > 0 ? FormatDuration(value) : "–");
  }
  cells.push_back(wait.count > 0 ? FormatDuration(wait.mean) : "–");
  if (view.arguments.slo) cells.push_back(Percent(counts.within_slo, counts.submitted));
  return cells;
}

Table StreamTable(const SimulateView& view) {
  const SimSummary& summary = view.result.summary();
  std::vector<std::string> heading = {"stream", "requests", "ok", "p50", "p95", "p99", "mean wait"};
  if (view.arguments.slo) heading.push_back("SLO met");
  Table table(std::move(heading));
  for (const StreamSummary& stream : summary.streams) {
    table.Add(StreamCells(view, stream.name, stream.counts, stream.latency, stream.queue_wait));
  }
  if (summary.streams.size() > 1) {
    table.AddStrong(StreamCells(view, "all", summary.counts, summary.latency, summary.queue_wait));
  }
  return table;
}

// "60 rejected, 3 expired": requests that did not end ok, by what became of them.
std::string NotOk(const Counts& counts) {
  const std::pair<std::uint64_t, const char*> kinds[] = {{counts.rejected, "rejected"},
                                                         {counts.expired, "expired"},
                                                         {counts.cancelled, "cancelled"},
                                                         {counts.failed, "failed"},
                                                         {counts.in_flight, "still in flight"}};
  std::string text;
  for (const auto& [count, kind] : kinds) {
    if (count > 0) text += (text.empty() ? "" : ", ") + Count(count) + " " + kind;
  }
  return text.empty() ? "" : "Not ok: " + text + "\n";
}

std::string SloLine(const SimulateView& view) {
  const std::optional<Objective>& slo = view.arguments.slo;
  const LatencyStats& latency = view.result.summary().latency;
  if (!slo || slo->percentile.empty() || latency.count == 0) return "";
  const Nanos measured = Measured(*slo, latency);
  return "SLO " + slo->percentile + " of " + FormatSpan(slo->latency) +
         (measured <= slo->latency ? " kept: " : " missed: ") + FormatDuration(measured) + "\n";
}

std::string Spoken(Cause cause) {
  std::string name = CauseName(cause);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::vector<std::string> PartCells(std::string name, Nanos mean, Nanos tail,
                                   const MeanAttribution& all, const MeanAttribution& slow) {
  return {std::move(name), FormatDuration(mean), Ratio(mean, all.parts().total()),
          FormatDuration(tail), Ratio(tail, slow.parts().total())};
}

void AddFamily(Table& table, const Family& family, const MeanAttribution& all,
               const MeanAttribution& slow) {
  Nanos mean{0}, tail{0};
  bool any = false;
  for (const Cause cause : family.causes) {
    mean += all.part(cause);
    tail += slow.part(cause);
    any = any || all.part(cause).count() != 0 || slow.part(cause).count() != 0;
  }
  if (!any) return;
  table.AddStrong(PartCells(family.name, mean, tail, all, slow));
  if (family.causes.size() == 1) return;
  for (const Cause cause : family.causes) {
    if (all.part(cause).count() == 0 && slow.part(cause).count() == 0) continue;
    table.Add(PartCells("  " + Spoken(cause), all.part(cause), slow.part(cause), all, slow));
  }
}

std::string Attributed(const SimulateView& view, const Ink& ink) {
  const MeanAttribution all = view.result.tail_mean(0);
  const MeanAttribution slow = view.result.tail_mean(0.99);
  if (all.count() == 0) return "";
  Table table({"where the time went", "mean", "share", "p99 and above", "share"});
  for (const Family& family : Families()) AddFamily(table, family, all, slow);
  table.AddStrong(PartCells("latency", all.parts().total(), slow.parts().total(), all, slow));
  std::string note = "means of " + Requests(all.count()) + " that ended ok, and of the " +
                     Count(slow.count()) + " at and above p99";
  const std::uint64_t missing = view.result.summary().attribution_missing;
  if (missing > 0) note += "; the parts of " + Count(missing) + " more are not known";
  return table.Render(ink) + ink.Faint(Wrapped(note, 0)) + "\n\n";
}

std::string Cores(const SimulateView& view, const Ink& ink) {
  const SimSummary& summary = view.result.summary();
  if (summary.cores.empty()) return "";
  if (summary.cores.size() <= kListedCores) {
    Table table({"core", "busy", "steps", "DRAM"});
    for (const CoreSummary& core : summary.cores) {
      table.Add({core.name, Ratio(core.busy, summary.makespan), Count(core.steps),
                 FormatBytes(static_cast<double>(core.dram_bytes))});
    }
    for (const CoreSummary& host : summary.hosts) {
      table.Add({host.name, Ratio(host.busy, summary.makespan), Count(host.steps), "–"});
    }
    return table.Render(ink) + "\n";
  }
  const auto [least, most] = std::minmax_element(
      summary.cores.begin(), summary.cores.end(),
      [](const CoreSummary& a, const CoreSummary& b) { return a.busy < b.busy; });
  Nanos busy{0};
  for (const CoreSummary& core : summary.cores) busy += core.busy;
  return Wrapped(
             Count(summary.cores.size()) + " cores busy " +
                 Ratio(busy / static_cast<std::int64_t>(summary.cores.size()), summary.makespan) +
                 " on average, from " + Ratio(least->busy, summary.makespan) + " (" + least->name +
                 ") to " + Ratio(most->busy, summary.makespan) + " (" + most->name + ")",
             0) +
         "\n\n";
}

std::string Line(const std::string& name, const std::string& value) {
  constexpr std::size_t kColumn = 15;
  return name + std::string(kColumn - name.size(), ' ') + Wrapped(value, kColumn) + "\n";
}

std::string Energy(const SimSummary& summary) {
  if (summary.energy_origin.empty()) return "not modelled: the device states no power";
  return FormatEnergy(summary.energy_j) + " (" + summary.energy_origin + ")";
}

std::string Heat(const HeatSummary& heat) {
  std::string text = "at most " + FormatNumber(heat.max_watts) + " W";
  if (heat.max_celsius != 0) text += " and " + FormatNumber(heat.max_celsius) + " °C";
  if (heat.throttled == Nanos{0}) return text + ", never throttled";
  return text + ", throttled for " + FormatDuration(heat.throttled) + ", down to " +
         FormatPercent(heat.min_clock) + " of the clock";
}

std::string Facts(const SimSummary& summary) {
  std::string text = Line("Fallback", FormatPercent(summary.fallback_rate) +
                                          " of the requests were in no variant") +
                     Line("Padding waste", FormatPercent(summary.padding_waste) + " of core time") +
                     Line("Goodput", FormatNumber(summary.goodput_rps) + " requests a second") +
                     Line("Steps", Count(summary.steps) + " in " +
                                       Counted(static_cast<double>(summary.runs), "run", "runs") +
                                       ", " + Count(summary.steals) + " stolen");
  if (summary.counts.clamped > 0) {
    text += Line("Clamped",
                 FormatPercent(ClampedRate(summary)) + " of the requests, to the model's domain");
  }
  if (summary.heat) text += Line("Heat", Heat(*summary.heat));
  return text + Line("Energy", Energy(summary));
}

std::string Next(const SimulateView& view) {
  const SimSummary& summary = view.result.summary();
  const TrafficArguments& traffic = view.arguments.traffic;
  if (summary.padding_waste + summary.fallback_rate < kMuchPadding) {
    return "leeway plan show " + ShellWord(view.arguments.plan);
  }
  std::string command = "leeway buckets " + ShellWord(traffic.path);
  if (traffic.options.format != "auto") command += " --format " + traffic.options.format;
  if (!traffic.options.map.empty()) command += " --map " + ShellWord(traffic.options.map);
  return command;
}

}  // namespace

std::string SimulateScreen(const SimulateView& view, const Ink& ink) {
  const SimSummary& summary = view.result.summary();
  std::string text;
  const std::string warning = ManyClamped(summary);
  if (!warning.empty()) text += ink.Warning(Wrapped(warning, 0)) + "\n\n";
  text += ink.Bold(Wrapped(Heading(view), 0)) + "\n\n";
  text += StreamTable(view).Render(ink) +
          ink.Faint("mean wait: from admission until the request's first step") + "\n";
  text += NotOk(summary.counts) + SloLine(view) + "\n";
  text += Attributed(view, ink);
  text += Cores(view, ink);
  text += Facts(summary);
  // To be copied, so not wrapped.
  return text + "Next           " + Next(view) + "\n";
}

}  // namespace leeway::cli
