// From what the arms of a loop experiment did to the figures that are told of it. Pure functions.

#ifndef LEEWAY_RETUNE_LOOP_SUMMARY_H_
#define LEEWAY_RETUNE_LOOP_SUMMARY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "leeway/loop.h"
#include "retune/loop_arms.h"
#include "retune/loop_load.h"
#include "retune/replay.h"

namespace leeway::retune {

// Of the arms "frozen", "adapted" and "clairvoyant", in this order.
using ArmOutcomes = std::array<ReplayOutcome, 3>;

// Marks windows in which an arm leaves more than 5 % of the requests unfinished one window later.
// Those of too high a load are marked already.
void MarkOverloads(const ServedTraffic& traffic, const ArmOutcomes& outcomes, LoopSummary& summary);

// Fills the arms but for their capacity, the gains in latency, what windows, buckets and mapping
// accuracy are told, and what speaks against the verdict. Requires the windows, the SLO and what
// follows from work (SummariseWork) to be in the summary.
void SummariseOutcomes(const ServedTraffic& traffic, const LoopArms& arms,
                       const ArmOutcomes& outcomes, const LoopOptions& options,
                       LoopSummary& summary);

// Fills the contradictions; the last, for they look at everything.
void FindContradictions(LoopSummary& summary);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_SUMMARY_H_
