// Retuning: what is asked of a compiler when a plan no longer fits its traffic, and the answer.
//
// A request asks for a few bounded changes, each with its evidence and its predicted gain, alone
// and together. A compiler may decline any of them and says why. None at all is the usual answer:
// where nothing is to be gained, Advise() asks for nothing and says so.
//
// Threading: values. Advise() runs on the calling thread; concurrent calls share nothing. A
// Compiler
//            is used by one thread at a time unless it says otherwise.
// Time:      compile times and deadlines are the host's; everything else follows from the inputs.

#ifndef LEEWAY_RETUNE_H_
#define LEEWAY_RETUNE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leeway/device.h"
#include "leeway/drift.h"
#include "leeway/plan.h"
#include "leeway/recording.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

// Why an action is asked for: a sentence, and the figures in it by name.
struct Evidence {
  std::string text;
  std::vector<std::pair<std::string, double>> numbers;
};

struct RetuneAction {
  // A bucket is the variant whose envelope ends at an edge.
  enum class Kind { kAddBucket, kMoveBucket, kDropBucket };
  Kind kind = Kind::kAddBucket;
  std::string dim;
  // Edges: `from` is 0 for an added bucket, `to` for a dropped one.
  std::int64_t from = 0, to = 0;
  Evidence evidence;
  // Share of the observed work that it saves by itself; a bucket that is dropped to make room
  // costs.
  double predicted_gain = 0;
  // Who can do it, and the sentence that says how to undo it.
  std::string owner, rollback;
};
// Returns "add_bucket", "move_bucket" or "drop_bucket".
const char* RetuneActionName(RetuneAction::Kind kind);

// One shape, and how many requests had it.
struct ObservedShape {
  Dims dims;
  std::uint64_t count = 0;
};

// The lengths of one dim in the observed requests, and its buckets.
struct ObservedDim {
  std::string dim;
  // Distinct lengths, rising, with counts.
  std::vector<std::pair<std::int64_t, std::uint64_t>> lengths;
  // Edges now, and with every action done.
  std::vector<std::int64_t> edges_before, edges_after;
  // As DimDrift::regret; cross-fitted by even and odd arrivals, whatever their number.
  double regret = 0;
};

struct RetuneLimits {
  // Variants the entry may have.
  int max_variants = 0;
  // Device memory, 0 if the device does not say.
  std::int64_t memory_bytes = 0;
};

struct RetuneRequest {
  // What the answer replaces, and where it will run: digests in hexadecimal.
  std::string plan_digest, device_digest, entry;
  // The joint distribution of dims: exact up to 4,096 shapes, beyond that rounded up to the
  // smallest power of two that leaves no more.
  std::vector<ObservedShape> observed;
  std::vector<ObservedDim> dims;
  // At most AdviseOptions::max_actions. They are meant to be done together.
  std::vector<RetuneAction> actions;
  // Share of the observed work that all of them save together: in sample, and, priced by a device,
  // of the reference compiler's mapping. What another compiler's plan gains, Evaluate() tells.
  double predicted_gain = 0;
  CostBasis basis = CostBasis::kTokens;
  // Why these actions, or why none.
  std::string reason;
  RetuneLimits limits;
  // How long after the observation the request still stands.
  Nanos expires_after{0};

  // Null if no dim of that name was looked at.
  const ObservedDim* dim(std::string_view name) const;
};

struct RetuneResponse {
  struct Declined {
    std::size_t action = 0;  // index into the request's
    std::string reason;
  };
  Plan plan;
  // Indices of the actions done.
  std::vector<std::size_t> accepted = {};
  std::vector<Declined> declined = {};
  // Host time.
  Nanos compile_time{0};
  std::vector<std::string> diagnostics = {};
};

// How a caller limits and watches a compilation. Everything may be left out.
struct CompileContext {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Polled by the compiler; true asks it to stop.
  std::function<bool()> cancelled = {};
  // Told the share done, within [0, 1].
  std::function<void(double)> progress = {};
};

// What makes plans: yours, or ReferenceCompiler (leeway/reference_compiler.h).
class Compiler {
 public:
  virtual ~Compiler() = default;
  // Returns a plan with the accepted actions done; the parent's digest is the request's. May run
  // long. kFailedPrecondition for a request of another plan, kCancelled, kDeadlineExceeded, or what
  // the compiler fails with; an action it cannot do is no error but declined.
  virtual Result<RetuneResponse> Compile(const RetuneRequest& request,
                                         const CompileContext& context) = 0;
};

struct AdviseOptions {
  int max_actions = 3;
  // Regret below which nothing is asked for.
  double tau = 0.03;
  // Variants the new plan may have; 0: as many as it has now.
  int max_variants = 0;
  // Cost of a request that no variant covers, relative to its useful work.
  double phi = 2;
  // Edges are multiples of this.
  std::int64_t align = 1;
  // Core time that a retune takes from the device. Where it is not 0, what is saved over `horizon`
  // must be twice as much.
  Nanos retune_cost{0};
  // How long a new plan is expected to serve, and the request to stand.
  Nanos horizon = 24h;
};

// Reads the recording and returns which buckets of the plan to change. Work is priced by the
// reference mapping to the device, else as in DetectDrift(). kInvalidArgument for an option out of
// range or a recording without a request; kFailedPrecondition if the plan's entry has no variant;
// kNotFound for an entry that the plan lacks; errors of Simulate() in binding and reading the
// traffic.
Result<RetuneRequest> Advise(const Plan& plan, const Device& device, const Recording& recording,
                             const AdviseOptions& options = {});

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_RETUNE_H_
