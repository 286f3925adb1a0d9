// The arms of a loop experiment in terms of work: which plan serves which window, and what every
// window costs under it. No simulation.

#ifndef LEEWAY_RETUNE_LOOP_ARMS_H_
#define LEEWAY_RETUNE_LOOP_ARMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compile/work_curve.h"
#include "leeway/loop_result.h"
#include "leeway/status.h"
#include "retune/adaptation.h"
#include "retune/block_bootstrap.h"

namespace leeway::retune {

struct ArmWork {
  std::string name;
  std::vector<Edges> edges;      // by window; the first is plan 0's
  std::vector<double> work;      // by window, in ns; 0 for the first
  std::vector<double> useful;    // Σ f at the requests' own lengths
  std::vector<double> fallback;  // requests that no bucket covers

  double total() const;
  double waste() const;  // 1 − Σ useful / Σ work
};

struct LoopArms {
  ArmWork frozen, adapted, clairvoyant;
  std::vector<double>
      cross_fitted;  // work of the clairvoyant fitted to each half, scoring the other
  Adaptation adaptation;
  // Work of a library of early plans that is only switched in, and of the reference.
  double switching = 0, reference = 0;
  std::size_t reference_compiles = 0;
};

// Work as it is counted: f of the best bucket; where none covers phi times f of the length itself,
// or what the fallback takes there by its own model if that is more (`generic`, which may be
// empty).
BucketSpec SpecOf(const compile::WorkCurve& curve, int variants, double phi, CostFn generic = {});

// Returns edges as they are compiled: each moved up to the one that attains f there.
Edges Compiled(const compile::WorkCurve& curve, const Edges& edges);

struct ArmOptions {
  BucketPolicyOptions policy;
  Nanos compile_time{0};  // on the windows' clock
};

// Window 0 is compiled for; the others are scored. Errors of MakeBucketPolicy().
Result<LoopArms> MakeArms(const std::vector<ServedWindow>& windows, const compile::WorkCurve& curve,
                          const ArmOptions& options);

// Fills gain.work, captured, captured_cf, headroom, compiles, switches and the worst window: all
// that follows from work alone. `tau` is the least headroom that counts.
void SummariseWork(const LoopArms& arms, double tau, std::uint64_t seed, LoopSummary& summary);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_ARMS_H_
