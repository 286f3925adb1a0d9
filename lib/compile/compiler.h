// The reference compiler: maps the operator graph of one entry to a device.
//
// It fuses producers into consumers where that saves predicted time and fits the SRAM, shards
// groups over the cores where that pays for its launches, places by bottom level, and makes one
// variant per bucket of one dim. Which buckets to make is the caller's: bucketing is a matter of
// traffic, not of graphs.
//
// Fusion and shards depend on the eighth of an octave that the bucket lies in, never on the other
// buckets, so that what a length costs under the best mapping is one function of the length: the
// work curve.
//
// Threading: one thread at a time (costs are remembered).
// Lifetime:  keeps model and device alive.

#ifndef LEEWAY_COMPILE_COMPILER_H_
#define LEEWAY_COMPILE_COMPILER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/spec.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::compile {

struct CompilerOptions {
  // Entry to map, with all it calls; the only one that is not internal if empty.
  std::string entry = {};
  // Dim to bucket; the only dim that is bound at submit and is no batch dim if empty.
  std::string dim = {};
  // The most requests of a batch that variants are compiled for, within the batch dim's domain.
  std::int64_t max_batch = 8;
  // Runs that must fit the DRAM beside each other; 0: as many as the device has cores.
  int concurrent_runs = 0;
};

class Compiler {
 public:
  // kNotFound for an entry or dim that the model lacks, kInvalidArgument where either is ambiguous,
  // kFailedPrecondition if the device has no core for the work, kUnimplemented for what the cost
  // model does not cover.
  static Result<Compiler> Create(std::shared_ptr<const plan::Body> model,
                                 std::shared_ptr<const device::Spec> device,
                                 const CompilerOptions& options);
  Compiler(Compiler&&) noexcept;
  Compiler& operator=(Compiler&&) noexcept;
  ~Compiler();

  // The entry that requests run; the bucketed dim, and its domain.
  plan::Index entry() const;
  plan::Index dim() const;
  const plan::Dim& domain() const;

  // Returns what a batch of one costs padded to exactly `length`: Σ over steps and shards of core
  // time alone, step launches included, the run's excluded. Remembered.
  // kInvalidArgument outside the domain, kResourceExhausted or kOutOfRange from the cost model.
  Result<Nanos> CoreTime(std::int64_t length);

  // Returns the same for the operators one by one, as the fallback runs them, at exactly `length`:
  // sharded as they are for its eighth of an octave. Not remembered. Errors as CoreTime.
  Result<Nanos> UnfusedTime(std::int64_t length);

  // Returns a plan with one variant per edge, of the model's graph: dims, tensors, operators,
  // annotations and shape profile unchanged, variants of what is mapped replaced. Other entries
  // keep theirs, unless they call what is mapped. `edges` rise strictly within the domain.
  // The name of a variant tells its edge ("s512"); groups have a kernel key and a profile at
  // sampled batches. They state no tiling: the cost model finds the best one for each batch. The
  // batch shrinks where activations of the concurrent runs would not fit the DRAM. kInvalidArgument
  // for edges, kResourceExhausted where not even a batch of one fits.
  Result<std::shared_ptr<const plan::Body>> Compile(std::span<const std::int64_t> edges);

 private:
  struct State;
  explicit Compiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_COMPILER_H_
