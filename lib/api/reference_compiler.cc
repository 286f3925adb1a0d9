#include "leeway/reference_compiler.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compile/compiler.h"
#include "plan/body.h"
#include "retune/edge_moves.h"
#include "retune/plan_buckets.h"

namespace leeway {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

Status CheckGoesOn(const CompileContext& context) {
  if (context.cancelled && context.cancelled()) {
    return Status(StatusCode::kCancelled, "the compilation was cancelled");
  }
  if (Clock::now() > context.deadline) {
    return Status(StatusCode::kDeadlineExceeded, "the compilation passed its deadline");
  }
  return Status();
}

Status CheckFor(const Plan& parent, const Device& device, const RetuneRequest& request) {
  auto other = [](const char* what, const std::string& asked, const std::string& have) {
    return base::FailedPrecondition(absl::StrCat("the request is for ", what, " ",
                                                 asked.substr(0, 12), ", this compiler has ",
                                                 have.substr(0, 12)));
  };
  if (request.plan_digest != parent.digest()) {
    return other("plan", request.plan_digest, parent.digest());
  }
  if (request.device_digest != device.digest()) {
    return other("device", request.device_digest, device.digest());
  }
  return Status();
}

// Why an action cannot be done; empty if it can. `edges` are those that no action took yet.
std::string ReasonAgainst(const RetuneAction& action, const plan::Dim& dim,
                          const retune::Edges& edges) {
  if (action.dim != dim.name) {
    return absl::StrCat("only dim \"", dim.name, "\" is bucketed here");
  }
  const bool has_from = action.kind != RetuneAction::Kind::kAddBucket;
  const bool has_to = action.kind != RetuneAction::Kind::kDropBucket;
  if (has_from && std::find(edges.begin(), edges.end(), action.from) == edges.end()) {
    return absl::StrCat("no bucket ends at ", action.from);
  }
  if (has_to && (action.to < dim.min || action.to > dim.max)) {
    return absl::StrCat("edge ", action.to, " is outside the domain [", dim.min, ", ", dim.max,
                        "]");
  }
  return {};
}

retune::EdgeMove MoveOf(const RetuneAction& action) {
  retune::EdgeMove move;
  if (action.kind != RetuneAction::Kind::kAddBucket) move.from = action.from;
  if (action.kind != RetuneAction::Kind::kDropBucket) move.to = action.to;
  return move;
}

}  // namespace

Result<RetuneResponse> ReferenceCompiler::Compile(const RetuneRequest& request,
                                                  const CompileContext& context) {
  const Clock::time_point begun = Clock::now();
  LEEWAY_RETURN_IF_ERROR(CheckFor(parent_, device_, request));
  LEEWAY_RETURN_IF_ERROR(CheckGoesOn(context));
  const plan::Body& parent = *parent_.body();
  LEEWAY_ASSIGN_OR_RETURN(const plan::Index entry, retune::FindEntry(parent, request.entry));
  compile::CompilerOptions options;
  options.entry = parent.entries[entry].name;
  options.dim = options_.dim;
  options.max_batch = options_.max_batch;
  LEEWAY_ASSIGN_OR_RETURN(compile::Compiler compiler,
                          compile::Compiler::Create(parent_.body(), device_.spec(), options));
  RetuneResponse response{.plan = parent_};
  const retune::PlanBuckets buckets(parent, parent.entries[entry], compiler.dim());
  retune::Edges left = buckets.edges();
  std::size_t variants = left.size();
  std::vector<retune::EdgeMove> moves;
  for (std::size_t i = 0; i < request.actions.size(); ++i) {
    const RetuneAction& action = request.actions[i];
    const bool adds = action.kind == RetuneAction::Kind::kAddBucket;
    std::string reason = ReasonAgainst(action, compiler.domain(), left);
    const auto most = static_cast<std::size_t>(std::max(0, request.limits.max_variants));
    if (reason.empty() && adds && most > 0 && variants >= most) {
      reason = absl::StrCat("the entry may have ", most, " variants");
    }
    if (!reason.empty()) {
      response.declined.push_back({i, std::move(reason)});
      continue;
    }
    if (adds) ++variants;
    if (action.kind == RetuneAction::Kind::kDropBucket) --variants;
    moves.push_back(MoveOf(action));
    if (moves.back().from) left.erase(std::find(left.begin(), left.end(), action.from));
    response.accepted.push_back(i);
  }
  if (!moves.empty()) {
    const retune::Edges edges = retune::Applied(buckets.edges(), moves);
    if (edges.empty()) return base::InvalidArgument("the actions leave no bucket");
    LEEWAY_ASSIGN_OR_RETURN(auto body, compiler.Compile(edges));
    const std::int64_t memory = request.limits.memory_bytes;
    if (memory > 0 && body->WeightBytes() > memory) {
      return base::ResourceExhausted(absl::StrCat("the weights take ", body->WeightBytes(),
                                                  " bytes; the request allows ", memory));
    }
    response.plan = Plan(std::move(body));
    LEEWAY_RETURN_IF_ERROR(CheckGoesOn(context));
  }
  if (context.progress) context.progress(1);
  response.compile_time = std::chrono::duration_cast<Nanos>(Clock::now() - begun);
  return response;
}

}  // namespace v0
}  // namespace leeway
