// The sections of the closed-loop mapping report, each with its heading, or nothing where there is
// nothing to say.

#ifndef LEEWAY_REPORT_LOOP_SECTIONS_H_
#define LEEWAY_REPORT_LOOP_SECTIONS_H_

#include <string>

#include "leeway/loop_result.h"

namespace leeway::report {

// Why the tail moved: its mean parts before and after, the largest change first.
std::string TailSection(const LoopSummary& summary);
// Mapping accuracy, where the rest was lost, and accuracy against gain over time.
std::string AccuracySection(const LoopSummary& summary);
// Shapes that were planned for, and that came.
std::string ShapesSection(const LoopSummary& summary);
std::string ActionsSection(const LoopSummary& summary);
std::string FormationSection(const LoopSummary& summary);
std::string SweepSection(const LoopSummary& summary);
std::string ContradictionsSection(const LoopSummary& summary);
std::string OverloadSection(const LoopSummary& summary);
// What was run, and what was assumed.
std::string SettingSection(const LoopSummary& summary);
// What each figure tells, and what it does not prove.
std::string LimitsSection();

}  // namespace leeway::report

#endif  // LEEWAY_REPORT_LOOP_SECTIONS_H_
