// The reference compiler: maps the operator graph of a model to a device, one variant a bucket.
//
// It stands in for the compiler of an accelerator: it fuses, shards and places by the cost model,
// and predicts what each kernel takes. It makes no kernels; a compiler team replaces it.
//
// Threading: Compile() runs on the calling thread; concurrent calls share nothing.
// Time:      no clock is read: equal inputs give equal bytes on every machine.
// Errors:    returned, never thrown; nothing is printed.

#ifndef LEEWAY_COMPILE_H_
#define LEEWAY_COMPILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway {
inline namespace v0 {

struct CompileOptions {
  // Entry to map, with all it calls; the only one that is not internal if empty.
  std::string entry = {};
  // Dim to bucket; the only dim that is bound at submit and is no batch dim if empty.
  std::string dim = {};
  // Upper edges of the buckets, rising within the dim's domain; if empty, `variants` edges or
  // those of the model's own variants.
  std::vector<std::int64_t> buckets = {};
  // Where no edges are named, at most so many that serve the model's shape profile with the least
  // core time, each length of the profile within the largest; 0: none are chosen.
  int variants = 0;
  // The most requests of a batch that variants are compiled for; fewer where more would not fit.
  int max_batch = 8;
};

// Returns a plan of the model's graph with one variant per bucket, named after its edge ("s512"),
// for every length from the domain's start to the edge. The graph, its annotations and what other
// entries have for variants stay; entries that call a mapped one without being asked for lose
// theirs. Each group has a kernel key, planned cores and, at sampled batches, a predicted profile.
// Batches are as large as fits the DRAM with as many concurrent runs as the device has cores.
//
// How a bucket is mapped depends on the model, the device and the eighth of an octave that its edge
// lies in, never on the other buckets. What the model itself states of a single operator, its work
// or its measured profile, is kept.
//
// kNotFound for an entry or a dim that the model lacks; kInvalidArgument where either is ambiguous
// or unfit, for buckets that leave the domain or do not rise, where there are neither buckets nor
// variants or a shape profile to take them from, for variants < 0 and max_batch < 1;
// kFailedPrecondition if no core can do the work; kResourceExhausted where not even a batch of one
// fits; kOutOfRange for costs that overflow; kUnimplemented for what the cost model does not cover.
Result<Plan> Compile(const Plan& model, const Device& device, const CompileOptions& options = {});

// What one request costs that fills a variant: by itself, at the upper end of every dim but batch
// dims.
struct VariantPrediction {
  std::string name;
  // The variant's upper end of the bucketed dim, and the most requests of a batch; 0 where no dim
  // counts them.
  std::int64_t edge = 0;
  std::int64_t max_batch = 0;
  // Kernels, those of a call once; launches of one run, the repetitions of calls and every shard
  // included.
  std::uint64_t groups = 0, steps = 0;
  // The longest path through the run by the plan's own profile, launches included. A profile has
  // each shard alone with the DRAM, so that a run of sharded groups takes longer.
  Nanos predicted{0};
  // Σ over steps of core time alone by the cost model, launches included: the work of serving it.
  Nanos core_time{0};
};

// Returns a prediction for each variant of an entry, in the plan's order; any plan will do. Of
// `options` the entry and the dim count. Errors as Compile; kFailedPrecondition and kNotFound where
// the device lacks what a variant is placed on.
Result<std::vector<VariantPrediction>> PredictVariants(const Plan& plan, const Device& device,
                                                       const CompileOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_COMPILE_H_
