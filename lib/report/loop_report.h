// The closed-loop mapping report: what the loop experiment found, for people and for programs.
//
// Same input, same bytes: no clock, no locale, no name of a machine.

#ifndef LEEWAY_REPORT_LOOP_REPORT_H_
#define LEEWAY_REPORT_LOOP_REPORT_H_

#include <string>

#include "leeway/loop_result.h"

namespace leeway::report {

// Markdown. Where there is no headroom, or too few windows to judge, its first line says so.
std::string LoopMarkdown(const LoopSummary& summary);

// One document of schema leeway.loop.v1: integer nanoseconds, fractions, doubles that read back the
// same. A figure that cannot be told, or is not finite, is null, and "<key>_reason" says why.
std::string LoopJson(const LoopSummary& summary);

}  // namespace leeway::report

#endif  // LEEWAY_REPORT_LOOP_REPORT_H_
