#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "cli/loop_view.h"
#include "cli/shell_word.h"
#include "cli/simulate_view.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

using Verdict = LoopHeadroom::Verdict;

constexpr char kDash[] = "–";
// Causes that are named one by one.
constexpr std::size_t kNamedCauses = 5;

std::string Count(std::uint64_t count) { return FormatCount(static_cast<double>(count)); }

std::string Retunes(const LoopSummary& summary) {
  return Counted(static_cast<double>(summary.compiles), "compile", "compiles") + ", " +
         Counted(static_cast<double>(summary.switches), "switch", "switches");
}

// Of no request, or where too many did not end ok, there is none.
std::string Latency(Nanos latency) {
  return latency > Nanos{0} && latency < Nanos::max() ? FormatDuration(latency) : kDash;
}

std::string Signed(Nanos change) {
  const std::string size = FormatDuration(std::chrono::abs(change));
  return change.count() == 0 ? size : (change.count() < 0 ? "−" : "+") + size;
}

std::string PerSecond(const std::optional<LoopFigure>& rate) {
  return rate ? FormatNumber(rate->value) + "/s" : "none";
}

std::string Range(const std::pair<double, double>& range) {
  return FormatPercent(range.first, 1) + " to " + FormatPercent(range.second, 1);
}

std::string Signed1(double fraction) {
  const std::string text = FormatPercent(fraction, 1);
  return (fraction > 0 && text != "0.0 %" ? "+" : "") + text;
}

std::string Interval(const LoopFigure& figure) {
  if (!figure.interval) return kDash;
  return "[" + Signed1(figure.interval->first) + ", " + Signed1(figure.interval->second) + "]";
}

std::string Line(const std::string& name, const std::string& value) {
  constexpr std::size_t kColumn = 18;
  return name + std::string(kColumn - name.size(), ' ') + Wrapped(value, kColumn) + "\n";
}

// What stands before everything else, if anything must.
std::string Caveat(const LoopSummary& summary, const Ink& ink) {
  std::string text;
  if (summary.clamped_rate > kManyClamped) {
    text += ink.Warning(Wrapped(FormatPercent(summary.clamped_rate) +
                                    " of the requests had a dimension outside the model's domain "
                                    "and were clamped to it: the figures below are those of other "
                                    "requests.",
                                0)) +
            "\n\n";
  }
  if (summary.headroom.verdict == Verdict::kPresent) return text;
  const LoopFigure& gain = summary.headroom.gain;
  std::string gained = "a clairvoyant would gain " + FormatPercent(gain.value);
  if (gain.interval) gained += " (95 % CI " + Interval(gain) + ")";
  const std::uint64_t retunes = summary.compiles + summary.switches;
  gained += ". " + Counted(static_cast<double>(retunes), "retune", "retunes") +
            (retunes > 0 ? " (" + Retunes(summary) + ")." : ".");
  const std::string verdict = summary.headroom.verdict == Verdict::kNone
                                  ? "No headroom: "
                                  : "Too few windows to judge: in those there were, ";
  return text + ink.Bold(Wrapped(verdict + gained, 0)) + "\n\n";
}

std::string Heading(const LoopSummary& summary) {
  return summary.model + " on " + summary.device + ": " +
         Counted(static_cast<double>(summary.requests), "request", "requests") + " of " +
         summary.traffic + " over " + FormatSpan(summary.span) + ", simulated (uncalibrated)";
}

std::string Setting(const LoopSummary& summary) {
  const std::size_t scored = static_cast<std::size_t>(
      std::count_if(summary.windows.begin(), summary.windows.end(),
                    [](const LoopWindow& window) { return window.requests > 0; }));
  // Merged windows are longer than what was asked for.
  const Nanos first = summary.windows.empty()
                          ? summary.window
                          : summary.windows.front().to - summary.windows.front().from;
  return Counted(summary.variants, "variant", "variants") + " over " + summary.dim +
         ", fitted to the first window of " + FormatSpan(first) + "; " +
         Count(summary.scored_requests) + " requests in " +
         Counted(static_cast<double>(scored), "later window", "later windows") +
         ", served three ways at a " + summary.rate + " load of " + FormatShortest(summary.load) +
         "; SLO p99 " + Latency(summary.slo) + "; device: " + summary.reality;
}

std::vector<std::string> LatencyCells(const std::string& name, const LoopSummary& summary,
                                      Nanos LoopArm::*latency,
                                      const std::optional<LoopFigure>& gain) {
  return {name,
          Latency(summary.frozen.*latency),
          Latency(summary.adapted.*latency),
          Latency(summary.clairvoyant.*latency),
          gain ? FormatSignedPercent(gain->value) : kDash,
          gain ? Interval(*gain) : ""};
}

std::vector<std::string> ShareCells(const std::string& name, const LoopSummary& summary,
                                    double LoopArm::*share) {
  return {name,
          FormatPercent(summary.frozen.*share),
          FormatPercent(summary.adapted.*share),
          FormatPercent(summary.clairvoyant.*share),
          "",
          ""};
}

Table ArmTable(const LoopSummary& summary) {
  const LoopGain& gain = summary.gain;
  Table table({"", "frozen", "adapted", "clairvoyant", "gain", "95 % CI"});
  table.AddStrong(LatencyCells("p99", summary, &LoopArm::p99, gain.p99));
  table.Add(LatencyCells("p95", summary, &LoopArm::p95, gain.p95));
  table.Add(LatencyCells("p50", summary, &LoopArm::p50, gain.p50));
  table.Add(ShareCells("SLO met", summary, &LoopArm::slo_attainment));
  if (summary.frozen.capacity_rps || summary.adapted.capacity_rps) {
    table.Add({"capacity", PerSecond(summary.frozen.capacity_rps),
               PerSecond(summary.adapted.capacity_rps), PerSecond(summary.clairvoyant.capacity_rps),
               gain.capacity ? FormatSignedPercent(gain.capacity->value) : kDash,
               gain.capacity ? Interval(*gain.capacity) : ""});
  }
  table.Add(LatencyCells("work", summary, &LoopArm::work, gain.work));
  table.Add(ShareCells("padding", summary, &LoopArm::padding_waste));
  table.Add(ShareCells("fallback", summary, &LoopArm::fallback_rate));
  if (summary.frozen.energy_j > 0) {
    table.Add({"energy", FormatEnergy(summary.frozen.energy_j),
               FormatEnergy(summary.adapted.energy_j), FormatEnergy(summary.clairvoyant.energy_j),
               "", ""});
  }
  return table;
}

std::string NotOk(const LoopSummary& summary) {
  std::string text;
  for (const LoopArm* arm : {&summary.frozen, &summary.adapted, &summary.clairvoyant}) {
    if (arm->ok == arm->submitted) continue;
    text += (text.empty() ? "" : ", ") + arm->name + " " + Count(arm->submitted - arm->ok);
  }
  return text.empty() ? "" : Line("Not ok", text + " of " + Count(summary.scored_requests));
}

const LoopTail* FindTail(const LoopArm& arm) {
  constexpr double kPercentile = 0.99;
  for (const LoopTail& tail : arm.tails) {
    if (tail.percentile == kPercentile && tail.requests > 0) return &tail;
  }
  return nullptr;
}

std::string Spoken(Cause cause) {
  std::string name = CauseName(cause);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string Moved(const LoopSummary& summary) {
  const LoopTail* before = FindTail(summary.frozen);
  const LoopTail* after = FindTail(summary.adapted);
  if (before == nullptr || after == nullptr) return "";
  std::vector<std::pair<Nanos, Cause>> changes;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    const Nanos change = after->mean.part(cause) - before->mean.part(cause);
    if (change.count() != 0) changes.emplace_back(change, cause);
  }
  if (changes.empty()) return "";
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return std::chrono::abs(a.first) > std::chrono::abs(b.first);
  });
  std::string text;
  Nanos rest = after->mean.total() - before->mean.total();
  for (std::size_t i = 0; i < changes.size() && i < kNamedCauses; ++i) {
    text += Spoken(changes[i].second) + " " + Signed(changes[i].first) + " · ";
    rest -= changes[i].first;
  }
  if (changes.size() > kNamedCauses) text += "others " + Signed(rest) + " · ";
  return Line("Why p99 moved", text + "in all " +
                                   Signed(after->mean.total() - before->mean.total()) +
                                   " in the mean of the slowest 1 %");
}

std::string Accuracy(const LoopSummary& summary) {
  if (!summary.frozen.accuracy || !summary.adapted.accuracy) return "";
  const MappingAccuracy& before = *summary.frozen.accuracy;
  const MappingAccuracy& after = *summary.adapted.accuracy;
  std::string text = FormatPercent(before.accuracy) + " → " + FormatPercent(after.accuracy);
  const std::pair<const char*, double MappingAccuracy::*> losses[] = {
      {"envelope", &MappingAccuracy::lost_envelope},
      {"variant", &MappingAccuracy::lost_variant},
      {"placement", &MappingAccuracy::lost_placement},
      {"cost", &MappingAccuracy::lost_cost}};
  std::string lost;
  for (const auto& [name, loss] : losses) {
    if (before.*loss == 0 && after.*loss == 0) continue;
    lost += (lost.empty() ? "; lost to " : " · ") + std::string(name) + " " +
            FormatPercent(before.*loss) + " → " + FormatPercent(after.*loss);
  }
  text += lost;
  if (before.interval && after.interval) {
    text += "; 95 % CI " + Range(*before.interval) + " → " + Range(*after.interval);
  }
  if (before.over_seeds && after.over_seeds) {
    text +=
        "; over seeds of the noise " + Range(*before.over_seeds) + " → " + Range(*after.over_seeds);
  }
  return Line("Mapping accuracy", text);
}

std::string Adaptation(const LoopSummary& summary) {
  const LoopGain& gain = summary.gain;
  std::string text;
  if (summary.headroom.verdict == Verdict::kPresent && gain.captured) {
    text = "captured " + FormatPercent(gain.captured->value, 1) +
           " of what a clairvoyant could gain in work";
    std::string more;
    if (gain.captured->interval) more = "95 % CI " + Range(*gain.captured->interval);
    if (gain.captured_cf) {
      more +=
          (more.empty() ? "" : "; ") + FormatPercent(gain.captured_cf->value, 1) + " cross-fitted";
    }
    if (!more.empty()) text += " (" + more + ")";
    if (gain.captured_by_switching) {
      text += ", " + FormatPercent(*gain.captured_by_switching, 1) + " by switching alone";
    }
    if (gain.captured_by_reference) {
      text += ", " + FormatPercent(*gain.captured_by_reference, 1) +
              " by the reference policy with " +
              Counted(static_cast<double>(gain.reference_compiles), "compile", "compiles");
    }
    text += "; ";
  }
  return Line("Adaptation", text + Retunes(summary) + ", worst window " +
                                FormatSignedPercent(summary.worst_window));
}

std::string Headroom(const LoopSummary& summary) {
  if (summary.headroom.verdict != Verdict::kPresent) return "";
  const LoopFigure& gain = summary.headroom.gain;
  std::string text = "a clairvoyant would gain " + FormatPercent(gain.value) + " in work";
  if (gain.interval) text += ", 95 % CI " + Interval(gain);
  return Line("Headroom", text);
}

std::string Batches(const LoopSummary& summary) {
  std::string text;
  for (const LoopFormation& formation : summary.formation) {
    text += (text.empty() ? "" : " · ") + formation.name + " " +
            FormatNumber(formation.throughput_rps) + "/s, p99 " + Latency(formation.p99) + ", " +
            FormatPercent(formation.padding_share, 1) + " padding";
  }
  return text.empty() ? "" : Line("Batches", text);
}

std::string Sweep(const LoopSummary& summary, const Ink& ink) {
  if (summary.sweep.empty()) return "";
  Table table({"p99 at load", "requests", "frozen", "adapted", "clairvoyant"});
  for (const LoopSweepPoint& point : summary.sweep) {
    table.Add({FormatShortest(point.load), FormatNumber(point.rate_rps) + "/s",
               Latency(point.frozen_p99), Latency(point.adapted_p99),
               Latency(point.clairvoyant_p99)});
  }
  return table.Render(ink) + "\n";
}

std::string Guardrails(const LoopView& view, const Ink& ink) {
  std::string text;
  for (const Guardrail& guardrail : view.guardrails) {
    if (!guardrail.ok) text += ink.Warning(Line("Guardrail failed", guardrail.rule));
  }
  return text;
}

std::string Contradictions(const LoopSummary& summary) {
  std::string text;
  for (const std::string& contradiction : summary.contradictions) {
    text += Line("Contradiction", contradiction);
  }
  return text;
}

// To be copied, so not wrapped.
std::string Files(const LoopView& view) {
  if (view.folder.empty()) return "";
  const std::string folder = view.folder.back() == '/' ? view.folder : view.folder + "/";
  return "Report            " + ShellWord(folder + "report.md") + "   Adapted plan  " +
         ShellWord(folder + "adapted.pb") + "\nNext              leeway plan show " +
         ShellWord(folder + "adapted.pb") + "\n";
}

}  // namespace

std::string LoopScreen(const LoopView& view, const Ink& ink) {
  const LoopSummary& summary = view.result.summary();
  std::string text = Caveat(summary, ink);
  text += ink.Bold(Wrapped(Heading(summary), 0)) + "\n" + ink.Faint(Wrapped(Setting(summary), 0)) +
          "\n\n" + ArmTable(summary).Render(ink);
  text +=
      ink.Faint(Wrapped("gain: frozen's figure over adapted's, less 1 (capacity: adapted's "
                        "over frozen's); positive is better · the clairvoyant knew each window: "
                        "it bounds work, not latency",
                        0)) +
      "\n\n" + Sweep(summary, ink);
  return text + NotOk(summary) + Moved(summary) + Accuracy(summary) + Headroom(summary) +
         Adaptation(summary) + Batches(summary) + Contradictions(summary) + Guardrails(view, ink) +
         Files(view);
}

}  // namespace leeway::cli
