#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/guardrails.h"
#include "report/figures.h"
#include "report/loop_reading.h"
#include "report/loop_report.h"
#include "report/loop_sections.h"
#include "report/markdown.h"

namespace leeway::report {
namespace {

using Verdict = LoopHeadroom::Verdict;

std::string Retunes(const LoopSummary& summary) {
  const std::uint64_t retunes = summary.compiles + summary.switches;
  std::string text = Counted(retunes, "retune", "retunes");
  if (retunes > 0) {
    text += " (" + Counted(summary.compiles, "compile", "compiles") + ", " +
            Counted(summary.switches, "switch", "switches") + ")";
  }
  return text;
}

// The page's first line where the rest of it needs one.
std::string FirstLine(const LoopSummary& summary) {
  const LoopFigure& headroom = summary.headroom.gain;
  std::string gain = Percent(headroom.value);
  if (headroom.interval) gain += " (95 % CI " + Interval(headroom.interval) + ")";
  std::string text;
  switch (summary.headroom.verdict) {
    case Verdict::kPresent:
      break;
    case Verdict::kNone:
      text = "No headroom: a clairvoyant would gain " + gain + ". " + Retunes(summary) + ".";
      break;
    case Verdict::kInsufficient:
      text = "Too few windows to judge: " +
             Counted(ScoredWindows(summary), "window was", "windows were") +
             " scored, in which a clairvoyant would gain " + gain + ". " + Retunes(summary) + ".";
      break;
  }
  if (summary.clamped_rate > kManyClamped) {
    text += (text.empty() ? "" : " ") + Percent(summary.clamped_rate) +
            " of the requests were outside the model's domain and were clamped to it: the figures "
            "are those of other requests.";
  }
  return text.empty() ? "" : "**" + text + "**\n\n";
}

std::string Arrow(const std::string& before, const std::string& after) {
  return before + " → " + after;
}

std::string Rate(double rate_rps) { return Number(rate_rps) + " requests/s"; }

std::string Share(const LoopFigure& share) {
  const std::string text = Percent(share.value);
  return share.interval ? text + " (95 % CI " + PercentRange(share.interval) + ")" : text;
}

std::string Accuracy(const LoopArm& arm) {
  return arm.accuracy ? Percent(arm.accuracy->accuracy) : kDash;
}

std::string Intent(const LoopSummary& summary) {
  return Counted(summary.scored_requests, "request", "requests") + " of " +
         Escaped(summary.traffic) + " over " + Span(summary.span) + ", " + Escaped(summary.rate) +
         " rate at a load of " + Shortest(summary.load) + ", p99 within " + Latency(summary.slo) +
         "; plans of " +
         Counted(static_cast<std::uint64_t>(summary.variants), "variant", "variants") + " over " +
         Escaped(summary.dim) + ", the frozen one fitted to the first window.";
}

std::string Mapping(const LoopSummary& summary) {
  std::string text =
      "mapping accuracy " + Arrow(Accuracy(summary.frozen), Accuracy(summary.adapted)) +
      ", padding waste " +
      Arrow(Percent(summary.frozen.padding_waste), Percent(summary.adapted.padding_waste)) +
      ", fallback " +
      Arrow(Percent(summary.frozen.fallback_rate), Percent(summary.adapted.fallback_rate)) +
      " of the requests; " + Counted(summary.compiles, "compile", "compiles") + ", " +
      Counted(summary.switches, "switch", "switches");
  if (summary.headroom.verdict == Verdict::kPresent && summary.gain.captured) {
    text += ", which captured " + Share(*summary.gain.captured) +
            " of what a clairvoyant could gain in work";
  }
  return text + ".";
}

std::string Behaviour(const LoopSummary& summary) {
  std::string text = "work " +
                     Arrow(Duration(summary.frozen.work), Duration(summary.adapted.work)) +
                     " of core time (gain " + Gain(summary.gain.work) + "), runs " +
                     Arrow(Count(summary.frozen.runs), Count(summary.adapted.runs));
  const LoopTail* before = FindTail(summary.frozen, 0.99);
  const LoopTail* after = FindTail(summary.adapted, 0.99);
  if (before == nullptr || after == nullptr) return text + ".";
  const std::vector<CauseChange> changes = Changes(before->mean, after->mean);
  if (changes.empty() || changes.front().change().count() == 0) return text + ".";
  std::string cause = CauseName(changes.front().cause);
  for (char& c : cause) c = c == '_' ? ' ' : c;
  return text + "; above p99 the largest change is " + cause + ", " +
         SignedDuration(changes.front().change()) + " of " +
         SignedDuration(after->mean.total() - before->mean.total()) + ".";
}

std::string CapacityCell(const LoopArm& arm) {
  return arm.capacity_rps ? Rate(arm.capacity_rps->value) : "none";
}

std::string Impact(const LoopSummary& summary) {
  return "p99 " + Arrow(Latency(summary.frozen.p99), Latency(summary.adapted.p99)) + " (gain " +
         (summary.gain.p99 ? Gain(*summary.gain.p99) : kDash) + "), objective met by " +
         Arrow(Percent(summary.frozen.slo_attainment), Percent(summary.adapted.slo_attainment)) +
         " of the requests, capacity at the objective " +
         Arrow(CapacityCell(summary.frozen), CapacityCell(summary.adapted)) + ".";
}

std::string VerdictSection(const LoopSummary& summary) {
  std::string text = "## Verdict\n\n1. **Workload intent**: " + Intent(summary) +
                     "\n2. **Mapping**: " + Mapping(summary) +
                     "\n3. **Hardware behaviour**: " + Behaviour(summary) +
                     "\n4. **Product impact**: " + Impact(summary) + "\n\n";
  if (summary.headroom.verdict == Verdict::kPresent) {
    text +=
        "Headroom: a clairvoyant that does not score the requests it was fitted to would gain in "
        "work " +
        Gain(summary.headroom.gain) + ".\n\n";
  }
  MarkdownTable table({"guardrail", "rule", "adapted/frozen − 1, at least", "limit", "kept"},
                      MarkdownTable::Cells::kWords);
  for (const Guardrail& guardrail : CheckGuardrails(summary)) {
    table.Add({guardrail.name, guardrail.rule,
               guardrail.value ? SignedPercent(*guardrail.value) : "not known",
               SignedPercent(guardrail.limit), guardrail.ok ? "yes" : "**no**"});
  }
  return text + table.text();
}

const LoopFigure* Pointer(const std::optional<LoopFigure>& figure) {
  return figure ? &*figure : nullptr;
}

struct ArmRow {
  std::string name;
  std::string (*cell)(const LoopArm& arm);
  const LoopFigure* gain = nullptr;
};

std::string WorkCell(const LoopArm& arm) { return Duration(arm.work); }
std::string P50Cell(const LoopArm& arm) { return Latency(arm.p50); }
std::string P95Cell(const LoopArm& arm) { return Latency(arm.p95); }
std::string P99Cell(const LoopArm& arm) { return Latency(arm.p99); }
std::string MeanCell(const LoopArm& arm) { return Latency(arm.mean); }
std::string SloCell(const LoopArm& arm) { return Percent(arm.slo_attainment); }
std::string GoodputCell(const LoopArm& arm) { return Rate(arm.goodput_rps); }
std::string PaddingCell(const LoopArm& arm) { return Percent(arm.padding_waste); }
std::string FallbackCell(const LoopArm& arm) { return Percent(arm.fallback_rate); }
std::string FallbackTimeCell(const LoopArm& arm) { return Percent(arm.fallback_time); }
std::string EnergyCell(const LoopArm& arm) {
  return arm.energy_j > 0 ? Energy(arm.energy_j) : kDash;
}
std::string OkCell(const LoopArm& arm) { return Count(arm.ok) + " of " + Count(arm.submitted); }
std::string RunsCell(const LoopArm& arm) { return Count(arm.runs); }
std::string StepsCell(const LoopArm& arm) { return Count(arm.steps); }

std::string ArmsSection(const LoopSummary& summary) {
  const ArmRow rows[] = {
      {"p99", &P99Cell, Pointer(summary.gain.p99)},
      {"p95", &P95Cell, Pointer(summary.gain.p95)},
      {"p50", &P50Cell, Pointer(summary.gain.p50)},
      {"mean", &MeanCell},
      {"objective met", &SloCell},
      {"capacity at the objective", &CapacityCell, Pointer(summary.gain.capacity)},
      {"goodput", &GoodputCell},
      {"work", &WorkCell, &summary.gain.work},
      {"mapping accuracy", &Accuracy},
      {"padding waste", &PaddingCell},
      {"fallback, of requests", &FallbackCell},
      {"fallback, of core time", &FallbackTimeCell},
      {"energy", &EnergyCell},
      {"ended ok", &OkCell},
      {"runs", &RunsCell},
      {"steps", &StepsCell}};
  MarkdownTable table({"", "frozen", "adapted", "clairvoyant", "gain", "95 % CI"});
  for (const ArmRow& row : rows) {
    table.Add({row.name, row.cell(summary.frozen), row.cell(summary.adapted),
               row.cell(summary.clairvoyant),
               row.gain != nullptr ? SignedPercent(row.gain->value) : "",
               row.gain != nullptr ? Interval(row.gain->interval) : ""});
  }
  return "## The three arms\n\nAll on the same arrivals. A gain is frozen's figure over adapted's, "
         "less 1, for capacity adapted's over frozen's: positive is better. The clairvoyant knew "
         "each window; it bounds work, not latency.\n\n" +
         table.text();
}

std::string AdaptationSection(const LoopSummary& summary) {
  std::string text = "## What adapting gained\n\n";
  const auto share = [&](const std::string& name, const std::optional<LoopFigure>& value) {
    if (value) text += "- " + name + ": " + Share(*value) + "\n";
  };
  const auto plain = [](const std::optional<double>& value) {
    return value ? std::optional(LoopFigure{*value, std::nullopt}) : std::nullopt;
  };
  if (summary.headroom.verdict == Verdict::kPresent) {
    share("captured of the clairvoyant's gain in work", summary.gain.captured);
    share("captured, against a clairvoyant that does not score what it was fitted to",
          summary.gain.captured_cf);
    share("captured by switching alone, in a library of early windows' plans",
          plain(summary.gain.captured_by_switching));
    share("captured by the reference policy, with " +
              Counted(summary.gain.reference_compiles, "compile", "compiles"),
          plain(summary.gain.captured_by_reference));
  } else {
    text +=
        "- No share of a clairvoyant's gain is told: there is none to speak of, or too little "
        "to judge by.\n";
  }
  return text + "- worst window: " + SignedPercent(summary.worst_window) +
         " work against frozen\n- windows worse by more than 1 %: " +
         Percent(summary.harmed_share) + "\n\n";
}

}  // namespace

std::string LoopMarkdown(const LoopSummary& summary) {
  return FirstLine(summary) + "# Closed-loop mapping report: " + Escaped(summary.model) + " on " +
         Escaped(summary.device) + "\n\nTraffic " + Escaped(summary.traffic) +
         ". Every figure is simulated (uncalibrated) in virtual time: equal inputs give equal "
         "bytes.\n\n" +
         VerdictSection(summary) + ArmsSection(summary) + TailSection(summary) +
         AccuracySection(summary) + AdaptationSection(summary) + ShapesSection(summary) +
         ActionsSection(summary) + FormationSection(summary) + SweepSection(summary) +
         ContradictionsSection(summary) + OverloadSection(summary) + SettingSection(summary) +
         LimitsSection();
}

}  // namespace leeway::report
