#include "leeway/retune.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/replay.h"
#include "base/check.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "device/spec.h"
#include "plan/body.h"
#include "retune/drift.h"
#include "retune/edge_moves.h"
#include "retune/percent.h"
#include "retune/plan_buckets.h"
#include "retune/pricing.h"
#include "retune/regret.h"

namespace leeway {
inline namespace v0 {
namespace {

using retune::EdgeMove;
using retune::LengthHistogram;

constexpr std::size_t kMaxShapes = 4096;
constexpr double kPayback = 2;

// The joint distribution of what a recording asked for, in bounded memory.
class ShapeCounts {
 public:
  void Add(const sched::DimValues& dims) {
    ++counts_[Rounded(dims)];
    if (counts_.size() <= kMaxShapes) return;
    quantum_ *= 2;
    std::map<sched::DimValues, std::uint64_t> coarser;
    for (const auto& [shape, count] : counts_) coarser[Rounded(shape)] += count;
    counts_ = std::move(coarser);
  }

  std::vector<ObservedShape> Shapes(const plan::Body& plan) const {
    std::vector<ObservedShape> shapes;
    for (const auto& [dims, count] : counts_) {
      ObservedShape shape;
      shape.count = count;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        // Rounding up must not leave the domain.
        shape.dims.push_back({plan.dims[d].name, std::min(dims[d], plan.dims[d].max)});
      }
      shapes.push_back(std::move(shape));
    }
    return shapes;
  }

 private:
  sched::DimValues Rounded(sched::DimValues dims) const {
    for (std::int64_t& value : dims) value = base::CeilDiv(value, quantum_) * quantum_;
    return dims;
  }

  std::int64_t quantum_ = 1;
  std::map<sched::DimValues, std::uint64_t> counts_;
};

// What a recording asked for.
struct Observation {
  std::uint64_t requests = 0;
  Instant first, last;
  ShapeCounts shapes;
  std::vector<retune::TrafficWindow> dims;  // by the plan's dim
};

Result<Observation> Observe(const plan::Body& plan, const Recording& recording) {
  LEEWAY_ASSIGN_OR_RETURN(api::Replay replay, api::Replay::Begin(plan, recording));
  Observation seen;
  // Lengths by dim, of requests at even and at odd positions in order of arrival.
  std::vector<std::map<std::int64_t, double>> halves[2];
  for (auto& half : halves) half.resize(plan.dims.size());
  while (true) {
    LEEWAY_ASSIGN_OR_RETURN(const std::optional<exec::SimArrival> arrival, replay.Next());
    if (!arrival) break;
    if (seen.requests == 0) seen.first = arrival->at;
    seen.last = arrival->at;
    seen.shapes.Add(arrival->dims);
    for (std::size_t d = 0; d < plan.dims.size(); ++d) {
      ++halves[seen.requests % 2][d][arrival->dims[d]];
    }
    ++seen.requests;
  }
  if (seen.requests == 0) return base::InvalidArgument("the recording holds no request");
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    retune::TrafficWindow window;
    for (const auto& [length, count] : halves[0][d]) window.even.Add(length, count);
    for (const auto& [length, count] : halves[1][d]) window.odd.Add(length, count);
    window.lengths = window.even;
    window.lengths.Merge(window.odd);
    seen.dims.push_back(std::move(window));
  }
  return seen;
}

// One dim's part of the advice.
struct DimAdvice {
  ObservedDim observed;
  retune::EdgeMoves moves;
  retune::BucketSpec spec;
  std::vector<double> alone;  // gain of each move by itself
  double gain = 0;
  double excess_ns_per_s = 0;
  CostBasis basis = CostBasis::kTokens;
};

class Advisor {
 public:
  Advisor(const Plan& plan, const Device& device, plan::Index entry, const Observation& seen,
          const AdviseOptions& options)
      : plan_(plan), device_(device), entry_(entry), seen_(seen), options_(options) {}

  Result<RetuneRequest> Run() {
    request_.plan_digest = plan_.digest();
    request_.device_digest = device_.digest();
    request_.entry = entry().name;
    request_.observed = seen_.shapes.Shapes(*plan_.body());
    request_.limits.max_variants = MaxVariants();
    request_.limits.memory_bytes = device_.spec()->dram_capacity_bytes;
    request_.expires_after = options_.horizon;
    std::vector<DimAdvice> all;
    for (const plan::Index dim : retune::LengthDims(*plan_.body())) {
      LEEWAY_ASSIGN_OR_RETURN(DimAdvice advice, Judge(dim));
      all.push_back(std::move(advice));
    }
    // The dim that costs most is tuned first: actions are few.
    std::stable_sort(all.begin(), all.end(), [](const DimAdvice& a, const DimAdvice& b) {
      return a.observed.regret > b.observed.regret;
    });
    for (DimAdvice& advice : all) Ask(advice);
    if (request_.reason.empty()) request_.reason = "the entry has no dim to bucket";
    return std::move(request_);
  }

 private:
  const plan::Entry& entry() const { return plan_.body()->entries[entry_]; }
  int MaxVariants() const {
    const int now = static_cast<int>(entry().variants.size());
    return options_.max_variants > 0 ? options_.max_variants : now;
  }

  Result<DimAdvice> Judge(plan::Index dim) {
    const retune::PlanBuckets buckets(*plan_.body(), entry(), dim);
    LEEWAY_ASSIGN_OR_RETURN(retune::Pricing pricing, retune::Price(plan_.body(), entry_, dim,
                                                                   device_.spec(), options_.align));
    const retune::TrafficWindow& window = seen_.dims[dim];
    DimAdvice advice;
    advice.basis = pricing.basis;
    advice.observed.dim = plan_.body()->dims[dim].name;
    for (const retune::LengthWeight& e : window.lengths) {
      advice.observed.lengths.emplace_back(e.length, static_cast<std::uint64_t>(e.weight));
    }
    advice.observed.edges_before = advice.observed.edges_after = buckets.edges();
    advice.spec =
        retune::ReplacementSpec(buckets, std::move(pricing.cost), options_.phi, options_.align);
    // A grid of two dims has no single bucket to add.
    const bool alone = buckets.edges().size() == entry().variants.size();
    if (alone) advice.spec.max_buckets = MaxVariants();
    base::Prng unused(0);  // the order of arrival gives the halves
    advice.observed.regret = retune::PlanRegret(buckets, window, advice.spec, unused);
    const double seconds = static_cast<double>((seen_.last - seen_.first).count()) * 1e-9;
    if (seconds > 0) {
      const double rho = std::max(0.0, advice.observed.regret);
      advice.excess_ns_per_s =
          buckets.Work(window.lengths, advice.spec).cost * rho / (1 + rho) / seconds;
    }
    return advice;
  }

  // Takes the dim into the request, with what may be asked for it.
  void Ask(DimAdvice& advice) {
    const std::string why_not = ReasonAgainst(advice);
    if (why_not.empty()) FindMoves(advice);
    if (advice.moves.moves.empty()) {
      Say(why_not.empty() ? absl::StrCat("dim \"", advice.observed.dim,
                                         "\": no single change of a bucket saves enough")
                          : why_not);
    } else {
      Say(absl::StrCat("dim \"", advice.observed.dim, "\": the buckets cost ",
                       retune::Percent(advice.observed.regret), " more than the best; ",
                       advice.moves.moves.size(), " changes save ", retune::Percent(advice.gain)));
      for (std::size_t i = 0; i < advice.moves.moves.size(); ++i) {
        request_.actions.push_back(ActionOf(advice, i));
      }
      // Dims are priced one at a time: what each saves of the whole multiplies.
      request_.predicted_gain = 1 - (1 - request_.predicted_gain) * (1 - advice.gain);
      advice.observed.edges_after = advice.moves.after;
    }
    request_.basis = advice.basis;
    request_.dims.push_back(std::move(advice.observed));
  }

  std::string ReasonAgainst(const DimAdvice& advice) const {
    const std::string dim = absl::StrCat("dim \"", advice.observed.dim, "\": ");
    const double rho = advice.observed.regret;
    const bool too_many =
        advice.observed.edges_before.size() > static_cast<std::size_t>(advice.spec.max_buckets);
    if (!(rho > options_.tau) && !too_many) {
      return absl::StrCat(dim, "regret ", retune::Percent(std::max(0.0, rho)), " is not above ",
                          retune::Percent(options_.tau));
    }
    if (request_.actions.size() >= static_cast<std::size_t>(options_.max_actions)) {
      return absl::StrCat(dim, "regret ", retune::Percent(rho), ", but the actions are spent");
    }
    if (too_many || options_.retune_cost == Nanos(0) || advice.basis == CostBasis::kTokens)
      return {};
    const double saved =
        advice.excess_ns_per_s * static_cast<double>(options_.horizon.count()) * 1e-9;
    const double payback = saved / static_cast<double>(options_.retune_cost.count());
    if (payback > kPayback) return {};
    return absl::StrCat(dim, "what is saved over the horizon is ", payback,
                        " times the cost of the retune, not above ", kPayback);
  }

  void FindMoves(DimAdvice& advice) {
    const plan::Index dim = *plan_.body()->FindDim(advice.observed.dim);
    const LengthHistogram& lengths = seen_.dims[dim].lengths;
    retune::EdgeMoveOptions how;
    how.max_moves = static_cast<std::size_t>(options_.max_actions) - request_.actions.size();
    how.domain_max = plan_.body()->dims[dim].max;
    const retune::Edges& edges = advice.observed.edges_before;
    advice.moves = retune::FindEdgeMoves(edges, lengths, advice.spec, how);
    const double before = advice.moves.cost_before;
    for (const EdgeMove& move : advice.moves.moves) {
      const retune::Edges after = retune::Applied(edges, {move});
      advice.alone.push_back(1 - retune::Evaluate(after, lengths, advice.spec).cost / before);
    }
    advice.gain = 1 - advice.moves.cost_after / before;
  }

  RetuneAction ActionOf(const DimAdvice& advice, std::size_t index) const {
    const EdgeMove& move = advice.moves.moves[index];
    RetuneAction action;
    action.kind = !move.from ? RetuneAction::Kind::kAddBucket
                  : !move.to ? RetuneAction::Kind::kDropBucket
                             : RetuneAction::Kind::kMoveBucket;
    action.dim = advice.observed.dim;
    action.from = move.from.value_or(0);
    action.to = move.to.value_or(0);
    action.predicted_gain = advice.alone[index];
    action.evidence = EvidenceOf(advice, move, action.predicted_gain);
    action.owner = "compiler";
    action.rollback = absl::StrCat("serve plan ", plan_.digest().substr(0, 12),
                                   " again: it stays valid, nothing is compiled");
    return action;
  }

  // The requests that the edge at `to` would take, and where they go now.
  Evidence EvidenceOf(const DimAdvice& advice, const EdgeMove& move, double gain) const {
    const std::int64_t at = move.to ? *move.to : *move.from;
    std::int64_t low = 0;
    for (const std::int64_t edge : advice.moves.after) {
      if (edge < at) low = edge;
    }
    const retune::Edges& edges = advice.observed.edges_before;
    const auto now = std::lower_bound(edges.begin(), edges.end(), at);
    double within = 0, total = 0;
    for (const auto& [length, count] : advice.observed.lengths) {
      total += static_cast<double>(count);
      if (length > low && length <= at) within += static_cast<double>(count);
    }
    const std::string where = now == edges.end() ? "run unfused: no bucket covers them"
                                                 : absl::StrCat("are padded to ", *now);
    Evidence evidence;
    evidence.text =
        absl::StrCat(retune::Percent(within / total), " of ", seen_.requests, " requests have \"",
                     advice.observed.dim, "\" in (", low, ", ", at, "] and ", where);
    evidence.numbers = {{"requests", total},
                        {"requests_within", within},
                        {"above", static_cast<double>(low)},
                        {"up_to", static_cast<double>(at)},
                        {"gain", gain}};
    return evidence;
  }

  void Say(const std::string& sentence) {
    if (!request_.reason.empty()) request_.reason += "; ";
    request_.reason += sentence;
  }

  const Plan& plan_;
  const Device& device_;
  plan::Index entry_;
  const Observation& seen_;
  const AdviseOptions& options_;
  RetuneRequest request_;
};

Status CheckOptions(const AdviseOptions& options) {
  LEEWAY_RETURN_IF_ERROR(retune::CheckCommon(options.tau, options.phi, options.align));
  if (options.max_actions < 1 || options.max_actions > 64) {
    return base::InvalidArgument(
        absl::StrCat("max_actions is ", options.max_actions, "; between 1 and 64"));
  }
  if (options.max_variants < 0 || options.max_variants > 4096) {
    return base::InvalidArgument(
        absl::StrCat("max_variants is ", options.max_variants, "; between 0 and 4096"));
  }
  if (options.retune_cost < Nanos(0) || options.horizon <= Nanos(0)) {
    return base::InvalidArgument("retune_cost is negative or horizon is not above 0");
  }
  return Status();
}

}  // namespace

Result<RetuneRequest> Advise(const Plan& plan, const Device& device, const Recording& recording,
                             const AdviseOptions& options) {
  LEEWAY_RETURN_IF_ERROR(CheckOptions(options));
  LEEWAY_ASSIGN_OR_RETURN(const plan::Index entry,
                          retune::FindEntry(*plan.body(), recording.entry()));
  if (plan.body()->entries[entry].variants.empty()) {
    return base::FailedPrecondition(absl::StrCat("entry \"", plan.body()->entries[entry].name,
                                                 "\" has no variant whose buckets could move"));
  }
  LEEWAY_ASSIGN_OR_RETURN(const Observation seen, Observe(*plan.body(), recording));
  return Advisor(plan, device, entry, seen, options).Run();
}

const ObservedDim* RetuneRequest::dim(std::string_view name) const {
  for (const ObservedDim& observed : dims) {
    if (observed.dim == name) return &observed;
  }
  return nullptr;
}

const char* RetuneActionName(RetuneAction::Kind kind) {
  constexpr const char* kNames[] = {"add_bucket", "move_bucket", "drop_bucket"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace v0
}  // namespace leeway
