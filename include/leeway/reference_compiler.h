// The built-in compiler: answers retune requests with plans of the parent's own model.
//
// It maps the operator graph by predicted time on the device's cost model, one variant per bucket
// of one dim. Groups, placements and shards are its own; the parent's are not kept.
//
// Threading: Compile() may be called from several threads, each on its own object.
// Lifetime:  keeps the parent plan and the device alive.
// Time:      reads the host's steady clock for deadlines and compile times, for nothing else: plans
//            are the same on every machine.

#ifndef LEEWAY_REFERENCE_COMPILER_H_
#define LEEWAY_REFERENCE_COMPILER_H_

#include <string>
#include <utility>

#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/retune.h"
#include "leeway/status.h"

namespace leeway {
inline namespace v0 {

struct ReferenceCompilerOptions {
  // Dim to bucket; the only one whose lengths requests bring if empty.
  std::string dim = {};
  // The most requests of a batch that variants are compiled for.
  int max_batch = 8;
};

class ReferenceCompiler final : public Compiler {
 public:
  ReferenceCompiler(Plan parent, Device device, ReferenceCompilerOptions options = {})
      : parent_(std::move(parent)), device_(std::move(device)), options_(std::move(options)) {}

  // Declines actions on another dim than its own, from an edge that the parent has not, or to one
  // outside the domain. With every action declined, or none asked for, the plan is the parent's.
  // kFailedPrecondition for a request of another plan or device, or a device without a core for the
  // model; kUnimplemented for work that the cost model does not cover; kCancelled,
  // kDeadlineExceeded; kResourceExhausted where a bucket does not fit the device's memory.
  Result<RetuneResponse> Compile(const RetuneRequest& request,
                                 const CompileContext& context) override;

 private:
  Plan parent_;
  Device device_;
  ReferenceCompilerOptions options_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_REFERENCE_COMPILER_H_
